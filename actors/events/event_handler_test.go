package events

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
)

// A handler that blocks delays no publisher, and Stop handles what is queued.
func TestHandlerIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e Stream
		goOn := make(chan struct{})
		var got []uint64
		h := e.Subscribe(SubscribeOptions{Capacity: 2}).Handle(func(r Record) {
			<-goOn
			got = append(got, r.Seq)
		})
		e.Publish(AgentStarted{})
		synctest.Wait() // it has that one
		for range 5 {
			e.Publish(AgentStarted{})
		}
		close(goOn)
		var stops sync.WaitGroup
		for range 3 {
			stops.Go(func() {
				if err := h.Stop(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		stops.Wait()
		if len(got) != 3 || got[2] != 3 || h.Lost() != 3 {
			t.Errorf("handled %v, lost %d", got, h.Lost())
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := h.Stop(ended); err != nil { // there is nothing to wait for
			t.Error(err)
		}
	})
}

// Stop returns when its time is up. What is queued is not handled, and counts as lost.
func TestHandlerStopsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e Stream
		goOn := make(chan struct{})
		calls := 0
		h := e.Subscribe(SubscribeOptions{}).Handle(func(Record) { calls++; <-goOn })
		for range 4 {
			e.Publish(AgentStarted{})
		}
		synctest.Wait()
		why := errors.New("no time")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(why)
		for range 2 {
			if err := h.Stop(ctx); !errors.Is(err, why) {
				t.Error(err)
			}
		}
		close(goOn)
		<-h.Done()
		if calls != 1 || h.Lost() != 3 {
			t.Errorf("%d calls, %d lost", calls, h.Lost())
		}
	})
}

// A handler may publish and subscribe.
func TestHandlerPublishes(t *testing.T) {
	var e Stream
	stopped := e.Subscribe(SubscribeOptions{Kinds: []Kind{KindAgentStopped}})
	defer stopped.Close()
	h := e.Subscribe(SubscribeOptions{Kinds: []Kind{KindAgentStarted}}).Handle(func(Record) {
		e.Subscribe(SubscribeOptions{}).Close()
		e.Publish(AgentStopped{})
	})
	e.Publish(AgentStarted{})
	if err := h.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := <-stopped.C; r.Seq != 2 {
		t.Errorf("got %+v", r)
	}
}

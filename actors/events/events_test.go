package events

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/performatives"
)

func TestSubscriptionLosesAndCounts(t *testing.T) {
	var e Stream
	s := e.Subscribe(SubscribeOptions{Capacity: 2, Kinds: []Kind{KindAgentStarted}})
	for range 5 {
		e.Publish(AgentStarted{Agent: "a"})
		e.Publish(AgentStopped{Agent: "a"})
	}
	if s.Lost() != 3 || len(s.C) != 2 {
		t.Errorf("lost %d, queued %d, want 3 and 2", s.Lost(), len(s.C))
	}
	s.Close()
	s.Close()
	e.Publish(AgentStarted{})
	for range 2 {
		if _, err := s.Next(t.Context()); err != nil {
			t.Error("what was queued is gone:", err)
		}
	}
	if r, err := s.Next(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("got %+v, %v after the end", r, err)
	}
}

// A sequence number is given to each event that is wanted, by any subscription.
func TestSequenceNumbers(t *testing.T) {
	var e Stream
	e.Publish(AgentStarted{}) // wanted by none
	all := e.Subscribe(SubscribeOptions{})
	started := e.Subscribe(SubscribeOptions{Kinds: []Kind{KindAgentStarted}})
	narrow := e.Subscribe(SubscribeOptions{Capacity: 1})
	for range 2 {
		e.Publish(AgentStarted{})
		e.Publish(AgentStopped{})
	}
	all.Close()
	narrow.Close()
	e.Publish(AgentStopped{}) // wanted by none
	for range 2 {
		e.Publish(AgentStarted{})
	}
	started.Close()
	for name, c := range map[string]struct {
		s    *Subscription
		want []uint64
		lost uint64
	}{
		"all":     {all, []uint64{1, 2, 3, 4}, 0},
		"started": {started, []uint64{1, 3, 5, 6}, 0},
		"narrow":  {narrow, []uint64{1}, 3},
	} {
		var got []uint64
		for r := range c.s.C {
			got = append(got, r.Seq)
		}
		if d := cmp.Diff(c.want, got); d != "" || c.s.Lost() != c.lost {
			t.Errorf("%s: lost %d, %s", name, c.s.Lost(), d)
		}
	}
}

func TestNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e Stream
		s := e.Subscribe(SubscribeOptions{})
		defer s.Close()
		go func() {
			time.Sleep(time.Second)
			e.Publish(AgentStarted{})
			e.Publish(AgentStopped{Agent: "a"})
		}()
		if ev, err := Next[AgentStopped](t.Context(), s); err != nil || ev.Agent != "a" {
			t.Errorf("%+v, %v", ev, err)
		}
		why := errors.New("no time")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, why)
		defer cancel()
		if _, err := Next[AgentStarted](ctx, s); !errors.Is(err, why) {
			t.Error(err)
		}
	})
}

func TestNegativeCapacity(t *testing.T) {
	defer func() {
		if v := recover(); v != "events: SubscribeOptions.Capacity is -1" {
			t.Error(v)
		}
	}()
	new(Stream).Subscribe(SubscribeOptions{Capacity: -1})
}

func TestWantsAllocatesNothing(t *testing.T) {
	var e Stream
	check := func() {
		t.Helper()
		if n := testing.AllocsPerRun(100, func() { _ = Wants[AgentStarted](&e) }); n != 0 {
			t.Errorf("Wants allocates %v times", n)
		}
	}
	check()
	defer e.Subscribe(SubscribeOptions{Kinds: []Kind{KindAgentStarted}}).Close()
	check()
}

func TestWants(t *testing.T) {
	var e Stream
	wants := func(started, stopped bool) {
		t.Helper()
		if got := Wants[AgentStarted](&e); got != started {
			t.Errorf("AgentStarted is wanted: %t", got)
		}
		if got := Wants[AgentStopped](&e); got != stopped {
			t.Errorf("AgentStopped is wanted: %t", got)
		}
	}
	wants(false, false)
	one := e.Subscribe(SubscribeOptions{Kinds: []Kind{KindAgentStarted, KindMessageDeadLettered}})
	wants(true, false)
	all := e.Subscribe(SubscribeOptions{})
	wants(true, true)
	one.Close()
	wants(true, true)
	all.Close()
	wants(false, false)
	if e.routes.Load() != nil {
		t.Error("an empty list is kept")
	}
}

// Subscriptions come and go while events are published. One that is always there sees each
// event once, and the sequence numbers in order; those of each publisher are in its order.
func TestSubscriptionRaces(t *testing.T) {
	const publishers, each = 4, 500
	var e Stream
	s := e.Subscribe(SubscribeOptions{Capacity: publishers * each})
	small := e.Subscribe(SubscribeOptions{Capacity: 7})
	var all sync.WaitGroup
	for i := range publishers {
		all.Go(func() {
			for n := range each {
				e.Publish(WorkAbandoned{Agent: performatives.AgentID(strconv.Itoa(i)), Conversation: performatives.ConversationID(strconv.Itoa(n))})
			}
		})
		all.Go(func() {
			for range each {
				a, b := e.Subscribe(SubscribeOptions{Kinds: []Kind{KindAgentStopped}}), e.Subscribe(SubscribeOptions{Capacity: 1})
				a.Close()
				b.Close()
			}
		})
	}
	all.Wait()
	s.Close()
	small.Close()
	last, next := uint64(0), map[performatives.AgentID]int{}
	for r := range s.C {
		ev := r.Event.(WorkAbandoned)
		if last++; r.Seq != last || string(ev.Conversation) != strconv.Itoa(next[ev.Agent]) {
			t.Fatalf("%d is %+v, want %d and %d", r.Seq, ev, last, next[ev.Agent])
		}
		next[ev.Agent]++
	}
	if last != publishers*each || s.Lost() != 0 || small.Lost() != last-7 {
		t.Errorf("got %d events, lost %d and %d", last, s.Lost(), small.Lost())
	}
}

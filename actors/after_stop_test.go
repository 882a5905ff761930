package actors_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/performatives"
)

// AfterStop calls what was registered and not cancelled, once, also when the agent has
// stopped before.
func TestAfterStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := actors.NewSystem(actors.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		calls := map[string]int{}
		call := func(name string) func() { return func() { mu.Lock(); calls[name]++; mu.Unlock() } }
		selves := map[performatives.AgentID]actors.Self{}
		for _, id := range []performatives.AgentID{"watched", "unwatched"} {
			if selves[id], err = s.Spawn(t.Context(), actors.Spec{ID: id, New: func() actors.Agent { return staticAgent{} }}); err != nil {
				t.Fatal(err)
			}
		}
		kept, cancelled := selves["watched"].AfterStop(call("kept")), selves["watched"].AfterStop(call("cancelled"))
		if !cancelled() || cancelled() {
			t.Error("the call is cancelled once")
		}
		synctest.Wait()
		if len(calls) > 0 {
			t.Errorf("before the stop: %v", calls)
		}
		for id := range selves {
			if err := s.StopAgent(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		if late := selves["unwatched"].AfterStop(call("late")); late() {
			t.Error("a call that has begun is cancelled")
		}
		if err := s.Stop(context.Background()); err != nil { // it joins the calls
			t.Fatal(err)
		}
		if kept() || calls["kept"] != 1 || calls["late"] != 1 || calls["cancelled"] != 0 {
			t.Errorf("called %v", calls)
		}
	})
}

// OnChange comes before the event, and before the agent's next step.
func TestOnChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *actors.System
		var stream *events.Subscription
		var seen []int // events that were published before each call
		s, err := actors.NewSystem(actors.Options{OnChange: func(id performatives.AgentID) {
			if id == "a" {
				seen = append(seen, len(stream.C))
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		stream = s.Events.Subscribe(events.SubscribeOptions{})
		self, err := s.Spawn(t.Context(), actors.Spec{ID: "a", New: func() actors.Agent { return staticAgent{} }})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		self.Announce(performatives.Capabilities{Topics: []string{"news"}})
		if err := s.Stop(context.Background()); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(seen, []int{0, 1, 2}) || len(stream.C) != 3 {
			t.Errorf("called after %v events, of %d", seen, len(stream.C))
		}
	})
}

package actors

import (
	"fmt"
	"sync"
	"testing"
	"weak"

	"github.com/ribosome-agents/ribosome/performatives"
)

// mute is an agent that does nothing.
type mute struct{}

func (mute) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func acquainted(t *testing.T) (*System, func(performatives.AgentID) Self) {
	t.Helper()
	s, err := NewSystem(Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	return s, func(id performatives.AgentID) Self {
		t.Helper()
		self, err := s.Spawn(t.Context(), Spec{ID: id, New: func() Agent { return mute{} }})
		if err != nil {
			t.Fatal(err)
		}
		return self
	}
}

func TestAgentsKnowEachOther(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, spawn := acquainted(t)
		a := spawn("a")
		spawn("b")
		for _, id := range []performatives.AgentID{"b", "elsewhere"} {
			if a.Knows(id) {
				t.Errorf("knows %s already", id)
			}
			a.Know(id)
			a.Know(id)
			if !a.Knows(id) || !a.Knows(performatives.AgentID(string(id[0]-'a'+'A'))+id[1:]) {
				t.Errorf("does not know %s", id)
			}
		}
		a.Forget("elsewhere")
		a.Forget("stranger")
		if a.Knows("elsewhere") {
			t.Error("has not forgotten")
		}
		if err := s.StopAgent(t.Context(), "b"); err != nil {
			t.Fatal(err)
		}
		if a.Knows("b") {
			t.Error("knows one that has stopped")
		}
		if spawn("b"); a.Knows("b") {
			t.Error("takes another for the one that has stopped")
		}
		_ = s.Stop(t.Context())
	})
}

func TestAcquaintancesAreBounded(t *testing.T) {
	var a acquaintances
	id := func(i int) performatives.AgentID { return performatives.AgentID(fmt.Sprint("peer ", i)) }
	var zero weak.Pointer[cell]
	a.add(id(0), zero)
	a.remove(id(0)) // leaves its place
	for i := range 3 * rememberedAcquaintances {
		a.add(id(i), zero)
		a.add(id(i), zero)
		if len(a.known) > rememberedAcquaintances || len(a.ring) > rememberedAcquaintances {
			t.Fatalf("%d peers in %d places", len(a.known), len(a.ring))
		}
	}
	last := 3*rememberedAcquaintances - 1
	for i, want := range map[int]bool{last: true, last - rememberedAcquaintances + 1: true, last - rememberedAcquaintances: false, 0: false} {
		if got := a.has(id(i), zero); got != want {
			t.Errorf("peer %d: %t", i, got)
		}
	}
}

func TestAcquaintancesOfManyGoroutines(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, spawn := acquainted(t)
		a := spawn("a")
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				id := performatives.AgentID(fmt.Sprint(i))
				a.Know(id)
				if !a.Knows(id) {
					t.Errorf("does not know %s", id)
				}
				a.Forget(id)
			})
		}
		all.Wait()
		_ = s.Stop(t.Context())
	})
}

// TestAgentsExpectEachOther until each expectation is over, whatever else they learn.
func TestAgentsExpectEachOther(t *testing.T) {
	bubble(t, func(t *testing.T) {
		_, spawn := acquainted(t)
		a := spawn("a")
		first, second := a.Expect("b"), a.Expect("B")
		a.Forget("b")
		first()
		if !a.Knows("b") {
			t.Error("the second is not over")
		}
		a.Know("b")
		second()
		if !a.Knows("b") {
			t.Error("has forgotten what it learned meanwhile")
		}
		a.Forget("b")
		if a.Knows("b") {
			t.Error("expects b for ever")
		}
	})
}

package actors

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"
	"weak"

	"github.com/ribosome-agents/ribosome/performatives"
)

// passiveAgent is an agent without behaviour.
type passiveAgent struct{}

func (passiveAgent) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func newKnownPeersSystem(t *testing.T) (*System, func(performatives.AgentID) Self) {
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
		self, err := s.Spawn(t.Context(), Spec{ID: id, New: func() Agent { return passiveAgent{} }})
		if err != nil {
			t.Fatal(err)
		}
		return self
	}
}

func TestKnow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, spawn := newKnownPeersSystem(t)
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

func TestKnownPeersIsBounded(t *testing.T) {
	var a knownPeers
	id := func(i int) performatives.AgentID { return performatives.AgentID(fmt.Sprint("peer ", i)) }
	var zero weak.Pointer[cell]
	a.add(id(0), zero)
	a.remove(id(0)) // leaves its slot in the ring unused
	for i := range 3 * maxKnownPeers {
		a.add(id(i), zero)
		a.add(id(i), zero)
		if len(a.known) > maxKnownPeers || len(a.ring) > maxKnownPeers {
			t.Fatalf("%d peers in %d slots", len(a.known), len(a.ring))
		}
	}
	last := 3*maxKnownPeers - 1
	for i, want := range map[int]bool{last: true, last - maxKnownPeers + 1: true, last - maxKnownPeers: false, 0: false} {
		if got := a.has(id(i), zero); got != want {
			t.Errorf("peer %d: %t", i, got)
		}
	}
}

func TestKnownPeersConcurrently(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, spawn := newKnownPeersSystem(t)
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

// Knows is true until the last expectation ends, independently of Know and Forget.
func TestExpect(t *testing.T) {
	bubble(t, func(t *testing.T) {
		_, spawn := newKnownPeersSystem(t)
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

// An agent keeps no more of a text than the id that is a part of it.
func TestKnownPeersCopyIDs(t *testing.T) {
	names := strings.Repeat("x", 250) + "peer"
	id := performatives.AgentID(names[250:])
	var a knownPeers
	for range 2 { // the second one finds the first
		a.expect(id, 1)
		a.add(id, weak.Pointer[cell]{})
	}
	for _, kept := range slices.Concat(slices.Collect(maps.Keys(a.known)), slices.Collect(maps.Keys(a.expected)), a.ring) {
		if kept != id || unsafe.StringData(string(kept)) == unsafe.StringData(string(id)) {
			t.Errorf("%q is kept, which is a part of a longer text: %t", kept, kept == id)
		}
	}
	if len(a.known) != 1 || len(a.expected) != 1 || len(a.ring) != 1 {
		t.Errorf("%+v", &a)
	}
}

package actors

import (
	"maps"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Who looks for one entry need not look at all of them.
func TestRegistryIsLeftEarly(t *testing.T) {
	var g registry
	s := &System{}
	for i := range 1000 {
		id := performatives.AgentID(strconv.Itoa(i))
		g.swap(id, nil, &Registration{sys: s, id: id, folded: id, local: &cell{}})
	}
	all, locals := 0, 0
	for range g.all() {
		if all++; all == 2 {
			break
		}
	}
	for range g.locals() {
		if locals++; locals == 2 {
			break
		}
	}
	if all != 2 || locals != 2 {
		t.Errorf("%d entries, %d agents", all, locals)
	}
}

// A registry does what one map does, and holds no map that it does not need.
func TestRegistry(t *testing.T) {
	entries := []*Registration{nil, new(Registration), new(Registration), anyEntry}
	rapid.Check(t, func(t *rapid.T) {
		var g registry
		want := make(map[performatives.AgentID]*Registration)
		id := rapid.SampledFrom([]performatives.AgentID{"a", "b", "c", "d"})
		t.Repeat(map[string]func(*rapid.T){
			"swap": func(t *rapid.T) {
				id, old, to := id.Draw(t, "id"), rapid.SampledFrom(entries).Draw(t, "old"), rapid.SampledFrom(entries[:3]).Draw(t, "to")
				swaps := old == anyEntry || want[id] == old
				if g.swap(id, old, to) != swaps {
					t.Fatalf("swap reports %v", !swaps)
				}
				if swaps {
					want[id] = to
				}
				maps.DeleteFunc(want, func(_ performatives.AgentID, r *Registration) bool { return r == nil })
			},
			"": func(t *rapid.T) {
				if got := maps.Collect(g.all()); !maps.Equal(got, want) {
					t.Fatalf("all: %v, want %v", got, want)
				}
				for _, id := range []performatives.AgentID{"a", "b", "c", "d"} {
					if g.load(id) != want[id] {
						t.Fatalf("%s: %v, want %v", id, g.load(id), want[id])
					}
				}
				for i := range g.shards {
					if by := g.shards[i].by; by != nil && len(by) == 0 {
						t.Fatal("an empty map is kept")
					}
				}
			},
		})
	})
}

package codons

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/machine"
)

// A path has the last states.
func TestLongPath(t *testing.T) {
	var known paths
	var at *visited
	var want []machine.State
	for i := range MaxPath + 3 {
		state := machine.State(fmt.Sprint(i))
		at, want = known.after(at, state), append(want, state)
	}
	if got := at.states(); !slices.Equal(got, want[3:]) {
		t.Errorf("%q", got)
	}
}

// Sides that come to the same states share their path, and entering a state takes no memory then.
// Others get paths of their own, and the empty state is one like others.
func TestSharedPathsAlloc(t *testing.T) {
	var known paths
	of := func(states ...machine.State) []machine.State { return walk(&known, states).states() }
	a, b := of(machine.Idle, "asked", "done"), of(machine.Idle, "asked", "done")
	if &a[0] != &b[0] {
		t.Error("equal paths are not shared")
	}
	if n := testing.AllocsPerRun(100, func() { of(machine.Idle, "asked", "done") }); n > 0 {
		t.Errorf("a path that is known takes %v allocations", n)
	}
	others := [][]machine.State{{machine.Idle, "asked"}, {machine.Idle, "told", "done"}, {"asked", "done"}, {"", "done"}, {"", ""}, {machine.Idle, "asked", "done", "done"}}
	for i := range 3 * maxPaths {
		others = append(others, []machine.State{machine.Idle, machine.State(fmt.Sprint(i / 8)), machine.State(fmt.Sprint(i))})
	}
	for _, other := range others {
		if got := of(other...); !slices.Equal(got, other) {
			t.Errorf("%q is taken for %q", other, got)
		}
	}
	if n := known.n.Load(); n > maxPaths {
		t.Errorf("%d paths are kept", n)
	}
	if !slices.Equal(a, []machine.State{machine.Idle, "asked", "done"}) {
		t.Errorf("a shared path was changed: %q", a)
	}
}

// Many goroutines may use the paths of a codon. Run it under the race detector.
func TestConcurrentPaths(t *testing.T) {
	var known paths
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range 2000 {
				want := []machine.State{machine.Idle, machine.State(fmt.Sprint(i % 200)), machine.State(fmt.Sprint((i + g) % 7))}
				if got := walk(&known, want).states(); !slices.Equal(got, want) {
					t.Errorf("%q, want %q", got, want)
				}
			}
		})
	}
	all.Wait()
}

// walk enters the states one after the other.
func walk(known *paths, states []machine.State) (at *visited) {
	for _, s := range states {
		at = known.after(at, s)
	}
	return at
}

package placement

import (
	"fmt"
	"slices"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
)

func names(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("n%d", i))
	}
	return all
}

func agents(n int) (all []performatives.AgentID) {
	for i := range n {
		all = append(all, performatives.AgentID(fmt.Sprintf("reviewer/%d", i)))
	}
	return all
}

// The same node is picked whatever the order of the nodes and the case of the id.
func TestPickIsTheSameEverywhere(t *testing.T) {
	nodes := names(7)
	back := slices.Clone(nodes)
	slices.Reverse(back)
	for _, id := range agents(100) {
		want := Pick(id, nodes)
		if got := Pick(id, back); got != want {
			t.Errorf("%s is at %s or at %s", id, want, got)
		}
		if got := Pick("REVIEWER"+id[len("reviewer"):], nodes); got != want {
			t.Errorf("%s in upper case is at %s, not at %s", id, got, want)
		}
	}
	if got := Pick("a", nil); got != "" {
		t.Errorf("of no nodes, %q is picked", got)
	}
}

// Nodes of other versions pick the same ones, so that these must never change.
func TestPickStays(t *testing.T) {
	got := ""
	for _, id := range agents(16) {
		got += " " + Pick(id, names(100))
	}
	if want := " n26 n83 n55 n77 n8 n49 n92 n43 n22 n2 n42 n77 n30 n70 n78 n74"; got != want {
		t.Errorf("got%s", got)
	}
}

// When a node joins, agents move only to it; when it leaves again, only those that it had.
func TestPickMovesFew(t *testing.T) {
	before, after := names(4), names(5)
	moved := 0
	for _, id := range agents(10_000) {
		from, to := Pick(id, before), Pick(id, after)
		if from == to {
			continue
		}
		if moved++; to != "n4" {
			t.Fatalf("%s moves from %s to %s", id, from, to)
		}
	}
	if moved < 1_700 || moved > 2_300 { // a fifth
		t.Errorf("%d of 10000 agents moved", moved)
	}
}

// Each node gets about as many agents as any other.
func TestPickIsEven(t *testing.T) {
	counts := map[string]int{}
	for _, id := range agents(10_000) {
		counts[Pick(id, names(10))]++
	}
	for _, name := range names(10) {
		if n := counts[name]; n < 850 || n > 1_150 { // five standard deviations
			t.Errorf("%s has %d of 10000 agents", name, n)
		}
	}
}

func TestKindOf(t *testing.T) {
	for id, want := range map[performatives.AgentID]string{
		"reviewer/7": "reviewer", "Reviewer/a/b": "reviewer", "scheduler": "scheduler", "/x": "", "x/": "x",
	} {
		if got := KindOf(id); got != want {
			t.Errorf("the kind of %q is %q, want %q", id, got, want)
		}
	}
}

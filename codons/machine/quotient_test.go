package machine

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestQuotient(t *testing.T) {
	for _, c := range []struct {
		name    string
		graph   graph
		classes int
	}{
		{"silent steps do not show", graph{looks: []uint64{1, 1, 2}, arcs: [][]arc{{{0, 1}}, {{0, 2}}, nil}}, 2},
		{"looks do", graph{looks: []uint64{1, 2}, arcs: [][]arc{{{0, 1}}, nil}}, 2},
		{"so do actions", graph{looks: []uint64{1, 1, 1, 1}, arcs: [][]arc{{{1, 2}}, {{2, 2}}, nil, {{1, 2}}}}, 3},
		{"and where they lead", graph{looks: []uint64{1, 1, 2, 3}, arcs: [][]arc{{{1, 2}}, {{1, 3}}, nil, nil}}, 4},
		{
			"a silent step that gives up an action shows", // the tau law's counterpart
			graph{looks: []uint64{1, 1, 1}, arcs: [][]arc{{{1, 2}, {0, 1}}, nil, nil}}, 2,
		},
		{
			"a silent step towards an action does not",
			graph{looks: []uint64{1, 1, 2}, arcs: [][]arc{{{0, 1}}, {{1, 2}}, nil}},
			2,
		},
		{
			"nor does a silent cycle",
			graph{looks: []uint64{1, 1, 1, 2}, arcs: [][]arc{{{0, 1}}, {{0, 2}}, {{0, 0}, {1, 3}}, nil}},
			2,
		},
	} {
		q, class := c.graph.quotient()
		if len(q.looks) != c.classes {
			t.Errorf("%s: %d classes of %d: %d", c.name, len(q.looks), len(c.graph.looks), class)
		}
	}
}

// TestQuotientIsBranchingBisimilarity compares it with the definition on small
// random graphs.
func TestQuotientIsBranchingBisimilarity(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	merged := 0
	for range 2000 {
		g := randomGraph(rng)
		q, class := g.quotient()
		same := bisimilar(g)
		for a := range class {
			for b := range class {
				if (class[a] == class[b]) != same[a][b] {
					t.Fatalf("%v: %d and %d are the same: %v; classes %d", g, a, b, same[a][b], class)
				}
			}
		}
		if len(q.looks) < len(g.looks) {
			merged++
		}
	}
	if merged < 500 {
		t.Errorf("only %d graphs have something to merge", merged)
	}
}

func randomGraph(rng *rand.Rand) *graph {
	n := 2 + rng.IntN(6)
	g := &graph{looks: make([]uint64, n), arcs: make([][]arc, n)}
	for i := range n {
		g.looks[i] = uint64(rng.IntN(2))
	}
	for range rng.IntN(2 * n) {
		g.add(int32(rng.IntN(n)), arc{uint8(max(0, rng.IntN(4)-1)), int32(rng.IntN(n))})
	}
	return g
}

// bisimilar finds the largest relation that meets the definition (van Glabbeek and
// Weijland 1996, for nodes with looks): what one does, the other does after silent
// steps through nodes that are still related, or need not do when it is a silent
// step to where they are related.
func bisimilar(g *graph) [][]bool {
	n := len(g.looks)
	same := make([][]bool, n)
	for a := range same {
		same[a] = make([]bool, n)
		for b := range same[a] {
			same[a][b] = g.looks[a] == g.looks[b]
		}
	}
	for changed := true; changed; {
		changed = false
		for a := range n {
			for b := range n {
				if same[a][b] && (!matches(g, same, a, b) || !matches(g, same, b, a)) {
					same[a][b], same[b][a], changed = false, false, true
				}
			}
		}
	}
	return same
}

// matches reports whether b can do all that a can.
func matches(g *graph, same [][]bool, a, b int) bool {
	for _, step := range g.arcs[a] {
		if step.action == noAction && same[step.to][b] {
			continue
		}
		if !slices.ContainsFunc(silently(g, same[a], b), func(c int) bool {
			return slices.ContainsFunc(g.arcs[c], func(o arc) bool { return o.action == step.action && same[step.to][o.to] })
		}) {
			return false
		}
	}
	return true
}

// silently returns where silent steps within a set of nodes lead from b.
func silently(g *graph, within []bool, b int) []int {
	all := []int{b}
	for i := 0; i < len(all); i++ {
		for _, step := range g.arcs[all[i]] {
			if step.action == noAction && within[step.to] && !slices.Contains(all, int(step.to)) {
				all = append(all, int(step.to))
			}
		}
	}
	return all
}

// TestAnAntichainKeepsWhatCanDoMore adds sides in every order.
func TestAnAntichainKeepsWhatCanDoMore(t *testing.T) {
	const idle, other = 0, 1 // messages: only copies of the first change nothing
	none := side{state: 1}
	heard, armed, both, more := none, none, none, none
	heard.seen = set(0).with(idle)
	armed.armed = 1
	both.seen, both.armed = set(0).with(idle), 1
	more.seen = set(0).with(other)
	for _, c := range []struct {
		add, want []side
	}{
		{[]side{heard, none}, []side{none}},
		{[]side{none, heard}, []side{none}},
		{[]side{none, armed}, []side{armed}},
		{[]side{armed, none, heard, both}, []side{armed}},
		{[]side{none, both}, []side{none, both}},
		{[]side{none, more}, []side{none, more}},
	} {
		a := newAntichain(set(0).with(idle))
		for _, s := range c.add {
			a.add(s)
		}
		got := a.all()
		if len(got) != len(c.want) || slices.ContainsFunc(c.want, func(s side) bool { return !slices.Contains(got, s) }) {
			t.Errorf("after %v: %v", c.add, got)
		}
	}
}

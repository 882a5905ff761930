package verify

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
		{"silent steps do not show", graph{labels: []uint64{1, 1, 2}, arcs: [][]arc{{{0, 1}}, {{0, 2}}, nil}}, 2},
		{"labels do", graph{labels: []uint64{1, 2}, arcs: [][]arc{{{0, 1}}, nil}}, 2},
		{"so do actions", graph{labels: []uint64{1, 1, 1, 1}, arcs: [][]arc{{{1, 2}}, {{2, 2}}, nil, {{1, 2}}}}, 3},
		{"and where they lead", graph{labels: []uint64{1, 1, 2, 3}, arcs: [][]arc{{{1, 2}}, {{1, 3}}, nil, nil}}, 4},
		{
			"a silent step that gives up an action shows",
			graph{labels: []uint64{1, 1, 1}, arcs: [][]arc{{{1, 2}, {0, 1}}, nil, nil}},
			2,
		},
		{
			"a silent step towards an action does not",
			graph{labels: []uint64{1, 1, 2}, arcs: [][]arc{{{0, 1}}, {{1, 2}}, nil}},
			2,
		},
		{
			"nor does a silent cycle",
			graph{labels: []uint64{1, 1, 1, 2}, arcs: [][]arc{{{0, 1}}, {{0, 2}}, {{0, 0}, {1, 3}}, nil}},
			2,
		},
	} {
		q, class := c.graph.quotient()
		if len(q.labels) != c.classes {
			t.Errorf("%s: %d classes of %d: %d", c.name, len(q.labels), len(c.graph.labels), class)
		}
	}
}

// TestQuotientIsBranchingBisimilarity compares quotient with the definition, on small
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
		if len(q.labels) < len(g.labels) {
			merged++
		}
	}
	if merged < 500 {
		t.Errorf("only %d graphs have something to merge", merged)
	}
}

func randomGraph(rng *rand.Rand) *graph {
	n := 2 + rng.IntN(6)
	g := &graph{labels: make([]uint64, n), arcs: make([][]arc, n)}
	for i := range n {
		g.labels[i] = uint64(rng.IntN(2))
	}
	for range rng.IntN(2 * n) {
		g.add(int32(rng.IntN(n)), arc{uint8(max(0, rng.IntN(4)-1)), int32(rng.IntN(n))})
	}
	return g
}

// bisimilar returns the largest relation that meets the definition (van Glabbeek and
// Weijland 1996, for nodes with labels). For each step of one node, the other node has
// the same step after silent steps through related nodes. A silent step to a related
// node needs no counterpart.
func bisimilar(g *graph) [][]bool {
	n := len(g.labels)
	same := make([][]bool, n)
	for a := range same {
		same[a] = make([]bool, n)
		for b := range same[a] {
			same[a][b] = g.labels[a] == g.labels[b]
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

// matches reports whether b has a counterpart for each step of a.
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

// silently returns the nodes that silent steps within a set of nodes lead to from b.
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

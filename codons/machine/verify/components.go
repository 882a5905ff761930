package verify

import "slices"

// components returns the strongly connected components of the silent arcs between nodes
// of equal labels, and the component of each node. No class splits a component. A
// component comes after those that it leads to (Tarjan 1972, without recursion).
func (g *graph) components() (comp []int32, order [][]int32) {
	n := len(g.labels)
	s := &tarjan{graph: g, index: make([]int32, n), low: make([]int32, n), comp: make([]int32, n)}
	for at := range g.labels {
		if s.index[at] == 0 {
			s.visit(int32(at))
		}
	}
	return s.comp, s.order
}

// tarjan is a search for components.
type tarjan struct {
	*graph
	count int32
	index []int32 // 0 before the visit of the node, negative when its component is complete
	low   []int32
	stack []int32
	calls []call
	comp  []int32
	order [][]int32
}

// call is an unfinished visit of a node.
type call struct {
	at   int32
	next int // index into the node's arcs
}

func (s *tarjan) enter(at int32) {
	s.count++
	s.index[at], s.low[at] = s.count, s.count
	s.stack, s.calls = append(s.stack, at), append(s.calls, call{at: at})
}

func (s *tarjan) visit(root int32) {
	s.enter(root)
	for len(s.calls) > 0 {
		c := &s.calls[len(s.calls)-1]
		if c.next == len(s.arcs[c.at]) {
			s.leave(c.at)
			continue
		}
		a := s.arcs[c.at][c.next]
		c.next++
		switch {
		case a.action != noAction || s.labels[a.to] != s.labels[c.at]:
		case s.index[a.to] == 0:
			s.enter(a.to)
		case s.index[a.to] > 0:
			s.low[c.at] = min(s.low[c.at], s.index[a.to])
		}
	}
}

// leave finishes a visit. It completes a component at the first node of it that was
// entered.
func (s *tarjan) leave(at int32) {
	s.calls = s.calls[:len(s.calls)-1]
	if len(s.calls) > 0 {
		above := s.calls[len(s.calls)-1].at
		s.low[above] = min(s.low[above], s.low[at])
	}
	if s.low[at] != s.index[at] {
		return
	}
	first := len(s.stack) - 1
	for s.stack[first] != at {
		first--
	}
	nodes := slices.Clone(s.stack[first:])
	s.stack = s.stack[:first]
	for _, n := range nodes {
		s.index[n], s.comp[n] = -1, int32(len(s.order))
	}
	s.order = append(s.order, nodes)
}

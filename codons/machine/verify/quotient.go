package verify

import (
	"encoding/binary"
	"slices"
)

// noAction is the action of a silent arc: neither the other members nor the rules see
// it.
const noAction uint8 = 0

// arc is a transition of one pair, as a group sees it.
type arc struct {
	action uint8
	to     int32
}

// graph is a pair as a group sees it: nodes that differ in their labels and in the
// actions that are possible from them.
type graph struct {
	labels []uint64
	arcs   [][]arc
}

// add appends an arc unless the node has it.
func (g *graph) add(from int32, a arc) {
	if !slices.Contains(g.arcs[from], a) {
		g.arcs[from] = append(g.arcs[from], a)
	}
}

// quotient merges the nodes that are branching bisimilar (van Glabbeek and Weijland
// 1996): each action of one node is possible from the other too, after silent arcs that
// change nothing a group can see. It returns the smaller graph and the class of every
// node. In any group, one graph can replace the other: the same labels are reachable by
// the same actions, and from them the same labels again.
//
// It refines by signatures (Blom and Orzan 2003). The class of a node is its label and
// its possible actions with the classes that they lead to, repeated until no class is
// split.
func (g *graph) quotient() (*graph, []int32) {
	comps, order := g.components()
	r := &refinement{graph: g, comp: comps, order: order, class: make([]int32, len(g.labels))}
	for n := 0; ; {
		before := n
		if n = r.refine(before > 0); n == before {
			return r.graph.merged(r.class, n), r.class
		}
	}
}

// merged returns the graph of the classes.
func (g *graph) merged(class []int32, n int) *graph {
	q := &graph{labels: make([]uint64, n), arcs: make([][]arc, n)}
	for at, c := range class {
		q.labels[c] = g.labels[at]
		for _, a := range g.arcs[at] {
			if to := class[a.to]; a.action != noAction || to != c {
				q.add(c, arc{a.action, to})
			}
		}
	}
	return q
}

// refinement computes the classes step by step.
type refinement struct {
	*graph
	comp  []int32   // the component of each node
	order [][]int32 // the nodes of each component; a component comes after those that it leads to
	class []int32
}

// refine splits the classes once and returns their number. The first time, where
// bySignature is false, it splits by labels alone.
func (r *refinement) refine(bySignature bool) int {
	ids := map[string]int32{}
	next := make([]int32, len(r.class))
	signs := make([][]uint64, len(r.order))
	for i, nodes := range r.order {
		if bySignature {
			signs[i] = r.signature(nodes, signs)
		}
		key := r.key(nodes[0], signs[i])
		id, known := ids[key]
		if !known {
			id = int32(len(ids))
			ids[key] = id
		}
		for _, at := range nodes {
			next[at] = id
		}
	}
	r.class = next
	return len(ids)
}

// signature returns the actions that are possible from the nodes of a component, each
// with the class that it leads to.
func (r *refinement) signature(nodes []int32, signs [][]uint64) []uint64 {
	var sign []uint64
	for _, at := range nodes {
		for _, a := range r.arcs[at] {
			switch {
			case a.action != noAction || r.class[a.to] != r.class[at]:
				sign = append(sign, uint64(a.action)<<32|uint64(r.class[a.to]))
			case r.comp[a.to] != r.comp[at]:
				sign = append(sign, signs[r.comp[a.to]]...)
			}
		}
	}
	slices.Sort(sign)
	return slices.Clip(slices.Compact(sign))
}

// key identifies the next class of a node.
func (r *refinement) key(at int32, sign []uint64) string {
	b := binary.LittleEndian.AppendUint64(nil, r.labels[at])
	b = binary.LittleEndian.AppendUint32(b, uint32(r.class[at]))
	for _, s := range sign {
		b = binary.LittleEndian.AppendUint64(b, s)
	}
	return string(b)
}

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

package machine

import (
	"encoding/binary"
	"slices"
)

// noAction is the action of an arc that the other members and the rules know
// nothing of.
const noAction uint8 = 0

// arc is a transition of one pair as a group sees it.
type arc struct {
	action uint8
	to     int32
}

// graph is a pair as a group sees it: nodes that can be told apart by their looks
// and by the actions that they take part in.
type graph struct {
	looks []uint64
	arcs  [][]arc
}

// add appends an arc unless the node has it.
func (g *graph) add(from int32, a arc) {
	if !slices.Contains(g.arcs[from], a) {
		g.arcs[from] = append(g.arcs[from], a)
	}
}

// quotient merges the nodes that are branching bisimilar (van Glabbeek and
// Weijland 1996): what one can do, the other can do as well, after silent moves
// which change nothing that anyone could see. It returns the smaller graph and
// the class of every node. Both graphs put in the place of each other, in any
// group, reach the same looks by the same actions, and what they can still reach.
//
// It refines by signatures (Blom and Orzan 2003): the class of a node is its
// looks and what it can do from there, once more until that splits no class.
func (g *graph) quotient() (*graph, []int32) {
	comps, order := g.components()
	r := &refinement{graph: g, comp: comps, order: order, class: make([]int32, len(g.looks))}
	for n := 0; ; {
		before := n
		if n = r.refine(before > 0); n == before {
			return r.graph.merged(r.class, n), r.class
		}
	}
}

// merged returns the graph of the classes.
func (g *graph) merged(class []int32, n int) *graph {
	q := &graph{looks: make([]uint64, n), arcs: make([][]arc, n)}
	for at, c := range class {
		q.looks[c] = g.looks[at]
		for _, a := range g.arcs[at] {
			if to := class[a.to]; a.action != noAction || to != c {
				q.add(c, arc{a.action, to})
			}
		}
	}
	return q
}

// refinement is one step after the other towards the classes.
type refinement struct {
	*graph
	comp  []int32   // of each node: its cycle of silent moves, or itself
	order [][]int32 // the nodes of each of these, what they lead to first
	class []int32
}

// refine splits the classes once and returns how many there are now. The first
// time it goes by looks alone.
func (r *refinement) refine(further bool) int {
	ids := map[string]int32{}
	next := make([]int32, len(r.class))
	signs := make([][]uint64, len(r.order))
	for i, nodes := range r.order {
		if further {
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

// signature returns what the nodes of a cycle can do that others can see.
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

// key is what decides about the class of a node.
func (r *refinement) key(at int32, sign []uint64) string {
	b := binary.LittleEndian.AppendUint64(nil, r.looks[at])
	b = binary.LittleEndian.AppendUint32(b, uint32(r.class[at]))
	for _, s := range sign {
		b = binary.LittleEndian.AppendUint64(b, s)
	}
	return string(b)
}

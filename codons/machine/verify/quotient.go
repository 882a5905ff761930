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
	r := &refinement{graph: g, class: make([]int32, len(g.labels))}
	n := r.refine(make([][]uint64, len(r.class))) // by labels alone
	for before := 0; n != before; {
		before, n = n, r.refine(r.signatures())
	}
	return r.merged(r.class, n), r.class
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
	class []int32
}

// refine splits the classes once, by the signatures of their nodes, and returns their number.
func (r *refinement) refine(signs [][]uint64) int {
	ids := map[string]int32{}
	next := make([]int32, len(r.class))
	for at, sign := range signs {
		key := r.key(int32(at), sign)
		id, known := ids[key]
		if !known {
			id = int32(len(ids))
			ids[key] = id
		}
		next[at] = id
	}
	r.class = next
	return len(ids)
}

// signatures returns the actions that are possible from each node after silent arcs within its
// class, each with the class that it leads to.
func (r *refinement) signatures() [][]uint64 {
	signs := make([][]uint64, len(r.class))
	for changed := true; changed; {
		changed = false
		for at := len(signs) - 1; at >= 0; at-- { // most arcs lead to nodes that were found later
			sign := r.signature(int32(at), signs)
			changed = changed || len(sign) > len(signs[at])
			signs[at] = sign
		}
	}
	return signs
}

// signature returns the signature of a node, by those of the others so far.
func (r *refinement) signature(at int32, signs [][]uint64) []uint64 {
	var sign []uint64
	for _, a := range r.arcs[at] {
		if a.action == noAction && r.class[a.to] == r.class[at] {
			sign = append(sign, signs[a.to]...)
		} else {
			sign = append(sign, uint64(a.action)<<32|uint64(r.class[a.to]))
		}
	}
	slices.Sort(sign)
	return slices.Compact(sign)
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

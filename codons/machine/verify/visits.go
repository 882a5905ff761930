package verify

import "slices"

// visits are the states to which a walk has come, by the numbers that it gives them in this order.
// The zero value has none.
type visits[S comparable, V any] struct {
	ids   map[S]int32
	nodes []node[S, V]
}

// node is a state, and the move by which the walk first came to it.
type node[S comparable, V any] struct {
	at   S
	via  V
	from int32 // the number of the state before; -1 for the first
}

// visit returns the number of a state. It assigns one to a new state.
func (v *visits[S, V]) visit(s S, from int32, via V) int32 {
	if id, ok := v.ids[s]; ok {
		return id
	}
	if v.ids == nil {
		v.ids = map[S]int32{}
	}
	id := int32(len(v.nodes))
	v.ids[s], v.nodes = id, append(v.nodes, node[S, V]{s, via, from})
	return id
}

// path returns the moves to a state.
func (v *visits[S, V]) path(to int32) []V {
	var moves []V
	for ; v.nodes[to].from >= 0; to = v.nodes[to].from {
		moves = append(moves, v.nodes[to].via)
	}
	slices.Reverse(moves)
	return moves
}

package verify

import "github.com/ribosome-agents/ribosome/codons/machine"

// Walk returns one conversation of m over a network: choose(n) picks each move among
// the n possible ones, as a number from 0 to n-1. The walk ends after that many moves,
// at a violation, or when no move is possible. It does not report the violation;
// [Explore] does. Walk is pure if choose is.
func Walk(m *machine.Machine, n Network, moves int, choose func(n int) int) []Move {
	x := newExplorer(m, n.withDefaults())
	var (
		at   joint
		path []Move
	)
	for range moves {
		var (
			next []joint
			how  []Move
		)
		for to, via := range x.moves(at) {
			next, how = append(next, to), append(how, via)
		}
		if len(next) == 0 || x.problem != nil {
			break
		}
		i := choose(len(next))
		at, path = next[i], append(path, how[i])
	}
	return path
}

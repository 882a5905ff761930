package machine

// Walk returns one course that a conversation of m may take over a network: at
// each point choose picks one of n things that can happen, as a number from 0 up
// to n. It ends after that many moves, or when nothing can happen any more. A
// violation ends it, too; [Explore] is what finds those. Walk is pure if choose is.
func Walk(m *Machine, n Network, moves int, choose func(n int) int) []Move {
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

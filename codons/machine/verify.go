package machine

import (
	"fmt"
	"slices"
)

// silent is what decides whether a side ends when it hears nothing any more.
type silent struct {
	role  Role
	state uint8
	armed set
}

// checkState checks a joint state by itself, before its moves.
func (x *explorer) checkState(at int32) error {
	j := x.nodes[at].joint
	for _, r := range Roles() {
		if !x.endsInSilence(silent{r, j[r].state, j[r].armed}, map[silent]bool{}) {
			return x.counterexample(Stranded, at, nil, fmt.Sprintf(
				"should nothing arrive any more, no timer ends the %s's %s", r, x.states[j[r].state]))
		}
	}
	if !x.ended(j) {
		return nil
	}
	pair := x.pair(j)
	for _, p := range x.table.Agree {
		if p.Initiator == pair.Initiator && p.Responder == pair.Responder && x.admits(p) {
			x.ends[p]++
			return nil
		}
	}
	return x.counterexample(Disagreement, at, nil, fmt.Sprintf(
		"the initiator ends %s and the responder %s, which the table does not allow here", pair.Initiator, pair.Responder))
}

// admits reports whether the network can bring about a pair of ends.
func (x *explorer) admits(p Pair) bool { return !p.Rough || !x.net.calm() }

func (x *explorer) pair(j joint) Pair {
	return Pair{Initiator: x.states[j[Initiator].state], Responder: x.states[j[Responder].state]}
}

// ended reports whether a conversation is over for good: the initiator has
// ended, and the responder has too, or may never hear of it.
func (x *explorer) ended(j joint) bool {
	p := x.pair(j)
	unheard := p.Responder == Idle && (!x.net.Reliable || !x.table.has(Responder))
	return x.terminal[p.Initiator] && (x.terminal[p.Responder] || unheard)
}

// endsInSilence reports whether a side comes to an end by its timers alone. A
// side that has not begun has nothing to end.
func (x *explorer) endsInSilence(s silent, visited map[silent]bool) bool {
	state := x.states[s.state]
	if state == Idle || x.terminal[state] || x.silence[s] {
		return true
	}
	if visited[s] {
		return false
	}
	visited[s] = true
	for i := range s.armed.each {
		t := x.find(s.role, state, Timeout(x.timers[s.role][i]))
		if t != nil && x.endsInSilence(silent{s.role, x.index[t.to], x.rearmed(s.armed.without(i), t)}, visited) {
			x.silence[s] = true
			return true
		}
	}
	return false
}

// rearmed returns the armed timers after a step.
func (x *explorer) rearmed(armed set, s *step) set {
	me := side{armed: armed}
	for _, e := range s.do {
		if e.Kind == EffectArm || e.Kind == EffectDisarm {
			_ = x.keep(&me, s.role, e) // a timer, so true
		}
	}
	return me.armed
}

// checkEnds finds joint states from which both sides cannot come to an end.
func (x *explorer) checkEnds() error {
	free := canReach(len(x.nodes), x.edges, func(at int32) bool { return x.ended(x.nodes[at].joint) }, nil)
	if at := slices.Index(free, false); at >= 0 {
		return x.counterexample(Stuck, int32(at), nil, "nothing that can happen from here ends it on both sides")
	}
	return nil
}

// canReach returns which of n nodes an edge after the other leads from to a goal,
// or to one of more.
func canReach(n int, edges []edge, goal func(int32) bool, more []int32) []bool {
	first, before := backwards(n, edges)
	free, todo := make([]bool, n), make([]int32, 0, n)
	reach := func(at int32) {
		if !free[at] {
			free[at], todo = true, append(todo, at)
		}
	}
	for at := range int32(n) {
		if goal(at) {
			reach(at)
		}
	}
	for _, at := range more {
		reach(at)
	}
	for ; len(todo) > 0; todo = todo[1:] {
		for _, from := range before[first[todo[0]]:first[todo[0]+1]] {
			reach(from)
		}
	}
	return free
}

// backwards sorts edges by where they lead: those to a node begin at its first.
func backwards(n int, edges []edge) (first []int, before []int32) {
	first, before = make([]int, n+2), make([]int32, len(edges))
	for _, e := range edges {
		first[e.to+2]++
	}
	for i := range n {
		first[i+2] += first[i+1]
	}
	for _, e := range edges {
		before[first[e.to+1]] = e.from
		first[e.to+1]++
	}
	return first, before
}

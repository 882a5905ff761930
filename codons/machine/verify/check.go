package verify

import (
	"fmt"
	"slices"

	"github.com/ribosome-agents/ribosome/codons/machine"
)

// silent is the part of a side's position that decides whether it ends without any
// message or job.
type silent struct {
	role   machine.Role
	state  uint8
	timers machine.Activity // without jobs
}

// checkState checks a joint state by itself, before its moves.
func (x *explorer) checkState(at int32) error {
	j := x.nodes[at].at
	for _, r := range machine.Roles() {
		if !x.endsInSilence(silent{r, j[r].state, j[r].activity.WithoutJobs()}, map[silent]bool{}) {
			return x.counterexample(Stranded, at, fmt.Sprintf(
				"should nothing arrive any more, no timer ends the %s's %s", r, x.state(j, r)))
		}
	}
	if !x.ended(j) {
		return nil
	}
	pair := x.pair(j)
	for _, p := range x.Table().Agree {
		if p.Initiator == pair.Initiator && p.Responder == pair.Responder && x.admits(p) {
			x.ends[endOf(p)]++
			return nil
		}
	}
	return x.counterexample(Disagreement, at, fmt.Sprintf(
		"the initiator ends %s and the responder %s, which the table does not allow here", pair.Initiator, pair.Responder))
}

// admits reports whether a conversation can end in the pair on this network.
func (x *explorer) admits(p machine.Pair) bool {
	return !p.Rough() || slices.ContainsFunc(p.After, x.net.mayOccur)
}

func (x *explorer) pair(j joint) machine.Pair {
	return machine.Pair{Initiator: x.state(j, machine.Initiator), Responder: x.state(j, machine.Responder)}
}

// ended reports whether both sides have ended. A responder that no message may ever
// reach counts as ended.
func (x *explorer) ended(j joint) bool {
	p := x.pair(j)
	unreached := p.Responder == machine.Idle && (!x.net.Reliable || !x.Table().Has(machine.Responder))
	return x.Terminal(p.Initiator) && (x.Terminal(p.Responder) || unreached)
}

// endsInSilence reports whether a side reaches a terminal state by its timers alone. A
// side in Idle has nothing to end.
func (x *explorer) endsInSilence(s silent, visited map[silent]bool) bool {
	state := x.states[s.state]
	if state == machine.Idle || x.Terminal(state) || x.silence[s] {
		return true
	}
	if visited[s] {
		return false
	}
	visited[s] = true
	for on, left := range x.Timeouts(s.timers, s.role) {
		t := x.Find(s.role, state, on)
		if t != nil && x.endsInSilence(silent{s.role, x.index[t.To], x.rearmed(left, t)}, visited) {
			x.silence[s] = true
			return true
		}
	}
	return false
}

// rearmed returns the armed timers after a transition.
func (x *explorer) rearmed(timers machine.Activity, t *machine.Transition) machine.Activity {
	for _, e := range t.Do {
		timers = x.Apply(timers, t.Role, e)
	}
	return timers.WithoutJobs()
}

// checkEnds finds joint states from which not both sides can end.
func (x *explorer) checkEnds() error {
	free := canReach(len(x.nodes), x.edges, func(at int32) bool { return x.ended(x.nodes[at].at) })
	if at := slices.Index(free, false); at >= 0 {
		return x.counterexample(Stuck, int32(at), "no sequence of events from here ends it on both sides")
	}
	return nil
}

// canReach returns, for each of n nodes, whether a path leads from it to a goal.
func canReach(n int, edges []edge, goal func(int32) bool) []bool {
	free := make([]bool, n)
	for at := range n {
		free[at] = goal(int32(at))
	}
	for changed := true; changed; {
		changed = false
		for _, e := range slices.Backward(edges) { // most lead to nodes that were found later
			if free[e.to] && !free[e.from] {
				free[e.from], changed = true, true
			}
		}
	}
	return free
}

package verify

import (
	"fmt"
	"slices"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/internal/bitset"
)

// causeOf returns the cause that a move is, for [machine.Pair].After, and whether it is one.
// Messages, timers that tick and commands other than a stop or a misread message are none.
func (x *explorer) causeOf(m Move) (c machine.Cause, ok bool) {
	switch m.On.Kind {
	case machine.KindReceive, machine.KindDuplicate, machine.KindStale:
		return c, false
	case machine.KindCommand:
		ok = x.stops(m.Role, m.From, m.On) || x.misreads(m.Role, m.From, m.On)
	case machine.KindTimeout:
		ok = !x.ticks(m.Role, m.On.Name)
	case machine.KindUndeliverable, machine.KindUndelivered, machine.KindPeerLost:
		ok = true
	}
	return machine.At(m.Role, m.On), ok
}

// stops reports whether a command is the stop of an agent.
func (x *explorer) stops(r machine.Role, s machine.State, on machine.Symbol) bool {
	return on == machine.Commanded(commandStop) || x.CommandKind(r, s, on.Name) == machine.CommandStops
}

// misreads reports whether a command says that a message of the peer cannot be read.
func (x *explorer) misreads(r machine.Role, s machine.State, on machine.Symbol) bool {
	return x.CommandKind(r, s, on.Name) == machine.CommandMisreads
}

// mayOccur reports whether a cause can occur on a network.
func (n Network) mayOccur(c machine.Cause) bool {
	if c.Kind != machine.CauseEvent { // only the fair runs have a side that forgets
		return c.Kind == machine.CauseLoss && !n.Reliable
	}
	switch c.On.Kind { //nolint:exhaustive // no other is a cause that the network decides about
	case machine.KindUndeliverable, machine.KindUndelivered, machine.KindPeerLost:
		return !n.Reliable
	case machine.KindTimeout:
		return !n.NoTimeouts
	case machine.KindCommand:
		return !n.NoStops
	}
	return true
}

// causes are the causes that an exploration has met, and the one of each edge.
type causes struct {
	all    []machine.Cause
	ofEdge []uint8 // 1 + the index in all, 0 for none
}

// record records the cause of the next edge.
func (c *causes) record(cause machine.Cause, ok bool) {
	if !ok {
		c.ofEdge = append(c.ofEdge, 0)
		return
	}
	i := slices.Index(c.all, cause)
	if i < 0 {
		i, c.all = len(c.all), append(c.all, cause)
	}
	c.ofEdge = append(c.ofEdge, uint8(i+1))
}

// without is a question about an exploration: can a conversation end in a pair if none of some
// causes occurs?
type without struct {
	pair   machine.Pair
	forbid []machine.Cause
	cause  machine.Cause // if more than one is forbidden in all, the one that is allowed here
	usable bool          // the answer must be yes: cause is one of the pair's
}

// checkCauses checks the events that Agree names for its rough pairs. No conversation may end in a
// pair before one of them has occurred. For each of them one has to do so in which no other of them
// occurs; those without are returned.
func (x *explorer) checkCauses() (unused []string, err error) {
	var questions []without
	for _, p := range x.Table().Agree {
		if x.ends[endOf(p)] == 0 {
			continue
		}
		if p.Rough() {
			questions = append(questions, without{pair: p, forbid: p.After})
		}
		for i, c := range p.After {
			if x.net.mayOccur(c) {
				questions = append(questions, without{pair: p, forbid: slices.Delete(slices.Clone(p.After), i, i+1), cause: c, usable: true})
			}
		}
	}
	for some := range slices.Chunk(questions, bitset.Size) {
		reached := x.reachedWithout(some)
		for i, q := range some {
			switch {
			case q.usable && reached[i] < 0:
				unused = append(unused, fmt.Sprintf("%s, %s after %s", q.pair.Initiator, q.pair.Responder, q.cause))
			case !q.usable && reached[i] >= 0:
				return unused, x.unprompted(q, reached[i])
			}
		}
	}
	return unused, nil
}

// reachedWithout answers up to 64 questions, each by a joint state in which both sides have ended,
// or -1. Bit i of a joint state's set says that it is reached although none of the causes of
// question i occurs.
func (x *explorer) reachedWithout(questions []without) []int32 {
	allowed := make([]bitset.Set, len(x.causes.all)+1) // by the number of a cause; 0 for none
	for i, q := range questions {
		for n := range allowed {
			if n == 0 || !slices.Contains(q.forbid, x.causes.all[n-1]) {
				allowed[n] = allowed[n].With(i)
			}
		}
	}
	at := make([]bitset.Set, len(x.nodes))
	at[0] = allowed[0]
	for changed := true; changed; {
		changed = false
		for i, e := range x.edges {
			if next := at[e.to] | at[e.from]&allowed[x.causes.ofEdge[i]]; next != at[e.to] {
				at[e.to], changed = next, true
			}
		}
	}
	reached := slices.Repeat([]int32{-1}, len(questions))
	for n := range x.nodes {
		if at[n] == 0 || !x.ended(x.nodes[n].at) {
			continue
		}
		end, lost := endOf(x.pair(x.nodes[n].at)), x.needsLoss(x.nodes[n].at)
		for i := range at[n].All {
			if reached[i] < 0 && endOf(questions[i].pair) == end && (!lost || !slices.Contains(questions[i].forbid, machine.Lost())) {
				reached[i] = int32(n)
			}
		}
	}
	return reached
}

// needsLoss reports whether a message to a responder before its begin is on its way: then it ends
// there only if the message is lost.
func (x *explorer) needsLoss(j joint) bool {
	return x.state(j, machine.Responder) == machine.Idle && j[machine.Initiator].sent&^j[machine.Responder].received != 0
}

// unprompted returns the violation that a conversation ends in a pair before any cause of it.
func (x *explorer) unprompted(q without, at int32) error {
	c := x.counterexample(Unprompted, at, fmt.Sprintf("the initiator ends %s and the responder %s without %s",
		q.pair.Initiator, q.pair.Responder, joinWith(q.forbid, " or ")))
	c.Moves = x.pathWithout(q.forbid, at)
	return c
}

// pathWithout returns the fewest moves to a node among which there is none of the causes. There is
// such a path.
func (x *explorer) pathWithout(forbid []machine.Cause, goal int32) []Move {
	var walk visits[int32, Move]
	walk.visit(0, -1, Move{})
	at := int32(0)
	for ; walk.nodes[at].at != goal; at++ {
		for to, via := range x.moves(x.nodes[walk.nodes[at].at].at) {
			if c, ok := x.causeOf(via); !ok || !slices.Contains(forbid, c) {
				walk.visit(x.ids[to], at, via)
			}
		}
	}
	return walk.path(at)
}

// endOf returns the states of a pair.
func endOf(p machine.Pair) [2]machine.State { return [2]machine.State{p.Initiator, p.Responder} }

package verify

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/internal/bitset"
)

// oracle decides which traces are possible by a simple and slow method: it keeps every joint state
// that a trace may have led to (the subset construction of Rabin and Scott 1959 over the graph of
// [Explore]). It shares the semantics of the table with a Monitor, and no part of the algorithm.
type oracle struct {
	x    *explorer
	next [][]observed // the moves of each joint state, nil until they are listed
}

// observed is a move of a joint state, reduced to the message that a trace shows.
type observed struct {
	to        int32
	utterance machine.Utterance // zero for none
}

// belief is the set of joint states in which a conversation may be after a trace.
type belief struct {
	at    []int32 // closed under moves that send nothing
	after map[machine.Utterance]*belief
}

// newOracle returns an oracle for traces of a few messages. Like a Monitor, it takes
// the refusal of a message for possible at any moment.
func newOracle(m *machine.Machine) *oracle {
	x := newExplorer(m, Network{Repeat: bitset.Size}.withDefaults())
	x.anyRefusal = true
	return &oracle{x: x}
}

// start returns the belief before the first message.
func (o *oracle) start() (*belief, error) {
	return o.closure([]int32{o.x.visit(joint{}, -1, Move{})})
}

// observe returns the belief after one more message, nil when no conversation has that
// trace.
func (o *oracle) observe(b *belief, u machine.Utterance) (*belief, error) {
	if next, done := b.after[u]; done {
		return next, nil
	}
	var to []int32
	for _, at := range b.at {
		for _, move := range o.next[at] {
			if move.utterance == u {
				to = append(to, move.to)
			}
		}
	}
	if u.Again && o.sent(b, u) { // the network may have duplicated it
		to = append(to, b.at...)
	}
	next, err := o.closure(to)
	b.after[u] = next
	return next, err
}

// sent reports whether the trace has a message with the act and the tag of u. All
// joint states of a belief agree about that.
func (o *oracle) sent(b *belief, u machine.Utterance) bool {
	for i := range o.x.nodes[b.at[0]].at[u.From].sent.All {
		if m := o.x.messages[u.From][i]; m.act == u.Act && m.tag == u.Tag {
			return true
		}
	}
	return false
}

// closure returns the belief of the given joint states and of all states that moves
// without a message lead to from them. It is nil for no states.
func (o *oracle) closure(at []int32) (*belief, error) {
	if len(at) == 0 {
		return nil, nil //nolint:nilnil // an impossible trace has no belief, and that is not an error
	}
	seen := map[int32]bool{}
	var all []int32
	add := func(n int32) {
		if !seen[n] {
			seen[n], all = true, append(all, n)
		}
	}
	for _, n := range at {
		add(n)
	}
	for i := 0; i < len(all); i++ {
		if err := o.expand(all[i]); err != nil {
			return nil, err
		}
		for _, move := range o.next[all[i]] {
			if move.utterance == (machine.Utterance{}) {
				add(move.to)
			}
		}
	}
	return &belief{all, map[machine.Utterance]*belief{}}, nil
}

// expand lists the moves of a joint state, once.
func (o *oracle) expand(at int32) error {
	for len(o.next) < len(o.x.nodes) {
		o.next = append(o.next, nil)
	}
	if o.next[at] != nil {
		return nil
	}
	moves := []observed{}
	for to, via := range o.x.moves(o.x.nodes[at].at) {
		moves = append(moves, observed{o.x.visit(to, at, via), via.Utterance})
	}
	if o.x.problem != nil {
		return o.x.counterexample(o.x.problem.Problem, at, o.x.problem.Detail)
	}
	if err := o.x.checkSize(); err != nil {
		return err
	}
	o.next[at] = moves
	return nil
}

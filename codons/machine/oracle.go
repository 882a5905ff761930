package machine

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// oracle tells possible traces from impossible ones the slow and simple way: it
// knows every joint state to which a trace may have led (the subset construction
// of Rabin and Scott 1959 over the graph that [Explore] walks). It has nothing in
// common with a [Monitor] but the table.
type oracle struct {
	x     *explorer
	next  [][]heard // of each joint state
	known map[string]*belief
}

// heard is a move of a joint state, as a trace shows it.
type heard struct {
	to   int32
	says Utterance
}

// belief is every joint state in which a conversation may be after a trace.
type belief struct {
	at    []int32 // sorted, with what can be reached in silence
	after map[Utterance]*belief
}

// newOracle returns an oracle for traces of a few messages.
func newOracle(m *Machine) *oracle {
	return &oracle{x: newExplorer(m, Network{Repeat: setSize}.withDefaults()), known: map[string]*belief{}}
}

// start returns what is known before the first message.
func (o *oracle) start() (*belief, error) {
	return o.believe([]int32{o.x.visit(joint{}, -1, Move{})})
}

// hear returns what is known after one more message, nil when no conversation can
// have gone that way.
func (o *oracle) hear(b *belief, u Utterance) (*belief, error) {
	if next, done := b.after[u]; done {
		return next, nil
	}
	var to []int32
	for _, at := range b.at {
		for _, h := range o.next[at] {
			if h.says == u {
				to = append(to, h.to)
			}
		}
	}
	if u.Again && o.said(b, u) { // the network may repeat anything
		to = append(to, b.at...)
	}
	next, err := o.believe(to)
	b.after[u] = next
	return next, err
}

// said reports whether the trace has a message like u. All joint states agree.
func (o *oracle) said(b *belief, u Utterance) bool {
	for i := range o.x.nodes[b.at[0]].joint[u.From].sent.each {
		if m := o.x.messages[u.From][i]; m.act == u.Act && m.tag == u.Tag {
			return true
		}
	}
	return false
}

// believe returns the belief of joint states and of what they lead to in silence.
func (o *oracle) believe(at []int32) (*belief, error) {
	if len(at) == 0 {
		return nil, nil //nolint:nilnil // nothing is known of what is impossible, and that is no error
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
		for _, h := range o.next[all[i]] {
			if h.says == (Utterance{}) {
				add(h.to)
			}
		}
	}
	slices.Sort(all)
	return o.intern(all), nil
}

// intern returns the one belief of those joint states.
func (o *oracle) intern(at []int32) *belief {
	var key []byte
	for _, n := range at {
		key = binary.LittleEndian.AppendUint32(key, uint32(n))
	}
	b := o.known[string(key)]
	if b == nil {
		b = &belief{at: at, after: map[Utterance]*belief{}}
		o.known[string(key)] = b
	}
	return b
}

// expand lists the moves of a joint state, once.
func (o *oracle) expand(at int32) error {
	for len(o.next) < len(o.x.nodes) {
		o.next = append(o.next, nil)
	}
	if o.next[at] != nil {
		return nil
	}
	moves := []heard{}
	for to, via := range o.x.moves(o.x.nodes[at].joint) {
		moves = append(moves, heard{o.x.visit(to, at, via), via.Says})
	}
	if o.x.problem != nil {
		return o.x.counterexample(o.x.problem.Problem, at, nil, o.x.problem.Detail)
	}
	if len(o.x.nodes) > o.x.net.MaxStates {
		return fmt.Errorf("machine: %s: more than %d joint states", o.x.Name(), o.x.net.MaxStates)
	}
	o.next[at] = moves
	return nil
}

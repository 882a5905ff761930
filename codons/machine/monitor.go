package machine

import (
	"cmp"
	"maps"
	"slices"

	"github.com/ribosome-agents/ribosome/internal/bitset"
	"github.com/ribosome-agents/ribosome/performatives"
)

// MaxAlike is the number of like messages of one side, such as progress reports,
// that a [Monitor] tells apart. Messages are alike when their utterances are equal.
const MaxAlike = 16

// Monitor checks the messages of one conversation against a table, in the order in
// which they were sent. It knows neither the timers, commands and jobs of the two
// sides nor the losses and delays of the network: it keeps every hypothesis about
// them under which the trace is possible. A message that no hypothesis allows is a
// violation. It takes an [Undeliverable] and an [Undelivered] of any sent message and a
// [PeerLost] for possible at any moment. CheckMonitor of package verify tests this for a table.
//
// A Monitor tells apart up to [MaxAlike] like messages of one side, and up to 64
// messages of one side in all. In a longer conversation it may miss violations, and
// still never reports a message that the table allows.
//
// A Monitor is not safe for concurrent use. Observe takes some tens of microseconds,
// in a long conversation some hundreds.
type Monitor struct {
	*layout
	machine    *Machine
	trace      [2][]traced
	requests   map[performatives.Performative]int // the number of the initiator's requests of each act
	hypotheses []hypothesis
	full       bool // the trace is too long to go on, and every message counts as legal
}

// traced is one message of the trace, or many like messages from the point where
// more than MaxAlike of them were observed.
type traced struct {
	Utterance
	n    int  // for a request of the initiator: its number among those of its act, from 1
	many bool // it stands for any number of like messages
}

// NewMonitor returns a monitor of a conversation that has not begun.
func NewMonitor(m *Machine) *Monitor {
	return &Monitor{
		layout: m.layout(), machine: m, requests: map[performatives.Performative]int{},
		hypotheses: []hypothesis{{sides: [2][]side{{{}}, {{}}}}},
	}
}

// Clone returns an independent monitor that has observed the same messages.
func (o *Monitor) Clone() *Monitor {
	c := *o
	for _, r := range Roles() {
		c.trace[r] = slices.Clone(o.trace[r])
	}
	c.requests = maps.Clone(o.requests)
	return &c // the hypotheses can be shared: every message replaces the whole slice
}

// Observe takes the next message of the trace. It returns a [*ViolationError] for an
// illegal one. An illegal message counts as sent, so that the other side may answer
// it, and leaves its sender in its state.
func (o *Monitor) Observe(u Utterance) error {
	if o.full {
		return nil
	}
	return o.observe(u, o.explain(u))
}

// ObserveForeign is Observe for a conversation whose responder may follow another specification
// than the table's. Several have no word for the agreement, and leave it out (addenda §6: agree may
// be skipped). Where it could have come next, an answer is legal that could have followed it.
func (o *Monitor) ObserveForeign(u Utterance) error {
	if o.full {
		return nil
	}
	after := o.explain(u)
	if len(after) == 0 && u.From == Responder {
		for _, act := range []performatives.Performative{performatives.ActTaskAccept, performatives.ActAgree} {
			agreed := o.Clone()
			if agreed.Observe(Utterance{From: Responder, Act: act}) == nil && agreed.Observe(u) == nil {
				*o = *agreed
				return nil
			}
		}
	}
	return o.observe(u, after)
}

// observe takes the next message of the trace, with the hypotheses that explain it.
func (o *Monitor) observe(u Utterance, after []hypothesis) error {
	var err error
	if len(after) == 0 {
		err = &ViolationError{Table: o.machine.Name(), Got: u, Expected: o.expected(u.From)}
		after = o.unexplained(u)
	}
	o.hypotheses = after
	if !u.Again {
		o.record(u)
	}
	return err
}

// Interject records a refusal that the runtime has sent in the name of a role: of a
// message that found a full mailbox, or that was still queued when the agent stopped.
// The other side receives it as a message of that role, and that role keeps its
// state. It is not part of the table, so it is not checked. Each refusal is a message of
// its own: the monitor does not get one a second time.
func (o *Monitor) Interject(from Role, act performatives.Performative) {
	if o.full {
		return
	}
	u := Utterance{From: from, Act: act}
	o.hypotheses = o.unexplained(u)
	o.record(u)
}

// States returns the states in which a role may be now, in the order of the table.
func (o *Monitor) States(r Role) []State {
	var in bitset.Set
	for _, h := range o.hypotheses {
		for _, s := range o.reachable(h, r) {
			in = in.With(int(s.state))
		}
	}
	var states []State
	for i := range in.All {
		states = append(states, o.states[i])
	}
	return states
}

// explain returns the hypotheses under which u can be sent, after it.
func (o *Monitor) explain(u Utterance) []hypothesis {
	repeated := u.Again && o.has(u)
	var after []hypothesis
	for _, h := range o.hypotheses {
		senders := o.senders(h, u)
		if repeated { // the network may have duplicated it, without a step of the sender
			senders[0] = append(senders[0], h.sides[u.From]...)
		}
		for answers := range uint8(len(o.trace[Initiator]) + 1) {
			if len(senders[answers]) > 0 {
				after = append(after, h.after(u, answers, senders[answers]))
			}
		}
	}
	return after
}

// unexplained returns the hypotheses after a message that no step of its sender
// explains.
func (o *Monitor) unexplained(u Utterance) []hypothesis {
	after := slices.Clone(o.hypotheses)
	for i, h := range after {
		after[i] = h.after(u, answersUnknown, h.sides[u.From])
	}
	return after
}

// record adds a message with a new id to the trace.
func (o *Monitor) record(u Utterance) {
	m := traced{Utterance: u}
	if u.From == Initiator && u.Act.ExpectsReply() {
		o.requests[u.Act]++
		m.n = o.requests[u.Act]
	}
	switch n, last := o.alike(u); {
	case n >= MaxAlike && m.n == 0:
		o.merge(u.From, last)
	case len(o.trace[u.From]) == bitset.Size:
		o.full = true
	default:
		o.trace[u.From] = append(o.trace[u.From], m)
	}
}

// merge makes message i of a role stand for all like messages that follow it,
// including the newest.
func (o *Monitor) merge(r Role, i int) {
	o.trace[r][i].many = true
	if r != Responder {
		return
	}
	for k, h := range o.hypotheses {
		o.hypotheses[k].answers = slices.Clone(h.answers[:len(o.trace[r])])
		o.hypotheses[k].answers[i] = answersUnknown
	}
}

// alike returns the number of messages of the trace that are like u, and the index of
// the last of them.
func (o *Monitor) alike(u Utterance) (n, last int) {
	for i, m := range o.trace[u.From] {
		if m.Utterance == u {
			n, last = n+1, i
		}
	}
	return n, last
}

// has reports whether the trace has a message with the act and the tag of u.
func (o *Monitor) has(u Utterance) bool {
	return slices.ContainsFunc(o.trace[u.From], func(m traced) bool { return m.Act == u.Act && m.Tag == u.Tag })
}

// expected returns the messages that a role can send now.
func (o *Monitor) expected(r Role) []Utterance {
	var all []Utterance
	for _, h := range o.hypotheses {
		o.reach(h, r, func(out output, _ side) {
			if !slices.Contains(all, out.Utterance) {
				all = append(all, out.Utterance)
			}
		})
	}
	slices.SortFunc(all, func(a, b Utterance) int {
		return cmp.Or(cmp.Compare(a.Act, b.Act), cmp.Compare(a.Tag, b.Tag), cmp.Compare(a.String(), b.String()))
	})
	return all
}

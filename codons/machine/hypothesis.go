package machine

import (
	"slices"

	"github.com/ribosome-agents/ribosome/internal/bitset"
)

// hypothesis is one explanation of a trace: the message that each reply of the
// responder answers, and the positions in which each side may have been after its
// latest message. Hypotheses share slices.
type hypothesis struct {
	answers []uint8 // for each message of the responder: 1 + the index of the initiator's message, 0 for none
	sides   [2][]side
}

// answersUnknown marks a message of the responder that may answer any request.
const answersUnknown uint8 = 255

// side is the position of one role under a hypothesis.
type side struct {
	state    uint8 // index in layout.states
	requests Requests
	activity Activity
	received bitset.Set // the other side's messages that have arrived, as indices of the trace
}

// output is the message of a step, zero for none, and 1 + the index of the initiator's message that
// it answers, 0 for none.
type output struct {
	Utterance
	answers uint8
}

// after returns the hypothesis after a message, with the positions of its sender.
func (h hypothesis) after(u Utterance, answers uint8, senders []side) hypothesis {
	if u.From == Responder && !u.Again {
		h.answers = append(slices.Clip(h.answers), answers)
	}
	h.sides[u.From] = senders
	return h
}

// senders returns the positions in which the sender of u may be after u. The key is the
// message that u answers, as in output.
func (o *Monitor) senders(h hypothesis, u Utterance) map[uint8][]side {
	found, inert := map[uint8]*antichain{}, o.inertMessages(u.From)
	o.reach(h, u.From, func(out output, to side) {
		if out.Utterance != u {
			return
		}
		if found[out.answers] == nil {
			found[out.answers] = newAntichain(inert)
		}
		found[out.answers].add(to)
	})
	senders := make(map[uint8][]side, len(found))
	for answers, a := range found {
		senders[answers] = a.sides
	}
	return senders
}

// reachable returns the positions in which a role may be now: after its latest
// message and any number of steps that send nothing.
func (o *Monitor) reachable(h hypothesis, r Role) []side {
	return o.reach(h, r, func(output, side) {})
}

// reach is reachable. It calls sends for each step from such a position that sends a message.
func (o *Monitor) reach(h hypothesis, r Role, sends func(output, side)) []side {
	reached, kinds := newAntichain(o.inertMessages(r)), o.kinds(h, r)
	var todo []side
	for _, s := range h.sides[r] {
		if s = canonical(s, kinds); reached.add(s) {
			todo = append(todo, s)
		}
	}
	for ; len(todo) > 0; todo = todo[1:] {
		o.steps(h, r, todo[0], kinds, func(out output, to side) {
			switch {
			case out != (output{}):
				sends(out, to)
			case reached.add(to):
				todo = append(todo, to)
			}
		})
	}
	return reached.sides
}

// inertMessages returns the messages to a role of which a duplicate is inert.
func (o *Monitor) inertMessages(r Role) bitset.Set {
	var inert bitset.Set
	for i, m := range o.trace[r.Other()] {
		if o.inert[r][m.Act] {
			inert = inert.With(i)
		}
	}
	return inert
}

// kind is a set of messages that are interchangeable for their receiver.
type kind struct {
	messages bitset.Set
	first    int // the smallest index
}

// kinds partitions the messages to a role.
func (o *Monitor) kinds(h hypothesis, r Role) []kind {
	trace := o.trace[r.Other()]
	var kinds []kind
	for i, m := range trace {
		k := slices.IndexFunc(kinds, func(k kind) bool {
			return trace[k.first] == m && !m.many && (r == Responder || h.answers[k.first] == h.answers[i])
		})
		if k < 0 {
			k, kinds = len(kinds), append(kinds, kind{first: i})
		}
		kinds[k].messages = kinds[k].messages.With(i)
	}
	return kinds
}

// canonical returns s with the received messages of each kind replaced by the same
// number of the first messages of that kind.
func canonical(s side, kinds []kind) side {
	for _, k := range kinds {
		n := (s.received & k.messages).Len()
		s.received &^= k.messages
		for i := range k.messages.All {
			if n == 0 {
				break
			}
			s.received, n = s.received.With(i), n-1
		}
	}
	return s
}

// antichain is a set of sides in which no side covers another. A covered side is
// left out: everything that it can do, the covering side can do too.
type antichain struct {
	inert bitset.Set // messages of which a duplicate is inert
	sides []side     // in no order
}

func newAntichain(inert bitset.Set) *antichain { return &antichain{inert: inert} }

// add adds s and removes the sides that s covers. It reports false when s is covered
// by a side of the set, which then stays as it is.
func (a *antichain) add(s side) bool {
	if slices.ContainsFunc(a.sides, func(o side) bool { return a.alike(o, s) && covers(o, s) }) {
		return false
	}
	a.sides = slices.DeleteFunc(a.sides, func(o side) bool { return a.alike(o, s) && covers(s, o) })
	a.sides = append(a.sides, s)
	return true
}

// alike reports whether two sides differ only in what covers compares.
func (a *antichain) alike(s, t side) bool {
	s.activity.armed, s.received = t.activity.armed, s.received&^a.inert
	t.received &^= a.inert
	return s == t
}

// covers reports whether a can do everything that b can. The two differ only in their armed timers
// and in received messages with inert duplicates. More armed timers allow more, since none has to
// expire. Fewer received messages allow more, since each of them can still arrive.
func covers(a, b side) bool {
	return b.activity.armed&^a.activity.armed == 0 && a.received&^b.received == 0
}

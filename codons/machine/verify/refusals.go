package verify

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/internal/bitset"
	"github.com/ribosome-agents/ribosome/performatives"
)

// refusable is what the runtime can report to a role about its own messages.
type refusable struct {
	copies  map[performatives.Performative]bool // acts of which a copy may be refused
	tracked map[performatives.Performative]bool // of these, the acts whose Undelivered has an effect, or needs a row
}

// newRefusable returns the acts of a role. A table without any row for a refused copy gets
// none: its shell has no use for them.
func newRefusable(m *machine.Machine, r machine.Role, strict bool) refusable {
	f := refusable{map[performatives.Performative]bool{}, map[performatives.Performative]bool{}}
	known := false
	for t := range m.Transitions() {
		known = known || t.On.Kind == machine.KindUndeliverable || t.On.Kind == machine.KindUndelivered
		if t.Role == r && t.On.Kind == machine.KindUndelivered && !t.Inert() {
			f.tracked[t.On.Act] = true
		}
	}
	if !known {
		return f
	}
	for _, act := range m.Refusable(r) {
		f.copies[act] = true
		f.tracked[act] = f.tracked[act] || strict && r == machine.Initiator && act.ExpectsReply()
	}
	return f
}

// refusals emits the refusals by the runtime of copies of each message that a role has sent.
// A copy that is refused changes nothing in the network, where others may exist. The message
// is undelivered if none has arrived, and no message of the peer since it was sent; then none
// arrives any more.
func (x *explorer) refusals(j joint, r machine.Role, emit func(joint, Move)) {
	if x.net.Reliable {
		return
	}
	for i := range j[r].out.All {
		act := x.messages[r][i].act
		if !x.refusable[r].copies[act] || x.latestOf(j[r], r, act) != i {
			continue
		}
		next := j
		next[r].out = x.afterCopy(j[r], i)
		x.copyRefused(j, next, r, machine.Undeliverable(act), emit)
		x.undelivered(j, r, i, emit)
	}
}

// copyRefused emits the refusal of a copy, unless it changes nothing.
func (x *explorer) copyRefused(j, next joint, r machine.Role, on machine.Symbol, emit func(joint, Move)) {
	if t := x.Find(r, x.state(j, r), on); t != nil && t.Inert() && next == j {
		x.taken[t] = true
	} else {
		x.take(next, r, on, nil, emit)
	}
}

// undelivered emits the refusal of the last copy of message i, if no copy has arrived.
func (x *explorer) undelivered(j joint, r machine.Role, i int, emit func(joint, Move)) {
	act, next := x.messages[r][i].act, j
	if x.anyRefusal {
		x.take(next, r, machine.Undelivered(act), nil, emit)
		return
	}
	if j[r.Other()].received.Has(i) {
		return
	}
	on := machine.Undelivered(act)
	if !x.refusable[r].tracked[act] {
		x.copyRefused(j, next, r, on, emit)
		return
	}
	if !j[r].unheard.Has(i) {
		return
	}
	if t := x.Find(r, x.state(j, r), on); x.net.Strict && t != nil {
		x.checkUndelivered(t, j[r])
	}
	next[r].out = j[r].out.Without(i)
	x.take(next, r, on, nil, emit)
}

// latestOf returns the index of the latest message of an act that a conversation of a side has
// sent, -1 for none.
func (x *explorer) latestOf(s side, r machine.Role, act performatives.Performative) int {
	if r == machine.Responder {
		s.sent &^= x.former
	}
	return x.latest(s.sent, r, act)
}

// latest returns the index of the latest message of an act in a set, -1 for none.
func (x *explorer) latest(in bitset.Set, r machine.Role, act performatives.Performative) int {
	latest := -1
	for i := range in.All {
		if m := x.messages[r][i]; m.act == act && (latest < 0 || x.after(m, x.messages[r][latest])) {
			latest = i
		}
	}
	return latest
}

// receive returns the side after the delivery of message i of the peer.
func (s side) receive(i int) side {
	if !s.received.Has(i) {
		s.received, s.unheard = s.received.With(i), 0
	}
	return s
}

// checkUndelivered checks that a row of the initiator says what becomes of a live conversation
// whose latest message cannot have arrived. Only when nothing has arrived since one message alone,
// that is the latest.
func (x *explorer) checkUndelivered(t *machine.Transition, me side) {
	live := t.Role == machine.Initiator && !x.Terminal(t.From)
	if live && t.Wildcard && me.unheard.Len() == 1 && !excepted(x.Table(), RuleWildcard, t) {
		x.violate(Unforeseen, "only a wildcard of the initiator in "+string(t.From)+" takes "+t.On.String())
	}
}

// refuses emits the refusal of the copy of message i that next has no more. The message is
// undelivered if no other copy is under way.
func (x *fair) refuses(next fairJoint, from machine.Role, i int, emit func(step)) {
	act, me := x.messages[from][i].act, next.joint[from]
	if !x.refusable[from].copies[act] || x.latestOf(me, from, act) != i {
		return
	}
	arrives := me.out.Has(i) || next.joint[from.Other()].received.Has(i)
	if arrives || x.refusable[from].tracked[act] && !me.unheard.Has(i) {
		x.do(next, from, machine.Undeliverable(act), nil, free, emit)
		return
	}
	next.undelivered = next.undelivered || x.refusable[from].tracked[act]
	x.do(next, from, machine.Undelivered(act), nil, free, emit)
}

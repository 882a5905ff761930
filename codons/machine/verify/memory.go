package verify

import (
	"slices"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// memory says how much of its state a side of a [Run] has kept.
type memory uint8

const (
	intact    memory = iota
	replyless        // it has ended, and has forgotten what it would send again
	amnesiac         // it has lost its state; the initiator is gone, and the responder begins anew
)

// ForgetsReplies is the Message of the [Move] by which a side that has ended forgets its replies.
const ForgetsReplies = "forgets its replies"

// forgets emits the events by which a role forgets.
func (x *fair) forgets(j fairJoint, r machine.Role, emit func(step)) {
	state := x.state(j.joint, r)
	if state == machine.Idle || j.memory[r] != intact {
		return
	}
	if x.run.Forgets && x.Terminal(state) && x.repeats(r, state) {
		next := j
		next.memory[r] = replyless
		emit(step{Move: Move{Role: r, From: state, To: state, Message: ForgetsReplies}, to: next})
	}
	if x.run.Amnesia[r] {
		emit(step{Move: Move{Role: r, From: state, To: machine.Idle, Message: "loses its memory"}, to: x.withoutMemory(j, r)})
	}
}

// repeats reports whether a terminal state of a role has a row that sends a message again.
func (x *fair) repeats(r machine.Role, s machine.State) bool {
	return slices.ContainsFunc(x.Table().Rows, func(row machine.Row) bool {
		return row.Role == r && slices.Contains(row.From, s) &&
			slices.ContainsFunc(row.Do, func(e machine.Effect) bool { return e.Kind == machine.EffectResend })
	})
}

// withoutMemory returns the joint state after a role has lost its state and its jobs. What it has
// sent is still under way. Unless its node has crashed, the node remembers the requests that it has
// taken on.
func (x *fair) withoutMemory(j fairJoint, r machine.Role) fairJoint {
	me := j.joint[r]
	j.memory[r] = amnesiac
	j.joint[r] = side{sent: me.sent, out: me.out}
	if r == machine.Responder {
		j.former = me.sent
	}
	if r == machine.Initiator || x.run.Crash || x.Table().LongLived {
		return j
	}
	for i := range me.received.All {
		if act := x.messages[machine.Initiator][i].act; act != performatives.ActCancel && (act.ExpectsReply() || x.Opens(act)) {
			j.known = j.known.With(i)
		}
	}
	return j
}

// withoutPast returns the joint state without the responder's messages from before the loss of its
// memory, if they are under way no more: neither side has a use for them. Its later messages take
// their numbers, so that a walk has room for both lives of a bidder. Proposals stay, as a late
// verdict may name them.
func (x *fair) withoutPast(j fairJoint) fairJoint {
	for i := range (j.former &^ j.joint[machine.Responder].out).All {
		if x.messages[machine.Responder][i].act != performatives.ActPropose {
			j.former = j.former.Without(i)
			j.joint[machine.Responder].sent = j.joint[machine.Responder].sent.Without(i)
			j.joint[machine.Initiator].received = j.joint[machine.Initiator].received.Without(i)
		}
	}
	return j
}

// receives emits the reception of message i by a role, which next has received. j is the joint
// state before.
func (x *fair) receives(j, next fairJoint, r machine.Role, i int, on machine.Symbol, emit func(step)) {
	msg, state := &x.messages[r.Other()][i], x.state(j.joint, r)
	switch {
	case j.memory[r] == amnesiac && state == machine.Idle:
		opens := r == machine.Responder && (x.Opens(msg.act) || msg.act == performatives.ActCancel) && x.Find(r, state, on) != nil
		if !opens || j.known.Has(i) {
			x.notTakenOn(next, r, i, emit)
			return
		}
	case j.known.Has(i) && r == machine.Responder && on.Kind == machine.KindReceive && !x.Terminal(state):
		on = machine.Duplicate(msg.act) // of a request that it has taken on before
	}
	t := x.Find(r, state, on)
	switch {
	case t != nil && on.Kind == machine.KindDuplicate && msg.act != performatives.ActCancel && has(t, machine.EffectRun):
		x.violate(SecondRun, "the repeated "+msg.String()+" starts a job")
		emit(step{Move: Move{Role: r, On: on, From: state, To: t.To, Message: msg.String()}, to: next})
	case t != nil && has(t, machine.EffectResend) && (j.memory[r] == replyless || j.memory[r] == amnesiac && !x.sentSince(j, t)):
		x.answersWithoutReply(next, t, i, emit)
	default:
		x.do(next, r, on, msg, due, emit)
	}
}

// sentSince reports whether a side that lost its memory has sent what a row sends again since then.
func (x *fair) sentSince(j fairJoint, t *machine.Transition) bool {
	j.joint[t.Role].sent &^= j.former
	return x.sentBefore(j.joint, t)
}

// notTakenOn emits the answer to a message for which a side without memory opens no conversation:
// to a request that was taken on before that it has ended, to any other that the agent has no role
// for it.
func (x *fair) notTakenOn(next fairJoint, r machine.Role, i int, emit func(step)) {
	var reply message
	switch act := x.messages[r.Other()][i].act; {
	case r == machine.Initiator: // its agent may be gone, too
	case next.known.Has(i) || act == performatives.ActCancel:
		reply.act = performatives.ActFailure
	case act.ExpectsReply():
		reply.act = machine.Refuse(performatives.CodeIncapable).Answer(act)
	}
	x.answers(next, r, i, reply, emit)
}

// answersWithoutReply emits the answer of a side that has ended and forgotten what the row t sends
// again: to a CANCEL another receipt, to a rejected proposal another rejection, to any other
// request that the conversation has ended.
func (x *fair) answersWithoutReply(next fairJoint, t *machine.Transition, i int, emit func(step)) {
	act := x.messages[t.Role.Other()][i].act
	receipt := func(e machine.Effect) bool {
		latest := x.latestOf(next.joint[t.Role], t.Role, e.Act)
		return e.Kind == machine.EffectResend && latest >= 0 && x.messages[t.Role][latest].tag == tagReceipt
	}
	var reply message
	switch {
	case act == performatives.ActPropose && slices.Contains(t.Do, machine.Resend(performatives.ActRejectProposal)):
		reply.act = performatives.ActRejectProposal
	case act == performatives.ActCancel && slices.ContainsFunc(t.Do, receipt):
		reply = message{act: performatives.ActInform, tag: tagReceipt}
	case act.ExpectsReply():
		reply.act = machine.Refuse(performatives.CodeConversationEnded).Answer(act)
	case x.Opens(act):
		reply.act = performatives.ActFailure
	}
	x.answers(next, t.Role, i, reply, emit)
}

// answers emits the reception of message i, and a reply that no row of the table gives. If the
// reply has no act, the message is dropped without one.
func (x *fair) answers(next fairJoint, r machine.Role, i int, reply message, emit func(step)) {
	msg, state := x.messages[r.Other()][i], x.state(next.joint, r)
	move := Move{Role: r, On: machine.ReceiveTagged(msg.act, msg.tag), Message: msg.String(), From: state, To: state}
	if reply.act != 0 {
		reply.from, reply.n = r, 1
		if r == machine.Responder || x.verdicts && reply.act == performatives.ActRejectProposal {
			reply.answers = x.question(msg)
		}
		for at, known := x.numbers[reply]; known && next.joint[r].sent.Has(at); at, known = x.numbers[reply] {
			reply.n++
		}
		x.sendNumbered(&next.joint, reply, &move)
		if r == machine.Responder && x.problem == nil { // no conversation has it
			next.former = next.former.With(x.handed)
		}
	}
	emit(step{Move: move, to: next, duty: due})
}

// forgotten reports whether a side has lost its state.
func (j *fairJoint) forgotten() bool {
	return j.memory[machine.Initiator] == amnesiac || j.memory[machine.Responder] == amnesiac
}

// leftToDeadlines reports whether a deadline counts as an end: a side has lost its state, or, in a
// run in which sides forget their replies, the agent of the initiator has stopped and its CANCEL
// may be lost.
func (x *fair) leftToDeadlines(j fairJoint) bool {
	return j.forgotten() || x.run.Forgets && x.run.Stops && j.lost > 0 && x.stopped[j.joint[machine.Initiator].state]
}

// endedApart reports whether each side has ended by itself, where one of them has lost its state:
// their pair says nothing.
func (x *fair) endedApart(j fairJoint) bool {
	p := x.pair(j.joint)
	initiator := j.memory[machine.Initiator] == amnesiac || x.Terminal(p.Initiator)
	return initiator && (x.Terminal(p.Responder) || p.Responder == machine.Idle && j.joint[machine.Initiator].out == 0)
}

// awaits returns the pairs of states that only a deadline ends: no message is under way, and the
// moves that must happen lead to no end.
func (x *fair) awaits(ends []bool) []string {
	var all []string
	for at, free := range ends {
		j := &x.nodes[at].at
		if free || !x.leftToDeadlines(*j) || j.joint[machine.Initiator].out|j.joint[machine.Responder].out != 0 {
			continue
		}
		names := [2]string{string(x.state(j.joint, machine.Initiator)), string(x.state(j.joint, machine.Responder))}
		if j.memory[machine.Initiator] == amnesiac {
			names[machine.Initiator] = "gone"
		}
		if text := x.run.Name + ": " + names[0] + ", " + names[1]; !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	slices.Sort(all)
	return all
}

// unusedPairs returns the pairs of Agree declared to come after the loss of replies, if no
// conversation of the run comes to them although a responder ends so.
func (x *fair) unusedPairs() []machine.Pair {
	if !x.run.Forgets {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(x.Table().Agree), func(p machine.Pair) bool {
		for _, r := range machine.Roles() {
			if slices.Contains(p.After, machine.Forgotten(r)) && x.forgetsIn(r, endOf(p)[r]) && !slices.ContainsFunc(x.nodes, func(n node[fairJoint, Move]) bool {
				return n.at.memory[r] == replyless && endOf(x.pair(n.at.joint)) == endOf(p)
			}) {
				return false
			}
		}
		return true
	})
}

// forgetsIn reports whether a role has forgotten its replies in a state somewhere.
func (x *fair) forgetsIn(r machine.Role, s machine.State) bool {
	return slices.ContainsFunc(x.nodes, func(n node[fairJoint, Move]) bool { return n.at.memory[r] == replyless && x.state(n.at.joint, r) == s })
}

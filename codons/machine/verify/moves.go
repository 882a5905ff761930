package verify

import (
	"fmt"
	"iter"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/internal/bitset"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Move is one transition of an exploration, as a counterexample shows it.
type Move struct {
	Role      machine.Role
	On        machine.Symbol
	Message   string // the message that arrived; empty for every other event
	From      machine.State
	To        machine.State
	Sent      string            // the message that the step sent; empty for none
	Utterance machine.Utterance // the same message for a Monitor; zero for none
}

// moves yields every move from a joint state. It stops at the first violation, which
// it stores in x.problem: an event without a row, or a row that cannot be performed.
func (x *explorer) moves(j joint) iter.Seq2[joint, Move] {
	return func(yield func(joint, Move) bool) {
		more := true
		emit := func(to joint, via Move) { more = more && yield(to, via) && x.problem == nil }
		for _, r := range machine.Roles() {
			x.timeouts(j, r, emit)
			x.commands(j, r, emit)
			x.deliveries(j, r, emit)
			x.refusals(j, r, emit)
			x.loss(j, r, emit)
		}
	}
}

// timeouts emits the expiry of each armed timer of a role.
func (x *explorer) timeouts(j joint, r machine.Role, emit func(joint, Move)) {
	if x.net.NoTimeouts {
		return
	}
	for on, activity := range x.Timeouts(j[r].activity, r) {
		next := j
		next[r].activity = activity
		x.take(next, r, on, nil, emit)
	}
}

// commands emits the commands of a role's agent and of its running jobs.
func (x *explorer) commands(j joint, r machine.Role, emit func(joint, Move)) {
	for on, activity := range x.Commands(j[r].activity, r, x.state(j, r)) {
		stop := on == machine.Commanded(commandStop)
		if stop && x.net.NoStops || x.misreads(r, x.state(j, r), on) && (x.net.NoStops || !x.mayMisread(j, r)) {
			continue
		}
		next := j
		next[r].activity = activity
		x.take(next, r, on, nil, emit)
	}
}

// mayMisread reports whether the peer of a role has sent a message.
func (x *explorer) mayMisread(j joint, r machine.Role) bool {
	return j[r.Other()].sent != 0
}

// deliveries emits the delivery of each message on its way to a role.
func (x *explorer) deliveries(j joint, r machine.Role, emit func(joint, Move)) {
	for i := range j[r.Other()].out.All {
		msg, next := &x.messages[r.Other()][i], j
		next[r] = next[r].receive(i)
		next[r.Other()].out = x.afterCopy(j[r.Other()], i)
		x.take(next, r, x.classify(j, r, i, msg), msg, emit)
	}
}

// loss emits the loss of a role's peer.
func (x *explorer) loss(j joint, r machine.Role, emit func(joint, Move)) {
	if s := x.state(j, r); x.losesPeers && !x.net.Reliable && s != machine.Idle && !x.Terminal(s) {
		x.take(j, r, machine.PeerLost(), nil, emit)
	}
}

// afterCopy returns the messages of a side that the network may still deliver after
// one copy of message i has left it.
func (x *explorer) afterCopy(s side, i int) bitset.Set {
	if x.net.Once {
		return s.out.Without(i)
	}
	return s.out
}

// classify returns the symbol of a message, as the shell does.
func (x *explorer) classify(j joint, r machine.Role, i int, msg *message) machine.Symbol {
	switch {
	case j[r].received.Has(i):
		return machine.Duplicate(msg.act)
	case (r == machine.Initiator || x.verdicts) && x.stale(j, r, msg), r == machine.Responder && x.overtaken(j, msg):
		return machine.Symbol{Kind: machine.KindStale, Act: msg.act, Name: msg.tag}
	}
	return machine.ReceiveTagged(msg.act, msg.tag)
}

// stale reports whether a role has sent a later message of the act that msg answers.
func (x *explorer) stale(j joint, r machine.Role, msg *message) bool {
	if msg.answers == 0 {
		return false
	}
	request := x.messages[r][msg.answers-1]
	latest := x.latest(j[r].sent, r, request.act) // -1 after withoutPast
	return latest >= 0 && x.after(x.messages[r][latest], request)
}

// overtaken reports whether the responder has received a later request of the same act.
func (x *explorer) overtaken(j joint, request *message) bool {
	latest := x.latest(j[machine.Responder].received, machine.Initiator, request.act)
	return latest >= 0 && x.after(x.messages[machine.Initiator][latest], *request) && request.act.ExpectsReply()
}

// count returns the number of different messages that a role has sent with the act and the tag of
// an effect. An effect without a tag counts the messages of all tags.
func (x *explorer) count(j joint, r machine.Role, e machine.Effect) int {
	n := 0
	for i := range j[r].sent.All {
		if m := &x.messages[r][i]; m.act == e.Act && (e.Name == "" || m.tag == e.Name) {
			n++
		}
	}
	return n
}

// state returns the state of a role.
func (x *explorer) state(j joint, r machine.Role) machine.State { return x.states[j[r].state] }

// message is one message of an exploration. Messages are identical when all fields
// are equal, so two paths that send the same message share it.
type message struct {
	from    machine.Role
	act     performatives.Performative
	tag     string
	n       uint8 // the number of the message among the sender's messages of that act, from 1
	answers uint8 // of the responder: 1 + the index of the initiator's message that it answers, 0 for none
}

// String returns words such as "INFORM_RESULT (input) #2".
func (m message) String() string {
	text := m.act.String()
	if m.tag != "" {
		text += " (" + m.tag + ")"
	}
	if m.n > 1 {
		text += fmt.Sprintf(" #%d", m.n)
	}
	return text
}

// side is one role's half of a joint state.
type side struct {
	state    uint8 // index in explorer.states
	requests machine.Requests
	activity machine.Activity
	sent     bitset.Set // its messages
	out      bitset.Set // of these, the messages that the network may still deliver
	received bitset.Set // the other side's messages that have arrived
	unheard  bitset.Set // of sent, the messages since which nothing has arrived, if Undelivered of their act has an effect
}

// joint is a state of a whole conversation: both sides and the messages between them.
// Joint states compare with ==.
//
// The network is a set of messages. A network that duplicates can deliver a sent
// message for ever, and a network that loses never has to deliver it. So one bit for
// each message stands for any number of copies, retries and losses, in any order.
type joint [2]side

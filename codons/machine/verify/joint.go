package verify

import (
	"fmt"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/internal/bitset"
	"github.com/ribosome-agents/ribosome/performatives"
)

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

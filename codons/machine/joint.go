package machine

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/ribosome-agents/ribosome/performatives"
)

// message is one message of an exploration. Two messages that agree in all of it
// are the same one, so that a path that sends it again finds it again.
type message struct {
	from  Role
	act   performatives.Performative
	tag   string
	n     uint8 // counts the sender's different messages of that act, from 1
	about uint8 // of the responder: 1 + the index of the initiator's message that it answers; 0 for none
}

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

// set is a set of small numbers: indices of messages, timers or jobs.
type set uint64

const setSize = 64

func (s set) has(i int) bool    { return s&(1<<i) != 0 }
func (s set) with(i int) set    { return s | 1<<i }
func (s set) without(i int) set { return s &^ (1 << i) }

// each yields the members, lowest first.
func (s set) each(yield func(int) bool) {
	for ; s != 0; s &= s - 1 {
		if !yield(bits.TrailingZeros64(uint64(s))) {
			return
		}
	}
}

// side is one role's half of a joint state.
type side struct {
	state   uint8 // index in explorer.states
	request uint8 // of the responder: 1 + the index of the message that it has to answer
	cancel  uint8 // and of the CANCEL that it has to answer
	armed   set   // timers that run
	runs    set   // jobs that have not said their last word
	asked   set   // of those, the ones that were asked to stop
	sent    set   // its messages
	out     set   // of those, the ones that the network may still deliver
	seen    set   // the other side's messages that have arrived
}

// hear notes what the responder has to answer from now on: as a shell does, the
// latest message that expects a reply and was taken on.
func (s *side) hear(act performatives.Performative, i int, do []Effect) {
	switch {
	case !act.ExpectsReply() || slices.ContainsFunc(do, declines):
	case act == performatives.ActCancel:
		s.cancel = uint8(i + 1)
	default:
		s.request = uint8(i + 1)
	}
}

// declines reports whether an effect means that the message was not taken on.
func declines(e Effect) bool { return e.Kind == EffectRefuse || e.Kind == EffectDrop }

// about returns which message the responder's next one answers: the receipt and
// what takes its place answer the CANCEL, all else the request (addenda §6).
func (s *side) about(act performatives.Performative) uint8 {
	receipt := act == performatives.ActInform || act == performatives.ActFailure
	if s.cancel != 0 && (s.request == 0 || receipt) {
		return s.cancel
	}
	return s.request
}

// joint is a state of a whole conversation: both sides and what is between them.
// It compares with ==.
//
// The network is a set. Where it duplicates, a message that was sent once can be
// delivered for ever, and where it loses, none has to be: so one bit per message
// stands for any number of copies, retries and losses, in any order.
type joint [2]side

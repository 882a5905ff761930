package machine

import (
	"slices"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Requests records, by number, the messages that a responder has to answer: the
// latest request and the latest CANCEL that it accepted. Each message of the
// initiator has a number from 1 to 255, which the caller assigns. The zero value
// has none.
type Requests struct {
	request uint8
	cancel  uint8
}

// Accept records a fresh message of the initiator, given the effects of its row. A
// message that expects no reply, and one that the row refuses or drops, changes
// nothing.
func (q *Requests) Accept(act performatives.Performative, number uint8, do []Effect) {
	declined := func(e Effect) bool { return e.Kind == EffectRefuse || e.Kind == EffectDrop }
	switch {
	case !act.ExpectsReply() || slices.ContainsFunc(do, declined):
	case act == performatives.ActCancel:
		q.cancel = number
	default:
		q.request = number
	}
}

// Answered returns the number of the message that a reply of that act answers, 0
// for none. INFORM and FAILURE answer the CANCEL where there is one, since they
// carry its receipt; all other replies answer the request (addenda §6).
func (q *Requests) Answered(reply performatives.Performative) uint8 {
	receipt := reply == performatives.ActInform || reply == performatives.ActFailure
	if q.cancel != 0 && (q.request == 0 || receipt) {
		return q.cancel
	}
	return q.request
}

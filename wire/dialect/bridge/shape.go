package bridge

import (
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// shape is the value of [performatives.Message.Shape] for this dialect: the form of the
// message on the wire, as far as its fields do not determine it. A shape never leaves the node.
type shape struct {
	kind     kind
	act      performatives.Performative
	had      exchange.Set           // the members of the envelope
	blanks   exchange.Set           // the members that are null
	priority string                 // the JSON of the priority; empty = its usual name
	accepted [2]bool                // a handshake_response has it beside the payload, and in it
	code     string                 // the error_code
	timeout  string                 // the JSON of the timeout
	replyBy  time.Time              // what the timeout became
	wrapped  bool                   // the result is the only member of the details, as they must be an object
	of       *performatives.Message // the decoded message
	payload  []byte                 // the text of its payload
	metadata []byte                 // the text of its metadata; nil = none
}

// shapeOf returns the shape of m, which is empty for a message that this dialect has not read.
func shapeOf(m *performatives.Message) *shape {
	if sh, ok := m.Shape().(*shape); ok {
		return sh
	}
	return unread
}

// unread is the shape of a message that was made here, or that another dialect has read.
var unread = &shape{had: 1<<(memMetadata+1) - 1}

package bridge

import (
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// The members of the envelope that this dialect knows (bridge, Base Message Structure; the last two
// are those of addenda §2 and §8), in the order in which they are written.
const (
	memID = iota
	memType
	memSender
	memReceiver
	memTimestamp
	memCorrelation
	memPriority
	memPayload
	memAccepted // of a handshake_response
	memMetadata // extension
)

var memberNames = exchange.Names{
	"message_id", "message_type", "sender_id", "receiver_id", "timestamp", "correlation_id", "priority", "payload", "accepted", "metadata",
}

// The message types of the specification (bridge, Message Types).
const (
	kindHandshakeRequest  = "handshake_request"
	kindHandshakeResponse = "handshake_response"
	kindRequest           = "request"
	kindResponse          = "response"
	kindNotification      = "notification"
	kindError             = "error"
)

var messageTypes = []string{kindHandshakeRequest, kindHandshakeResponse, kindRequest, kindResponse, kindNotification, kindError}

// allKinds is the list of the message types, as text for a peer.
var allKinds = strings.Join(messageTypes, ", ")

// refusals has the acts that travel as an error.
var refusals = exchange.Refusals | exchange.SetOf(performatives.ActRejectProposal)

// usualActs has the acts of messages without metadata.performative (addenda §2). That of an error
// depends on its code, and a handshake_response that does not accept is a REFUSE.
var usualActs = map[string]performatives.Performative{
	kindHandshakeRequest: performatives.ActQueryCapabilities, kindHandshakeResponse: performatives.ActInformCapabilities,
	kindRequest: performatives.ActTaskRequest, kindResponse: performatives.ActInformResult, kindNotification: performatives.ActInform,
}

// shape is the value of [performatives.Message.Shape] for this dialect: the form of the
// message on the wire, as far as its fields do not determine it. A shape never leaves the node.
type shape struct {
	kind     string
	act      performatives.Performative
	had      exchange.Set[int]      // the members of the envelope
	blanks   exchange.Set[int]      // the members that are null
	priority string                 // the JSON of the priority; empty = its usual name
	accepted bool                   // a handshake_response has it in the payload
	code     string                 // the error_code
	timeout  string                 // the JSON of the timeout
	replyBy  time.Time              // what the timeout became
	wrapped  bool                   // the result is the only member of the details, as they must be an object
	of       *performatives.Message // the decoded message
	payload  []byte                 // the text of its payload
	metadata []byte                 // the text of its metadata; nil = none
}

// unread is the shape of a message that was made here, or that another dialect has read.
var unread = &shape{had: 1<<(memMetadata+1) - 1}

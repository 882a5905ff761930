package gateway

import (
	"bytes"
	"time"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// The members of an envelope.
const (
	memID = iota
	memTimestamp
	memSource
	memTarget
	memToken
	memCorrelation
	memMetadata
	memPayload
	memError
)

// envelopeMembers has their names, in the order in which wire lists them.
var envelopeMembers = exchange.Names{
	"id", "timestamp", "source", "target_namespace", "auth_token", "correlation_id", "metadata", "mcp_payload", "error",
}

// envelope is a frame whose members have been read. Its slices are of the frame, or
// copies where a message keeps them.
type envelope struct {
	exchange.Reader
	id          []byte // as it came: a string, a number, null, or nil for none
	source      performatives.AgentID
	target      string
	token       string
	correlation []byte // as it came
	timestamp   time.Time
	timeout     time.Duration // metadata.timeout_ms; zero for none
	priority    performatives.Priority
	payload     []byte // mcp_payload as it came; nil for none
	fault       []byte // the error object; nil for none
	metadata    performatives.Members
}

// The most that a message may make this end remember beyond its payload.
const (
	maxMembers = exchange.MaxUnknown             // members that no field stands for
	maxID      = 6*performatives.MaxIDLength + 2 // bytes of an id, a correlation id or a progress token as it is written
)

// readEnvelope reads a frame. It stores the first error and reads on, so that the answer can be
// addressed.
func readEnvelope(frame []byte, maxBytes int) (e envelope) {
	e.Names, e.Code = envelopeMembers, performatives.CodeUnexpectedAct
	if !e.Open(frame, maxBytes) {
		if e.Members = (exchange.Members{}); e.Refusal.Code != performatives.CodeParsingError {
			e.Refusal.Code = e.Code
		}
		return e
	}
	e.id = readID(&e.Fault, "id", e.Values[memID])
	e.source = performatives.AgentID(e.Required(memSource))
	e.target = e.Optional(memTarget)
	e.token = exchange.Bearer(e.Optional(memToken))
	e.timestamp = e.Time(memTimestamp)
	e.payload, e.fault = e.Values[memPayload], e.Values[memError]
	if e.payload == nil && e.fault == nil {
		e.Invalid("mcp_payload", "a JSON-RPC message or a batch", nil)
	}
	if v := e.Values[memCorrelation]; e.Optional(memCorrelation) != "" {
		if len(v) > maxID {
			e.Wrong("correlation_id", "at most %d bytes, got %d", maxID, len(v))
		} else {
			e.correlation = v
			e.keep(metadataCorrelation, v)
		}
	}
	e.readMetadata(e.Values[memMetadata])
	for _, u := range e.Unknown {
		e.keep(prefixEnvelope+u.Name, u.Value)
	}
	return e
}

// readID reads the id of an envelope, or of a JSON-RPC message. It is nil for a value that is none.
func readID(f *exchange.Fault, field string, v []byte) []byte {
	switch {
	case !jsonscan.Is(v, '"') && !jsonscan.IsNumber(v) && !jsonscan.IsNull(v):
		f.Invalid(field, "a string, a number or null", v)
	case len(v) > maxID:
		f.Wrong(field, "at most %d bytes, got %d", maxID, len(v))
	default:
		return v
	}
	return nil
}

// idText returns an id as the text of a correlation_id: the digits of a number, and
// nothing for null.
func idText(id []byte) string {
	switch {
	case jsonscan.Is(id, '"'):
		return string(jsonscan.TextBytes(id))
	case jsonscan.IsNull(id):
		return ""
	}
	return string(id)
}

// formOf reports whether a frame is known to be of this dialect: an object with the member
// mcp_payload, or with error and source, or with jsonrpc; or an array that begins with one. It is
// bare with jsonrpc and without mcp_payload: JSON-RPC without envelopes, as the transports of MCP
// write it (addenda §9). formOf does not check the members.
func formOf(frame []byte) (bare, known bool) {
	s := jsonscan.Scanner{Data: frame, Depth: exchange.MaxDepth}
	if s.Peek() == '[' {
		s.Open('[')
	}
	frame = frame[s.Pos:]
	switch {
	case wire.HasMember(frame, "mcp_payload"):
		return false, true
	case wire.HasMember(frame, "jsonrpc"):
		return true, true
	}
	return false, wire.HasMember(frame, "error") && wire.HasMember(frame, "source")
}

// bareSource is the label of a client without envelopes that has not named itself in initialize, by
// a name that an agent may have.
const bareSource = "mcp-client"

// readBare reads a frame without an envelope: a JSON-RPC message, or a batch.
func (c *codec) readBare(frame []byte) envelope {
	e := envelope{source: c.source, timestamp: c.stamp().Time}
	if e.Refusal = exchange.CheckText(frame, c.session.MaxBytes); e.Refusal != nil {
		return e
	}
	s := jsonscan.Scanner{Data: frame, Depth: exchange.MaxDepth}
	if !s.Value() || !s.End() {
		e.Refuse(exchange.Broken(s.Problem()))
		return e
	}
	e.payload = bytes.TrimSpace(frame)
	return e
}

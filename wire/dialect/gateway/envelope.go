package gateway

import (
	"bytes"
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/internal/isotime"
	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// envelope is a frame whose members have been read. Its slices are of the frame, or
// copies where a message keeps them.
type envelope struct {
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
	refusal     *performatives.Refusal // the first thing that is wrong
}

// The most that a message may make this end remember beyond its payload.
const (
	maxMembers = 1024                            // members that no field stands for
	maxID      = 6*performatives.MaxIDLength + 2 // bytes of an id, a correlation id or a progress token as it is written
)

// refuse stores the first error; it ignores later ones.
func (e *envelope) refuse(code performatives.Code, field, text string) {
	if e.refusal == nil {
		e.refusal = &performatives.Refusal{Code: code, Field: field, Text: text}
	}
}

// wrong stores the error of a member with a value of the wrong kind.
func (e *envelope) wrong(field, want string, got []byte) {
	e.refuse(performatives.CodeUnexpectedAct, field, field+": want "+want+", got "+jsonscan.KindOf(got))
}

// readEnvelope reads a frame. It stores the first error in the refusal of the envelope and
// reads on, so that the answer can be addressed.
func readEnvelope(frame []byte, maxBytes, maxDepth int) (e envelope) {
	if e.refusal = exchange.CheckText(frame, maxBytes); e.refusal != nil {
		return e
	}
	w := walk(frame)
	w.Depth = maxDepth
	if w.Peek() != '{' && w.Value() && w.End() {
		e.wrong("message", "an object", bytes.TrimLeft(frame, " \t\r\n"))
		return e
	}
	var seen uint16
	if w.Want == "" && w.enter('{') {
		for name, v, ok := w.member(); ok; name, v, ok = w.member() {
			e.member(&seen, name, v)
		}
	}
	if w.Want != "" || !w.End() {
		e = envelope{}
		e.refuse(performatives.CodeParsingError, "", w.Problem())
		return e
	}
	e.complete(seen)
	return e
}

// envelopeMembers are the members of an envelope, in the order in which wire lists them.
var envelopeMembers = []string{
	"id", "timestamp", "source", "target_namespace", "auth_token", "correlation_id", "metadata", "mcp_payload", "error",
}

const idBit, timestampBit = 1 << 0, 1 << 1

// memberBit returns the bit of a member in a set of members, or 0 for an unknown member.
func memberBit(name []byte) uint16 {
	for i, known := range envelopeMembers {
		if known == string(name) {
			return 1 << i
		}
	}
	return 0
}

func (e *envelope) member(seen *uint16, name, v []byte) {
	bit := memberBit(name)
	if bit&*seen != 0 {
		e.refuse(performatives.CodeUnexpectedAct, "", fmt.Sprintf("want no second %.64q", name))
		return
	}
	*seen |= bit
	switch string(name) {
	case "id":
		e.readID(v)
	case "timestamp":
		e.readTimestamp(v)
	case "source":
		e.source = performatives.AgentID(e.text("source", v))
	case "target_namespace":
		e.target = e.text("target_namespace", v)
	case "auth_token":
		e.token = bearer(e.text("auth_token", v))
	case "correlation_id":
		e.readCorrelation(v)
	case "metadata":
		e.readMetadata(v)
	case "mcp_payload":
		e.payload = v
	case "error":
		e.fault = v
	default:
		if e.refusal == nil { // a refused envelope makes no message
			e.keep(prefixEnvelope+string(name), v)
		}
	}
}

// text reads a string; null counts as absent.
func (e *envelope) text(field string, v []byte) string {
	switch {
	case jsonscan.IsNull(v):
		return ""
	case !jsonscan.Is(v, '"'):
		e.wrong(field, "a string", v)
		return ""
	}
	return string(jsonscan.TextBytes(v))
}

func (e *envelope) readID(v []byte) {
	switch {
	case !jsonscan.Is(v, '"') && !jsonscan.IsNumber(v) && !jsonscan.IsNull(v):
		e.wrong("id", "a string, a number or null", v)
	case len(v) > maxID:
		e.refuse(performatives.CodeUnexpectedAct, "id", fmt.Sprintf("id: want at most %d bytes, got %d", maxID, len(v)))
	default:
		e.id = v
	}
}

func (e *envelope) readCorrelation(v []byte) {
	if len(v) > maxID {
		e.refuse(performatives.CodeUnexpectedAct, "correlation_id", fmt.Sprintf("correlation_id: want at most %d bytes, got %d", maxID, len(v)))
		return
	}
	switch {
	case jsonscan.IsNull(v):
	case !jsonscan.Is(v, '"'):
		e.wrong("correlation_id", "a string", v)
	default:
		e.correlation = v
		e.keep(metadataCorrelation, v)
	}
}

func (e *envelope) readTimestamp(v []byte) {
	if !jsonscan.Is(v, '"') {
		e.wrong("timestamp", "an ISO 8601 time", v)
		return
	}
	t, ok := isotime.Parse(jsonscan.TextBytes(v))
	if !ok || t.IsZero() {
		e.refuse(performatives.CodeUnexpectedAct, "timestamp", fmt.Sprintf("timestamp: want an ISO 8601 time, got %.48q", jsonscan.TextBytes(v)))
	}
	e.timestamp = t
}

// complete checks that the required members are there.
func (e *envelope) complete(seen uint16) {
	switch {
	case seen&idBit == 0:
		e.refuse(performatives.CodeUnexpectedAct, "id", "id: want a string, a number or null, got nothing")
	case e.source == "":
		e.refuse(performatives.CodeUnexpectedAct, "source", "source: want a non-empty string, got nothing")
	case seen&timestampBit == 0:
		e.refuse(performatives.CodeUnexpectedAct, "timestamp", "timestamp: want an ISO 8601 time, got nothing")
	case e.payload == nil && e.fault == nil:
		e.refuse(performatives.CodeUnexpectedAct, "mcp_payload", "mcp_payload: want a JSON-RPC message or a batch, got nothing")
	}
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

package bridge

import (
	"cmp"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// DecodeError is the error of [Codec.Decode]. It has the refusal, and the fields of the
// message that could be read, so that its sender can be answered. A field is empty when
// the message lacks it or ends before it.
type DecodeError struct {
	Refusal     *performatives.Refusal
	Type        string // the message_type
	ID          performatives.MessageID
	Sender      performatives.AgentID
	Receiver    performatives.AgentID
	Correlation string
	text        string // of an error
}

// Error returns the text of the refusal.
func (e *DecodeError) Error() string { return "bridge: " + e.Refusal.Error() }

// Unwrap returns the refusal, so that errors.Is asks for its code.
func (e *DecodeError) Unwrap() error { return e.Refusal }

// Answer returns the error message for the sender, from the agent from. It is nil for a message
// that is an error itself: two peers would otherwise answer each other without end.
func (e *DecodeError) Answer(from performatives.AgentID, s performatives.Stamp) []byte {
	if e.Type == kindError {
		return nil
	}
	return errorFrame(from, e.Sender, string(e.ID), s, faultOf(e.Refusal))
}

// failure returns the stored error together with the readable fields.
func (d *decoder) failure() *DecodeError {
	v := &d.Values
	e := &DecodeError{
		Refusal:     d.Refusal,
		Type:        exchange.Legible(v[memType]),
		ID:          performatives.MessageID(exchange.Legible(v[memID])),
		Sender:      performatives.AgentID(exchange.Legible(v[memSender])),
		Receiver:    performatives.AgentID(exchange.Legible(v[memReceiver])),
		Correlation: exchange.Legible(v[memCorrelation]),
	}
	var message []byte
	jsonscan.Read(v[memPayload], nil, jsonscan.Find(errorMessage, &message))
	e.text = cmp.Or(jsonscan.Text(message), jsonscan.Text(v[memPayload]))
	d.Refusal.About = e.ID
	return e
}

// envelopeOf returns the envelope of a message that this package makes itself, up to its payload.
func envelopeOf(kind string, s performatives.Stamp, from, to performatives.AgentID, correlation string, p performatives.Priority) jsonscan.Builder {
	b := jsonscan.OpenObject(nil)
	b.Text(memberNames[memID], string(s.ID))
	b.Text(memberNames[memType], kind)
	b.Text(memberNames[memSender], string(from))
	b.TextOrNull(memberNames[memReceiver], string(to))
	b.Text(memberNames[memTimestamp], exchange.FormatTime(s.Time))
	b.TextOrNull(memberNames[memCorrelation], correlation)
	b.Text(memberNames[memPriority], p.String())
	return b
}

// errorFrame returns an error message that this package writes itself, about the message with that
// id. The receiver and the id may be empty.
func errorFrame(from, to performatives.AgentID, about string, s performatives.Stamp, f fault) []byte {
	b := envelopeOf(kindError, s, from, to, about, performatives.Normal)
	b.Open(memberNames[memPayload])
	f.write(&b)
	b.End()
	return append(b.JSON, '}')
}

// fieldNames has the names of bridge for the fields of a message.
var fieldNames = map[string]string{
	"sender": "sender_id", "receiver": "receiver_id", "in_reply_to": "correlation_id",
	"conversation_id": "metadata.conversation_id", "message_type": "metadata.message_type", "performative": "metadata.performative",
	"protocol": "metadata.protocol", "trace": "metadata.trace",
	"payload.task_type": "payload.tool_name", "payload.task_parameters": "payload.arguments", "payload.task_status": "payload.task_status",
	"payload.result_details": "payload.result",
}

// renamed returns the refusal in an error of package performatives, with the field names of bridge.
func renamed(err error) *performatives.Refusal { return exchange.Renamed(err, fieldNames) }

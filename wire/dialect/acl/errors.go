package acl

import (
	"cmp"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// DecodeError is the error of [Codec.Decode]. It has the refusal, and the fields of the
// message that could be read, so that its sender can be answered. A field is empty when
// the message lacks it or ends before it. A transport may set every field: for example,
// the Sender of an authenticated connection.
type DecodeError struct {
	Refusal        *performatives.Refusal
	Style          Style
	Act            performatives.Performative
	ID             performatives.MessageID
	Sender         performatives.AgentID
	Receiver       performatives.AgentID
	ConversationID performatives.ConversationID
	ReplyWith      string
	inReplyTo      string
	payload        []byte
}

// Error returns the text of the refusal.
func (e *DecodeError) Error() string { return "acl: " + e.Refusal.Error() }

// Unwrap returns the refusal, so that errors.Is asks for its code.
func (e *DecodeError) Unwrap() error { return e.Refusal }

// noReference is the in_reply_to of the answer to a message without a readable id: acl
// §4.7 demands an in_reply_to.
const noReference = "unknown"

// NotUnderstood makes the answer to the sender of the message: a NOT_UNDERSTOOD of the
// agent from (acl §4.7), to be written in e.Style. It refers to the message_id, else to
// the reply_with or the conversation_id, else to "unknown". It returns nil when the
// sender could not be read. It also returns nil for a NOT_UNDERSTOOD: two peers would
// otherwise answer each other without end.
func (e *DecodeError) NotUnderstood(from performatives.AgentID, s performatives.Stamp) *performatives.Message {
	if e.Sender == "" || e.Act == performatives.ActNotUnderstood {
		return nil
	}
	answer := performatives.Envelope{
		ID: s.ID, Timestamp: s.Time, Sender: from, Receiver: e.Sender, ConversationID: e.ConversationID,
		Language: performatives.LanguageJSON, Ontology: performatives.OntologyNotUnderstood,
		Payload: performatives.NotUnderstood{ReasonCode: e.Refusal.Code, ReasonText: e.Refusal.Text},
	}
	for _, ref := range []string{string(e.ID), e.ReplyWith, string(e.ConversationID), noReference} {
		answer.InReplyTo = ref
		if m, err := performatives.New(answer); err == nil {
			return m
		}
	}
	return nil
}

// ended returns the FAILURE in place of a refusal that is no message, or nil. local is its receiver
// if it names none.
func (e *DecodeError) ended(local performatives.AgentID, s performatives.Stamp) *performatives.Message {
	return performatives.FailureFor(performatives.Envelope{
		ID: s.ID, Timestamp: s.Time, Performative: e.Act, Sender: e.Sender, Receiver: cmp.Or(e.Receiver, local), ConversationID: e.ConversationID,
		InReplyTo: cmp.Or(e.inReplyTo, string(e.ConversationID)),
	}, e.payload)
}

// failure returns the stored error together with the readable fields.
func (d *decoder) failure() *DecodeError {
	v := &d.Values
	e := &DecodeError{
		Refusal:        d.Refusal,
		Style:          d.shape.style,
		ID:             performatives.MessageID(exchange.Legible(v[memID])),
		Sender:         legibleAgent(v[memSender]),
		Receiver:       legibleAgent(v[memReceiver]),
		ConversationID: performatives.ConversationID(exchange.Legible(v[memConversation])),
		ReplyWith:      exchange.Legible(v[memReplyWith]),
		inReplyTo:      exchange.Legible(v[memInReplyTo]),
		payload:        v[memPayload],
	}
	e.Act, _ = actOf([]byte(exchange.Legible(v[memPerformative])), e.Style)
	d.Refusal.About = e.ID
	return e
}

func legibleAgent(v []byte) performatives.AgentID {
	if jsonscan.Is(v, '{') {
		v, _, _ = splitAgent(v)
	}
	return performatives.AgentID(exchange.Legible(v))
}

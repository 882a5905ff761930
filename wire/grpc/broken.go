package grpc

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// unknown is the receiver of the NOT_UNDERSTOOD for a message without a readable sender;
// the connection leads to one peer, so that the name does not matter. It is also the
// in_reply_to for a message without a readable id, which acl §4.7 demands.
const unknown = "unknown"

// broken returns the error of an envelope that is no message, with the answer to its sender.
func (c *codec) broken(d *decoder) wire.Inbound {
	d.refusal.About = performatives.MessageID(legible(string(d.e.ID)))
	if d.e.Performative == performatives.ActNotUnderstood { // two peers would answer each other without end
		return wire.Inbound{Err: d.refusal}
	}
	return wire.Inbound{Err: d.refusal, Answer: c.append(nil, c.notUnderstood(d))}
}

// ended returns the FAILURE in place of a refusal that is no message, or nil.
func (c *codec) ended(d *decoder) *performatives.Message {
	stamp := c.opts.Stamper.Stamp()
	return performatives.FailureFor(performatives.Envelope{
		ID: stamp.ID, Timestamp: stamp.Time, Performative: d.e.Performative, Sender: d.e.Sender,
		Receiver: performatives.AgentID(first(string(d.e.Receiver), string(c.opts.Local))), ConversationID: d.e.ConversationID, InReplyTo: d.e.InReplyTo,
	}, d.payload)
}

// notUnderstood makes the answer to an envelope that is no message. It is the receiver's, if that
// is readable: the peer may await the reply of this agent only. It refers to the id, else to the
// reply_with or the conversation. It is nil only when the name of this end is invalid.
func (c *codec) notUnderstood(d *decoder) *performatives.Message {
	id, conversation := string(d.e.ID), string(d.e.ConversationID)
	stamp := c.opts.Stamper.Stamp()
	m, err := performatives.New(performatives.Envelope{
		ID: stamp.ID, Timestamp: stamp.Time, Sender: performatives.AgentID(first(string(d.e.Receiver), string(c.opts.Local))), Receiver: performatives.AgentID(first(string(d.e.Sender), unknown)),
		ConversationID: performatives.ConversationID(first(conversation, id)), InReplyTo: first(id, d.e.ReplyWith, conversation, unknown),
		Language: performatives.LanguageJSON, Ontology: performatives.OntologyNotUnderstood,
		Payload: performatives.NotUnderstood{ReasonCode: d.refusal.Code, ReasonText: d.refusal.Text},
	})
	if err != nil {
		return nil
	}
	return m
}

// first returns the first text that is legible, or nothing.
func first(texts ...string) string {
	for _, s := range texts {
		if s = legible(s); s != "" {
			return s
		}
	}
	return ""
}

// legible returns a text that could be an id, and nothing for any other text.
func legible(s string) string {
	if len(s) > performatives.MaxIDLength || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
		return ""
	}
	return s
}

package grpc

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// unknown is who a NOT_UNDERSTOOD goes to when the sender of a message could not be read,
// since the connection knows to whom it leads; and what it refers to when the message
// told nothing, since acl §4.7 demands an in_reply_to.
const unknown = "unknown"

// broken is an envelope that is no message, with the answer to its sender.
func (c *codec) broken(d *decoder) wire.Inbound {
	d.refusal.About = performatives.MessageID(legible(string(d.e.ID)))
	if d.e.Performative == performatives.ActNotUnderstood { // which must not be answered by another
		return wire.Inbound{Err: d.refusal}
	}
	return wire.Inbound{Err: d.refusal, Answer: c.append(nil, c.notUnderstood(d))}
}

// notUnderstood makes that answer. It refers to the id, else to the reply_with or the
// conversation. It is nil only when this end's own name is not valid.
func (c *codec) notUnderstood(d *decoder) *performatives.Message {
	id, conversation := string(d.e.ID), string(d.e.ConversationID)
	stamp := c.opts.Stamper.Stamp()
	m, err := performatives.New(performatives.Envelope{
		ID: stamp.ID, Timestamp: stamp.Time, Sender: c.opts.Local, Receiver: performatives.AgentID(first(string(d.e.Sender), unknown)),
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

// legible returns a text that may be anything, or nothing when it could be no id.
func legible(s string) string {
	if len(s) > performatives.MaxIDLength || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
		return ""
	}
	return s
}

package bridge

import (
	"bytes"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// The members of metadata, an extension of the envelope (addenda §8): what the envelope of bridge
// has no place for.
const (
	metaMessageType  = "message_type"
	metaPerformative = "performative" // of a message whose act is not the usual one of its message type
	metaConversation = "conversation_id"
	metaProtocol     = "protocol"
	metaTrace        = "trace"
	metaBudget       = "budget"
)

// payloadRest is the member of a message's metadata with the members of the payload that the
// payload of an application's message type has no place for. No other dialect has a use for it.
const payloadRest = "payload"

// metadata reads the member metadata.
func (d *decoder) metadata() {
	v := d.in.Values[memMetadata]
	if jsonscan.IsNone(v) {
		return
	}
	if v[0] != '{' {
		d.Invalid("metadata", "an object", v)
		return
	}
	d.shape.metadata = bytes.Clone(v)
	var typed, act, conversation, protocol, trace, budget []byte
	var rest performatives.Members
	over := false
	jsonscan.Read(v, exchange.Rest(&rest, &over), jsonscan.Find(metaMessageType, &typed), jsonscan.Find(metaPerformative, &act), jsonscan.Find(metaConversation, &conversation),
		jsonscan.Find(metaProtocol, &protocol), jsonscan.Find(metaTrace, &trace), jsonscan.Find(metaBudget, &budget))
	if over {
		d.tooMany("metadata")
	}
	d.out.MessageType = d.metaText(metaMessageType, typed)
	d.out.Protocol = d.metaText(metaProtocol, protocol)
	d.out.Trace = d.metaText(metaTrace, trace)
	if id := d.metaText(metaConversation, conversation); id != "" {
		d.out.ConversationID = performatives.ConversationID(id)
	}
	if name := d.metaText(metaPerformative, act); name != "" {
		var err error
		if d.act, err = performatives.ParsePerformative(name); err != nil {
			d.fail(err)
		}
	}
	if !jsonscan.IsNone(budget) {
		d.out.Budget = performatives.RawContent(bytes.Clone(budget))
	}
	if rest != nil {
		text, err := jsonscan.Marshal(rest)
		if err != nil {
			d.fail(err)
			return
		}
		exchange.Keep(&d.out.Metadata, memberNames[memMetadata], text)
	}
}

// metaText reads a string of metadata. null counts as absent.
func (d *decoder) metaText(name string, v []byte) string {
	if !jsonscan.IsNone(v) && !jsonscan.Is(v, '"') {
		d.Invalid("metadata."+name, "a string", v)
	}
	return jsonscan.Text(v)
}

func (d *decoder) tooMany(field string) {
	d.Refuse(&performatives.Refusal{Code: performatives.CodeParsingError, Field: field, Text: field + ": want no more than 1,024 unknown members"})
}

// metadata writes the member metadata, if there is anything in it.
func (w *writer) metadata() {
	m := w.m
	switch {
	case w.exact() && w.shape.metadata != nil:
		w.out.Raw(memberNames[memMetadata], w.shape.metadata)
		return
	case w.exact() && w.shape.blanks.has(memMetadata):
		w.out.Raw(memberNames[memMetadata], []byte("null"))
		return
	}
	rest, more := m.Metadata(memberNames[memMetadata])
	if !more && m.MessageType() == "" && w.act == m.Performative() && w.implied() == string(m.ConversationID()) && m.Protocol() == "" &&
		m.Trace() == "" && m.Budget().IsZero() {
		return
	}
	b := jsonscan.OpenObject(nil)
	if m.MessageType() != "" {
		b.Text(metaMessageType, m.MessageType())
	}
	if w.act != m.Performative() {
		b.Text(metaPerformative, m.Performative().String())
	}
	if implied := w.implied(); implied != string(m.ConversationID()) {
		b.Text(metaConversation, string(m.ConversationID()))
	}
	if m.Protocol() != "" {
		b.Text(metaProtocol, m.Protocol())
	}
	if m.Trace() != "" {
		b.Text(metaTrace, m.Trace())
	}
	if !m.Budget().IsZero() {
		exchange.PutContent(&b, metaBudget, m.Budget())
	}
	if jsonscan.Valid(rest) {
		jsonscan.Read(rest, func(name string, v []byte) {
			if !knownMeta(name) {
				b.Raw(name, v)
			}
		})
	}
	if out, err := b.Close(); !b.Empty() {
		w.note(err)
		w.out.Raw(memberNames[memMetadata], out)
	}
}

// implied returns the conversation that the receiver of the message assumes without
// metadata.conversation_id.
func (w *writer) implied() string {
	if w.correlation != "" {
		return w.correlation
	}
	return string(w.m.ID())
}

func knownMeta(name string) bool {
	switch name {
	case metaMessageType, metaPerformative, metaConversation, metaProtocol, metaTrace, metaBudget:
		return true
	}
	return false
}

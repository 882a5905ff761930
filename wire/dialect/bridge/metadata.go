package bridge

import (
	"bytes"

	"github.com/ribosome-agents/ribosome/performatives"
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
	v := d.in.values[memMetadata]
	if none(v) {
		return
	}
	if v[0] != '{' {
		d.invalid("metadata", "an object", v)
		return
	}
	d.shape.metadata = bytes.Clone(v)
	var typed, act, conversation, protocol, trace, budget []byte
	var rest performatives.Members
	over := false
	object(v, keep(&rest, &over), found{metaMessageType, &typed}, found{metaPerformative, &act}, found{metaConversation, &conversation},
		found{metaProtocol, &protocol}, found{metaTrace, &trace}, found{metaBudget, &budget})
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
	if !none(budget) {
		d.out.Budget = performatives.RawContent(bytes.Clone(budget))
	}
	if rest != nil {
		text, err := marshal(rest)
		if err != nil {
			d.fail(err)
			return
		}
		d.addMetadata(memberNames[memMetadata], text)
	}
}

// metaText reads a string of metadata. null counts as absent.
func (d *decoder) metaText(name string, v []byte) string {
	if !none(v) && !is(v, '"') {
		d.invalid("metadata."+name, "a string", v)
	}
	return text(v)
}

func (d *decoder) tooMany(field string) {
	d.refuse(performatives.CodeParsingError, field, field+": want no more than 1,024 unknown members")
}

// metadata writes the member metadata, if there is anything in it.
func (w *writer) metadata() {
	m := w.m
	switch {
	case w.exact() && w.shape.metadata != nil:
		w.out.raw(memberNames[memMetadata], w.shape.metadata)
		return
	case w.exact() && w.shape.blanks.has(memMetadata):
		w.out.raw(memberNames[memMetadata], []byte("null"))
		return
	}
	rest, more := m.Metadata(memberNames[memMetadata])
	if !more && m.MessageType() == "" && w.act == m.Performative() && w.implied() == string(m.ConversationID()) && m.Protocol() == "" &&
		m.Trace() == "" && m.Budget().IsZero() {
		return
	}
	b := openObject(nil)
	if m.MessageType() != "" {
		b.text(metaMessageType, m.MessageType())
	}
	if w.act != m.Performative() {
		b.text(metaPerformative, m.Performative().String())
	}
	if implied := w.implied(); implied != string(m.ConversationID()) {
		b.text(metaConversation, string(m.ConversationID()))
	}
	if m.Protocol() != "" {
		b.text(metaProtocol, m.Protocol())
	}
	if m.Trace() != "" {
		b.text(metaTrace, m.Trace())
	}
	if !m.Budget().IsZero() {
		b.content(metaBudget, m.Budget())
	}
	if valid(rest) {
		object(rest, func(name string, v []byte) {
			if !knownMeta(name) {
				b.raw(name, v)
			}
		})
	}
	out, err := b.close()
	w.note(err)
	if !b.empty {
		w.out.raw(memberNames[memMetadata], out)
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

package bridge

import (
	"bytes"
	"cmp"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// metaConversation is a member of metadata, an extension of the envelope (addenda §8) with what
// that has no place for, as are those of package exchange.
const metaConversation = "conversation_id"

// payloadRest is the member of a message's metadata with the members of the payload that the
// payload of an application's message type has no place for. No other dialect has a use for it.
const payloadRest = "payload"

// metadata reads the member metadata.
func (d *decoder) metadata() {
	v := d.Values[memMetadata]
	if jsonscan.IsNone(v) {
		return
	}
	if v[0] != '{' {
		d.Invalid("metadata", "an object", v)
	}
	d.shape.metadata = bytes.Clone(v)
	var rest performatives.Members
	m := d.members(metaRules, "metadata", v, &rest)
	typed, act, conversation, protocol, trace, budget := m[0], m[1], m[2], m[3], m[4], m[5]
	d.out.MessageType, d.out.Protocol, d.out.Trace = jsonscan.Text(typed), jsonscan.Text(protocol), jsonscan.Text(trace)
	d.out.ConversationID = cmp.Or(performatives.ConversationID(jsonscan.Text(conversation)), d.out.ConversationID)
	if name := jsonscan.Text(act); name != "" {
		var err error
		d.act, err = performatives.ParsePerformative(name)
		d.fail(err)
	}
	if !jsonscan.IsNone(budget) {
		d.out.Budget = performatives.RawContent(bytes.Clone(budget))
	}
	keepRest(&d.out.Metadata, memberNames[memMetadata], rest)
}

// keepRest adds a member to members: the object of the members of rest, if there are any.
func keepRest(members *performatives.Members, name string, rest performatives.Members) {
	if len(rest) > 0 {
		text, _ := jsonscan.Marshal(rest) // as they came
		exchange.Keep(members, name, text)
	}
}

// metadata writes the member metadata, if there is anything in it.
func (w *writer) metadata() {
	m := w.Message
	switch {
	case w.exact() && w.shape.metadata != nil:
		w.Raw(memberNames[memMetadata], w.shape.metadata)
		return
	case w.exact() && w.shape.blanks.Has(memMetadata):
		w.orNull(memberNames[memMetadata], nil)
		return
	}
	meta := make(performatives.Members)
	if rest, _ := m.Metadata(memberNames[memMetadata]); jsonscan.Valid(rest) {
		jsonscan.Read(rest, exchange.Rest(&meta))
		for _, r := range metaRules {
			delete(meta, r.Name)
		}
	}
	if m.MessageType() != "" {
		meta[exchange.MetaMessageType] = exchange.Quoted(m.MessageType())
	}
	if w.act != m.Performative() {
		meta[exchange.MetaAct] = exchange.Quoted(m.Performative().String())
	}
	if own := string(m.ConversationID()); own != cmp.Or(w.correlation, string(m.ID())) { // which the receiver assumes
		meta[metaConversation] = exchange.Quoted(own)
	}
	w.Fail(exchange.PutExtensions(meta, m))
	if len(meta) > 0 {
		w.Open(memberNames[memMetadata])
		w.Sorted(meta)
		w.End()
	}
}

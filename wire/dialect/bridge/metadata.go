package bridge

import (
	"bytes"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// metaConversation is a member of metadata, an extension of the envelope (addenda §8) with what
// that has no place for, as are those of package exchange.
const metaConversation = "conversation_id"

// metaNames has the members of metadata that have a field in a message.
var metaNames = exchange.Names{
	exchange.MetaMessageType, exchange.MetaAct, metaConversation, exchange.MetaProtocol, exchange.MetaTrace, exchange.MetaBudget,
}

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
	var typed, act, conversation, protocol, trace, budget []byte
	var rest performatives.Members
	d.rest("metadata", v, &rest, jsonscan.Find(exchange.MetaMessageType, &typed), jsonscan.Find(exchange.MetaAct, &act), jsonscan.Find(metaConversation, &conversation),
		jsonscan.Find(exchange.MetaProtocol, &protocol), jsonscan.Find(exchange.MetaTrace, &trace), jsonscan.Find(exchange.MetaBudget, &budget))
	d.out.MessageType = d.metaText(exchange.MetaMessageType, typed)
	d.out.Protocol = d.metaText(exchange.MetaProtocol, protocol)
	d.out.Trace = d.metaText(exchange.MetaTrace, trace)
	if id := d.metaText(metaConversation, conversation); id != "" {
		d.out.ConversationID = performatives.ConversationID(id)
	}
	if name := d.metaText(exchange.MetaAct, act); name != "" {
		var err error
		if d.act, err = performatives.ParsePerformative(name); err != nil {
			d.fail(err)
		}
	}
	if !jsonscan.IsNone(budget) {
		d.out.Budget = performatives.RawContent(bytes.Clone(budget))
	}
	if rest != nil {
		text, _ := jsonscan.Marshal(rest) // as they came
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

// rest reads an object of that path: the members of want into their variables, the others into
// rest.
func (d *decoder) rest(path string, object []byte, rest *performatives.Members, want ...jsonscan.Found) {
	over := false
	jsonscan.Read(object, exchange.Rest(rest, &over), want...)
	if over {
		d.Refuse(&performatives.Refusal{Code: performatives.CodeParsingError, Field: path, Text: path + ": want no more than 1,024 unknown members"})
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
		w.null(memberNames[memMetadata])
		return
	}
	meta := make(performatives.Members)
	if rest, _ := m.Metadata(memberNames[memMetadata]); jsonscan.Valid(rest) {
		jsonscan.Read(rest, exchange.Rest(&meta, nil))
	}
	for _, name := range metaNames {
		delete(meta, name)
	}
	if m.MessageType() != "" {
		meta[exchange.MetaMessageType] = exchange.Quoted(m.MessageType())
	}
	if w.act != m.Performative() {
		meta[exchange.MetaAct] = exchange.Quoted(m.Performative().String())
	}
	if own := string(m.ConversationID()); w.implied() != own {
		meta[metaConversation] = exchange.Quoted(own)
	}
	w.Fail(exchange.PutExtensions(meta, m))
	if len(meta) > 0 {
		w.Open(memberNames[memMetadata])
		w.Sorted(meta)
		w.End()
	}
}

// implied returns the conversation that the receiver of the message assumes without
// metadata.conversation_id.
func (w *writer) implied() string {
	if w.correlation != "" {
		return w.correlation
	}
	return string(w.Message.ID())
}

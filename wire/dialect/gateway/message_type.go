package gateway

import (
	"bytes"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// The members of a _meta: the message type of an application (addenda §8), the act where neither
// the method nor the kind of answer implies it, and the progress token.
const (
	memberMeta       = "_meta"
	metaMessageType  = "message_type"
	metaPerformative = "performative"
	metaToken        = "progressToken"

	pathParams = "mcp_payload.params"
	pathMeta   = pathParams + "." + memberMeta
)

// messageType is what a _meta says of the type of a message.
type messageType struct {
	name string                     // empty = the message has none
	act  performatives.Performative // zero = the usual act of the place
}

// readMessageType reads the message type from a _meta at that path, with which the field of a
// refusal begins.
func readMessageType(f *exchange.Fault, meta []byte, path string) (t messageType) {
	var name, act []byte
	jsonscan.Read(meta, nil, jsonscan.Find(metaMessageType, &name), jsonscan.Find(metaPerformative, &act))
	if jsonscan.IsNone(name) {
		return t
	}
	field := path + "." + metaMessageType
	t.name = jsonscan.Text(name)
	if !jsonscan.Is(name, '"') {
		f.Refuse(exchange.Invalid(field, "a string", name))
	} else if bad := performatives.CheckMessageType(t.name); bad != nil {
		f.Refuse(exchange.Renamed(bad, map[string]string{"message_type": field}))
	}
	if !jsonscan.IsNone(act) {
		var err error
		if t.act, err = performatives.ParsePerformative(jsonscan.Text(act)); err != nil {
			f.WrongAs(performatives.CodeUnknownPerformative, path+"."+metaPerformative, "the name of an act")
		}
	}
	return t
}

// decodeTyped returns the payload of a message with a message type. It refuses an invalid one.
func (c *codec) decodeTyped(r *rpc, t messageType, text []byte) any {
	payload, err := c.session.Registry.DecodeTyped(t.act, t.name, "", text)
	if err != nil {
		r.Refuse(wire.AsRefusal(err))
	}
	return payload
}

// withMessageType returns a JSON object with the message type of m in its _meta, and with the act
// of m unless that is usual. It returns the object for a message without a message type.
func withMessageType(object []byte, m *performatives.Message, usual performatives.Performative) []byte {
	if m.MessageType() == "" {
		return object
	}
	var meta []byte
	b := jsonscan.OpenObject(nil)
	jsonscan.Read(object, b.Raw, jsonscan.Find(memberMeta, &meta))
	b.Open(memberMeta)
	writeMessageType(&b, m, usual)
	jsonscan.Read(meta, b.Raw, jsonscan.Find(metaMessageType, new([]byte)), jsonscan.Find(metaPerformative, new([]byte)))
	b.End()
	return append(b.JSON, '}')
}

// putMessageType writes a _meta with the message type of m, if that has one.
func putMessageType(b *jsonscan.Builder, m *performatives.Message, usual performatives.Performative) {
	if m.MessageType() != "" {
		b.Open(memberMeta)
		writeMessageType(b, m, usual)
		b.End()
	}
}

// writeMessageType writes the members of a _meta for the message type of m.
func writeMessageType(b *jsonscan.Builder, m *performatives.Message, usual performatives.Performative) {
	b.Text(metaMessageType, m.MessageType())
	if act := m.Performative(); act != usual {
		b.Text(metaPerformative, act.String())
	}
}

// withoutMessageType returns a copy of a JSON value. If it is an object, it is without the members
// of its _meta that this package reads, and without a _meta that has no others.
func withoutMessageType(text []byte) []byte {
	if !jsonscan.Is(text, '{') {
		return bytes.Clone(text)
	}
	b := jsonscan.OpenObject(nil)
	jsonscan.Read(text, func(name string, v []byte) {
		if name == memberMeta {
			if v = metaRest(v); v == nil {
				return
			}
		}
		b.Raw(name, v)
	})
	return append(b.JSON, '}')
}

// metaRest returns a _meta without the members that this package reads, or nil where
// it has no others.
func metaRest(meta []byte) []byte {
	b := jsonscan.OpenObject(nil)
	jsonscan.Read(meta, b.Raw,
		jsonscan.Find(metaToken, new([]byte)), jsonscan.Find(metaMessageType, new([]byte)), jsonscan.Find(metaPerformative, new([]byte)))
	if b.Empty() {
		return nil
	}
	return append(b.JSON, '}')
}

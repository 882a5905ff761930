package gateway

import (
	"bytes"
	"strings"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// The members of a _meta that carry the message type of an application (addenda §8),
// and the act where the method or the kind of answer does not imply it.
const (
	memberMeta       = "_meta"
	metaMessageType  = "message_type"
	metaPerformative = "performative"
	metaToken        = "progressToken"
)

// messageType is what a _meta says of the type of a message.
type messageType struct {
	name string                     // empty = the message has none
	act  performatives.Performative // zero = the usual act of the place
}

// readMessageType reads the message type from a _meta at that path. The path is the
// beginning of the field of a refusal.
func readMessageType(meta []byte, path string) (messageType, *performatives.Refusal) {
	var name, act []byte
	jsonscan.Read(meta, nil, jsonscan.Find(metaMessageType, &name), jsonscan.Find(metaPerformative, &act))
	if name == nil || jsonscan.IsNull(name) {
		return messageType{}, nil
	}
	field := path + "." + metaMessageType
	if !jsonscan.Is(name, '"') {
		return messageType{}, &performatives.Refusal{
			Code: performatives.CodeInvalidPayload, Field: field, Text: field + ": want a string, got " + jsonscan.KindOf(name),
		}
	}
	t := messageType{name: jsonscan.Text(name)}
	if r := messageTypeRefusal(t.name, field); r != nil {
		return messageType{}, r
	}
	if act == nil || jsonscan.IsNull(act) {
		return t, nil
	}
	var err error
	if t.act, err = performatives.ParsePerformative(jsonscan.Text(act)); err != nil {
		return messageType{}, &performatives.Refusal{
			Code: performatives.CodeUnknownPerformative, Field: path + "." + metaPerformative,
			Text: path + "." + metaPerformative + ": want the name of an act",
		}
	}
	return t, nil
}

// messageTypeRefusal returns the refusal of a name that cannot be a message type, for
// that field, or nil.
func messageTypeRefusal(name, field string) *performatives.Refusal {
	err := performatives.CheckMessageType(name)
	if err == nil {
		return nil
	}
	r := *wire.AsRefusal(err)
	r.Text = field + strings.TrimPrefix(r.Text, r.Field)
	r.Field = field
	return &r
}

// withMessageType returns the JSON object text with the message type of m in its _meta,
// and with the act of m unless that is usual. It returns text for a message without a
// message type.
func withMessageType(text []byte, m *performatives.Message, usual performatives.Performative) []byte {
	if m.MessageType() == "" {
		return text
	}
	var meta []byte
	out := []byte{'{'}
	jsonscan.Read(text, func(name string, v []byte) {
		out = append(append(append(jsonscan.AppendQuoted(out, name), ':'), v...), ',')
	}, jsonscan.Find(memberMeta, &meta))
	out = append(append(out, `"`+memberMeta+`":{`...), messageTypeMembers(m, usual)...)
	jsonscan.Read(meta, func(name string, v []byte) {
		out = append(append(jsonscan.AppendQuoted(append(out, ','), name), ':'), v...)
	}, jsonscan.Find(metaMessageType, new([]byte)), jsonscan.Find(metaPerformative, new([]byte)))
	return append(out, '}', '}')
}

// messageTypeMembers returns the members of a _meta for the message type of m.
func messageTypeMembers(m *performatives.Message, usual performatives.Performative) []byte {
	out := jsonscan.AppendQuoted([]byte(`"`+metaMessageType+`":`), m.MessageType())
	if act := m.Performative(); act != usual {
		out = jsonscan.AppendQuoted(append(out, `,"`+metaPerformative+`":`...), act.String())
	}
	return out
}

// withoutMessageType returns a copy of the JSON object text without the members of its
// _meta that this package reads, and without a _meta that has no others.
func withoutMessageType(text []byte) []byte {
	if !jsonscan.Is(text, '{') {
		return bytes.Clone(text)
	}
	out := []byte{'{'}
	jsonscan.Read(text, func(name string, v []byte) {
		if name == memberMeta {
			if v = metaRest(v); v == nil {
				return
			}
		}
		out = append(append(append(jsonscan.AppendQuoted(out, name), ':'), v...), ',')
	})
	return append(bytes.TrimSuffix(out, []byte{','}), '}')
}

// metaRest returns a _meta without the members that this package reads, or nil where
// it has no others.
func metaRest(meta []byte) []byte {
	if !jsonscan.Is(meta, '{') {
		return nil
	}
	rest := performatives.Members{}
	jsonscan.Read(meta, func(name string, v []byte) {
		if len(rest) < maxMembers {
			rest[name] = v
		}
	}, jsonscan.Find(metaToken, new([]byte)), jsonscan.Find(metaMessageType, new([]byte)), jsonscan.Find(metaPerformative, new([]byte)))
	if len(rest) == 0 {
		return nil
	}
	out, err := jsonscan.Marshal(rest)
	if err != nil {
		return nil // cannot be: it is part of valid JSON
	}
	return out
}

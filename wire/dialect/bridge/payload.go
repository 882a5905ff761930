package bridge

import (
	"bytes"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// payload reads the payload, whose members depend on the message type.
func (d *decoder) payload() {
	v := d.Values[memPayload]
	if !jsonscan.Is(v, '{') {
		d.Invalid("payload", "an object", v)
		return
	}
	if v = d.inflated(v); d.Refusal != nil {
		return
	}
	d.Values[memPayload] = v
	v = bytes.Clone(v) // the message keeps parts of it
	d.shape.payload = v
	switch d.kind {
	case kindHandshakeRequest:
		d.handshakeRequest(v)
	case kindHandshakeResponse:
		d.handshakeResponse(v)
	case kindRequest:
		d.request(v)
	case kindResponse:
		d.response(v)
	case kindNotification:
		d.notification(v)
	case kindError:
		d.error(v)
	case endOfKinds:
	}
}

// field is the path of a member of the payload.
func field(name string) string { return "payload." + name }

// name reads a member of the payload that is a non-empty string.
func (d *decoder) name(member, what string, v []byte) string {
	s := jsonscan.Text(v)
	switch {
	case !jsonscan.Is(v, '"'):
		d.Invalid(field(member), what, v)
	case s == "":
		d.Wrong(field(member), "%s, got an empty string", what)
	}
	return s
}

// kinded reads a member of the payload that is null, absent, or begins with one of those
// characters.
func (d *decoder) kinded(member, what, begins string, v []byte) {
	if !jsonscan.IsNone(v) && bytes.IndexByte([]byte(begins), v[0]) < 0 {
		d.Invalid(field(member), what, v)
	}
}

// typed sets the payload of an application's message type, and keeps the members of the payload
// that have no place in it.
func (d *decoder) typed(act performatives.Performative, content []byte, rest performatives.Members) {
	d.out.Performative = act
	if jsonscan.IsNull(content) {
		content = nil
	}
	if len(content) > 0 && content[0] != '{' {
		d.Wrong("payload", "an object as the content of the message type")
		return
	}
	if content == nil && d.out.MessageType == "" && performatives.CheckPayload(act, nil) != nil {
		content = []byte("{}") // the act has a payload, all of whose members are absent
	}
	p, err := d.codec.opts.Registry.DecodeTyped(act, d.out.MessageType, "", content)
	if err != nil {
		d.fail(err)
		return
	}
	d.out.Payload = p
	if len(rest) > 0 {
		text, err := jsonscan.Marshal(rest)
		if err != nil {
			d.fail(err)
			return
		}
		exchange.Keep(&d.out.Metadata, payloadRest, text)
	}
}

// other reports whether the act of a message is not the usual one of its message type, or it has
// an application's message type: then its content is the act's, or the application's.
func (d *decoder) other(usual performatives.Performative) bool {
	return d.out.MessageType != "" || d.act != 0 && d.act != usual
}

// actOr returns the act that the metadata names, or usual.
func (d *decoder) actOr(usual performatives.Performative) performatives.Performative {
	if d.act != 0 {
		return d.act
	}
	return usual
}

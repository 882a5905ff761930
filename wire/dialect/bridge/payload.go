package bridge

import (
	"bytes"
	"fmt"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
)

// payload reads the payload, whose members depend on the message type.
func (d *decoder) payload() {
	v := d.in.values[memPayload]
	if !jsonscan.Is(v, '{') {
		d.invalid("payload", "an object", v)
		return
	}
	if v = d.inflated(v); d.refusal != nil {
		return
	}
	d.in.values[memPayload] = v
	d.shape.payload = bytes.Clone(v)
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
		d.invalid(field(member), what, v)
	case s == "":
		d.refuse(performatives.CodeInvalidPayload, field(member), fmt.Sprintf("%s: want %s, got an empty string", field(member), what))
	}
	return s
}

// kinded reads a member of the payload that is null, absent, or begins with one of those characters.
func (d *decoder) kinded(member, what, begins string, v []byte) {
	if !jsonscan.IsNone(v) && bytes.IndexByte([]byte(begins), v[0]) < 0 {
		d.invalid(field(member), what, v)
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
		d.refuse(performatives.CodeInvalidPayload, "payload", "payload: want an object as the content of the message type")
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
		d.addMetadata(payloadRest, text)
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

// put adds a copy of a member to m, which it makes if it is nil. An absent member is not added.
func put(m *performatives.Members, name string, v []byte) {
	if v == nil {
		return
	}
	if *m == nil {
		*m = make(performatives.Members)
	}
	(*m)[name] = bytes.Clone(v)
}

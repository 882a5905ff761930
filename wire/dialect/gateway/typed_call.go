package gateway

import (
	"cmp"
	"strings"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// openingType returns the message type and the act of a call of the tool name: those
// that its _meta names, else those that are registered under the name of the tool. The
// message type is empty for an ordinary task.
func (c *codec) openingType(name string, meta []byte) (messageType, *performatives.Refusal) {
	const path = "mcp_payload.params." + memberMeta
	t, refusal := readMessageType(meta, path)
	if refusal != nil {
		return t, refusal
	}
	if t.act != 0 && !exchange.Opening.Has(t.act) {
		return t, exchange.Wrong(path+"."+metaPerformative, "TASK_REQUEST or REQUEST, got %s", t.act)
	}
	act, known := c.session.Registry.MessageTypeAct(name)
	if t.name == "" && known && exchange.Opening.Has(act) {
		return messageType{name, act}, nil
	}
	if act, known = c.session.Registry.MessageTypeAct(t.name); t.act == 0 && known && exchange.Opening.Has(act) {
		t.act = act
	}
	t.act = cmp.Or(t.act, performatives.ActTaskRequest)
	return t, nil
}

// typedCall serves a call that has a message type, for the receiver to. Its arguments, which the
// message keeps, are the payload of the application. name is the member of params that has
// them; empty means params itself.
func (c *codec) typedCall(e *envelope, r *rpc, o *origin, to performatives.AgentID, t messageType, arguments []byte, name string) wire.Inbound {
	if len(arguments) == 0 || jsonscan.IsNull(arguments) {
		arguments = []byte("{}")
	}
	env := performatives.Envelope{Receiver: to, Performative: t.act, MessageType: t.name}
	payload, err := c.session.Registry.DecodeTyped(t.act, t.name, "", arguments)
	if err == nil {
		env.Payload = payload
		err = performatives.CheckPayload(t.act, payload)
	}
	if err != nil {
		return c.refused(e, o, exchange.Renamed(err, map[string]string{"payload": strings.TrimSuffix("mcp_payload.params."+name, ".")}, true))
	}
	return c.serve(e, r, o, env, &call{Token: progressToken(r.readMeta())})
}

// objectOf returns text if it is a JSON object, and else an object with text as the
// member name.
func objectOf(text []byte, name string) []byte {
	if jsonscan.Is(text, '{') {
		return text
	}
	return append(append([]byte(`{"`+name+`":`), text...), '}')
}

// typedParams writes the params of the call for a request with a message type: the tool has the
// name of the message type, and the payload is its arguments.
func typedParams(b *jsonscan.Builder, m *performatives.Message, q *request) {
	b.Text("name", m.MessageType())
	if m.Payload() != nil {
		arguments, err := exchange.Object(Name, m.Payload())
		if err != nil {
			b.Fail(err)
		}
		b.Raw("arguments", arguments)
	}
	b.Open(memberMeta)
	q.writeMeta(b)
	writeMessageType(b, m, performatives.ActTaskRequest)
	b.End()
}

package gateway

import (
	"bytes"
	"cmp"
	"strings"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// toolCall reads the parameters of tools/call.
func (c *codec) toolCall(e *envelope, r *rpc, o *origin) wire.Inbound {
	var name, arguments, description, meta []byte
	task := performatives.TaskRequest{}
	jsonscan.Read(r.params, public(&task.Extra), jsonscan.Find("name", &name), jsonscan.Find("arguments", &arguments), jsonscan.Find("task_description", &description), jsonscan.Find(memberMeta, &meta))
	r.read, r.meta = true, meta
	switch {
	case !jsonscan.Is(name, '"') || len(name) == 2:
		r.Refuse(invalidParams("name", "a non-empty string", name))
	case !isObjectOrNone(arguments):
		r.Refuse(invalidParams("arguments", "an object", arguments))
	case !jsonscan.IsNone(description) && !jsonscan.Is(description, '"'):
		r.Refuse(invalidParams("task_description", "a string", description))
	case !isObjectOrNone(meta):
		r.Refuse(invalidParams(memberMeta, "an object", meta))
	case jsonscan.Is(arguments, '{'):
		task.Parameters = performatives.RawContent(bytes.Clone(arguments))
	}
	called := jsonscan.Text(name)
	to, tool := c.route(e, r, c.queried(e, methodCall), called, "params.name")
	if to == "" {
		to, tool = performatives.AgentID(Namespace(e.target, methodCall)), called
	}
	if t := c.openingType(r, tool); t.name != "" {
		return c.typedCall(e, r, o, to, t, bytes.Clone(arguments), "arguments")
	}
	task.TaskType, task.Description = tool, jsonscan.Text(description)
	if rest := metaRest(meta); rest != nil {
		exchange.Keep(&task.Extra, memberMeta, rest)
	}
	return c.serve(e, r, o, performatives.Envelope{Receiver: to, Payload: task}, &call{Token: progressToken(meta)})
}

// invalidParams is the refusal of parameters (-32602).
func invalidParams(name, want string, got []byte) *performatives.Refusal {
	return exchange.Invalid(strings.TrimSuffix("mcp_payload.params."+name, "."), want, got)
}

// isObjectOrNone reports whether a member is an object, null or absent.
func isObjectOrNone(v []byte) bool { return jsonscan.IsNone(v) || jsonscan.Is(v, '{') }

// metaOf returns the _meta of an object, or nil.
func metaOf(object []byte) []byte { return jsonscan.Member(object, memberMeta) }

// readMeta returns params._meta, or nil.
func (r *rpc) readMeta() []byte {
	if !r.read {
		r.read, r.meta = true, metaOf(r.params)
	}
	return r.meta
}

// progressToken returns a copy of the progress token of a _meta. It is nil if there is none, or
// if the value cannot be a token.
func progressToken(meta []byte) (token []byte) {
	token = jsonscan.Member(meta, metaToken)
	if !jsonscan.Is(token, '"') && !jsonscan.IsNumber(token) || len(token) > maxID {
		return nil
	}
	return bytes.Clone(token)
}

// openingType returns the message type and the act of a call of the tool name: those
// that its _meta names, else those that are registered under the name of the tool. The
// message type is empty for an ordinary task.
func (c *codec) openingType(r *rpc, name string) messageType {
	t := readMessageType(&r.Fault, r.readMeta(), pathMeta)
	if t.act != 0 && !exchange.Opening.Has(t.act) {
		r.Refuse(exchange.Wrong(pathMeta+"."+metaPerformative, "TASK_REQUEST or REQUEST, got %s", t.act))
	}
	act, known := c.session.Registry.MessageTypeAct(name)
	if t.name == "" && known && exchange.Opening.Has(act) {
		return messageType{name, act}
	}
	if act, known = c.session.Registry.MessageTypeAct(t.name); t.act == 0 && known && exchange.Opening.Has(act) {
		t.act = act
	}
	t.act = cmp.Or(t.act, performatives.ActTaskRequest)
	return t
}

// typedCall serves a call that has a message type, for the receiver to. Its arguments, which the
// message keeps, are the payload of the application. name is the member of params that has
// them; empty means params itself.
func (c *codec) typedCall(e *envelope, r *rpc, o *origin, to performatives.AgentID, t messageType, arguments []byte, name string) wire.Inbound {
	if jsonscan.IsNone(arguments) {
		arguments = []byte("{}")
	}
	payload, err := c.session.Registry.DecodeTyped(t.act, t.name, "", arguments)
	if err == nil {
		err = performatives.CheckPayload(t.act, payload)
	}
	if err != nil {
		r.Refuse(exchange.Renamed(err, map[string]string{"payload": strings.TrimSuffix("mcp_payload.params."+name, ".")}))
	}
	env := performatives.Envelope{Receiver: to, Performative: t.act, MessageType: t.name, Payload: payload}
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
		b.Fail(err)
		b.Raw("arguments", arguments)
	}
	b.Open(memberMeta)
	q.writeMeta(b)
	writeMessageType(b, m, performatives.ActTaskRequest)
	b.End()
}

package gateway

import (
	"bytes"
	"cmp"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/rule"
)

// toolParams has the members of the params of tools/call.
var toolParams = []rule.Member{
	rule.Required("name", &rule.Kind{Want: rule.Name.Want, Fits: rule.Name.Fits}),
	rule.Optional("arguments", rule.Object), rule.Optional("task_description", rule.Text), rule.Optional(memberMeta, rule.Object),
}

// toolCall reads the parameters of tools/call.
func (c *codec) toolCall(e *envelope, r *rpc, o *origin) wire.Inbound {
	var room [4][]byte
	task := performatives.TaskRequest{}
	values, bad := rule.Read(room[:0], toolParams, pathParams, r.params, public(&task.Extra))
	r.Refuse(bad)
	called, arguments, meta := jsonscan.Text(values[0]), values[1], values[3]
	if r.read, r.meta = true, meta; jsonscan.Is(arguments, '{') {
		task.Parameters = performatives.RawContent(bytes.Clone(arguments))
	}
	to, tool := c.route(e, r, c.queried(e, methodCall), called, "params.name")
	if to == "" {
		to, tool = performatives.AgentID(Namespace(e.target, methodCall)), called
	}
	if t := c.openingType(r, tool); t.name != "" {
		return c.typedCall(e, r, o, to, t, bytes.Clone(arguments), pathParams+".arguments")
	}
	task.TaskType, task.Description = tool, jsonscan.Text(values[2])
	if rest := metaRest(meta); rest != nil {
		exchange.Keep(&task.Extra, memberMeta, rest)
	}
	return c.serve(e, r, o, performatives.Envelope{Receiver: to, Payload: task}, &call{Token: progressToken(meta)})
}

// readMeta returns params._meta, or nil.
func (r *rpc) readMeta() []byte {
	if !r.read {
		r.read, r.meta = true, jsonscan.Member(r.params, memberMeta)
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
	name = cmp.Or(t.name, name)
	if act, known := c.session.Registry.MessageTypeAct(name); known && exchange.Opening.Has(act) {
		t = messageType{name, cmp.Or(t.act, act)}
	}
	t.act = cmp.Or(t.act, performatives.ActTaskRequest)
	return t
}

// typedCall serves a call that has a message type, for the receiver to. Its arguments, which the
// message keeps, are the payload of the application. path is that of the member that has them.
func (c *codec) typedCall(e *envelope, r *rpc, o *origin, to performatives.AgentID, t messageType, arguments []byte, path string) wire.Inbound {
	if jsonscan.IsNone(arguments) {
		arguments = []byte("{}")
	}
	payload, err := c.session.Registry.DecodeTyped(t.act, t.name, "", arguments)
	if err == nil {
		err = performatives.CheckPayload(t.act, payload)
	}
	if err != nil {
		r.Refuse(exchange.Renamed(err, map[string]string{"payload": path}))
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

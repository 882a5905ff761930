package gateway

import (
	"cmp"
	"strings"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// opensTask reports whether an act may travel as a call of a tool.
func opensTask(act performatives.Performative) bool {
	return act == performatives.ActTaskRequest || act == performatives.ActRequest
}

// openingType returns the message type and the act of a call of the tool name: those
// that its _meta names, else those that are registered under the name of the tool. The
// message type is empty for an ordinary task.
func (c *codec) openingType(name string, meta []byte) (messageType, *performatives.Refusal) {
	const path = "mcp_payload.params." + memberMeta
	t, refusal := readMessageType(meta, path)
	if refusal != nil {
		return t, refusal
	}
	if t.act != 0 && !opensTask(t.act) {
		field := path + "." + metaPerformative
		return t, &performatives.Refusal{
			Code: performatives.CodeInvalidPayload, Field: field, Text: field + ": want TASK_REQUEST or REQUEST, got " + t.act.String(),
		}
	}
	act, known := c.session.Registry.MessageTypeAct(name)
	if t.name == "" && known && opensTask(act) {
		return messageType{name, act}, nil
	}
	if act, known = c.session.Registry.MessageTypeAct(t.name); t.act == 0 && known && opensTask(act) {
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
	token := progressToken(r.readMeta())
	env := performatives.Envelope{Receiver: to, Performative: t.act, MessageType: t.name}
	payload, err := c.session.Registry.DecodeTyped(t.act, t.name, "", arguments)
	if err == nil {
		env.Payload = payload
		err = performatives.CheckPayload(t.act, payload)
	}
	if err != nil {
		return c.refused(e, o, inArguments(err, name))
	}
	return c.serve(e, r, o, env, &call{Token: token})
}

// inArguments returns the refusal of a payload as that of the arguments of a call.
func inArguments(err error, name string) *performatives.Refusal {
	r := *wire.AsRefusal(err)
	field := "mcp_payload.params"
	if name != "" {
		field += "." + name
	}
	r.Text = field + strings.TrimPrefix(r.Text, "payload")
	r.Field = field + strings.TrimPrefix(r.Field, "payload")
	return &r
}

// objectOf returns text if it is a JSON object, and else an object with text as the
// member name.
func objectOf(text []byte, name string) []byte {
	if jsonscan.Is(text, '{') {
		return text
	}
	return append(append([]byte(`{"`+name+`":`), text...), '}')
}

// typedParams returns the params of the call for a request with a message type: the tool
// has the name of the message type, and the payload is its arguments.
func typedParams(m *performatives.Message, token string) ([]byte, error) {
	dst := append([]byte(`{"name":"`), m.MessageType()...) // its grammar needs no escapes
	dst = append(dst, '"')
	if m.Payload() != nil {
		arguments, err := objectJSON(m.Payload())
		if err != nil {
			return nil, err
		}
		dst = append(append(dst, `,"arguments":`...), arguments...)
	}
	dst = appendTrace(append(append(dst, `,"`+memberMeta+`":{"`+metaToken+`":`...), token...), m.Trace())
	dst = append(append(dst, ','), messageTypeMembers(m, performatives.ActTaskRequest)...)
	return append(dst, '}', '}'), nil
}

// objectJSON returns the JSON of a payload, which must be an object.
func objectJSON(payload any) ([]byte, error) {
	text, err := jsonscan.Marshal(payload)
	switch {
	case err != nil:
		return nil, err
	case !jsonscan.Valid(text) || !jsonscan.Is(text, '{'):
		return nil, errNoJSON
	}
	return text, nil
}

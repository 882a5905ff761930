package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// usualAnswer is the act of the result that answers a request, unless its _meta names
// another.
func usualAnswer(request performatives.Performative) performatives.Performative {
	if request == performatives.ActRequest {
		return performatives.ActInform
	}
	return performatives.ActInformResult
}

// results has the acts that may travel as the result of a call. Any other act is an error,
// progress, or has no place in JSON-RPC.
var results = exchange.ActsOf(
	performatives.ActInformResult, performatives.ActInformCapabilities, performatives.ActInform, performatives.ActInformIf,
	performatives.ActInformRef, performatives.ActConfirm, performatives.ActDisconfirm,
)

// typedResult returns the result of a call for an answer with a message type: as the
// payload of the application for ns.method, and in structuredContent for tools/call.
func typedResult(m *performatives.Message, call *call) ([]byte, error) {
	payload, err := exchange.Object(Name, m.Payload())
	if err != nil {
		return nil, err
	}
	usual := usualAnswer(call.Act)
	if call.Method != methodCall {
		return withMessageType(payload, m, usual), nil
	}
	p, err := exchange.PayloadAs[performatives.InformResult](m)
	out := map[string]any{resultIsError: err == nil && p.Status == performatives.StatusFailure, resultContent: []textContent{}}
	if m.Payload() != nil {
		out[resultContent], out[resultStructured] = content("", payload), json.RawMessage(payload)
	}
	text, err := jsonscan.Marshal(out)
	return withMessageType(text, m, usual), err
}

// typedAnswer makes the answer that a result with a message type is to a request of
// ours. It reports false for a result without one.
func (c *codec) typedAnswer(e *envelope, r *rpc, q *request) (m *performatives.Message, ok bool, err error) {
	const path = "mcp_payload.result." + memberMeta
	t, refusal := readMessageType(metaOf(r.result), path)
	usual := usualAnswer(q.message.Performative())
	switch {
	case refusal != nil:
		return nil, true, refusal
	case t.name == "" && usual == performatives.ActInformResult:
		return nil, false, nil
	case t.name == "":
		m, err = c.untypedAnswer(e, r, q)
		return m, true, err
	case t.act == 0:
		t.act = usual
	}
	if !results.Has(t.act) {
		return nil, true, fmt.Errorf("gateway: a result cannot be %s", t.act)
	}
	payload, err := c.session.Registry.DecodeTyped(t.act, t.name, "", payloadOf(r.result))
	if err != nil {
		return nil, true, err
	}
	m, err = c.typedReply(e, r, q.message, t, payload)
	return m, true, err
}

// untypedAnswer makes the answer to a REQUEST of ours that a result without a message
// type is: a FAILURE for the error of a tool, else an INFORM.
func (c *codec) untypedAnswer(e *envelope, r *rpc, q *request) (*performatives.Message, error) {
	if p := resultOf(r.result); p.Status == performatives.StatusFailure {
		why := &performatives.Refusal{Code: performatives.CodeFailed, Text: shortened(p.Summary)}
		return c.refusal(e, r, q, why, nil)
	}
	payload := payloadOf(r.result)
	if payload == nil { // a tool whose answer is its content
		payload = bytes.Clone(r.result)
	}
	return c.reply(e, r, q.message, performatives.ActInform, performatives.Raw(payload))
}

// payloadOf returns the payload of the application in a result: structuredContent where
// it has the form of a tool's, else all of it. It is nil for a tool without any.
func payloadOf(result []byte) []byte {
	var contents, structured []byte
	jsonscan.Read(result, nil, jsonscan.Find(resultContent, &contents), jsonscan.Find(resultStructured, &structured))
	switch {
	case !jsonscan.Is(contents, '['):
		return objectOf(withoutMessageType(result), "result")
	case structured == nil || jsonscan.IsNull(structured):
		return nil
	}
	return objectOf(bytes.Clone(structured), "result")
}

// typedReply is [codec.reply] with a message type, which may be empty.
func (c *codec) typedReply(e *envelope, r *rpc, to *performatives.Message, t messageType, payload any) (*performatives.Message, error) {
	if t.name == "" {
		return c.reply(e, r, to, t.act, payload)
	}
	m, err := c.reply(e, r, to, t.act, performatives.Raw{}) // a payload that fits every act
	if err != nil {
		return nil, err
	}
	return m.With(func(env *performatives.Envelope) { env.MessageType, env.Payload = t.name, payload })
}

// refusalType returns the _meta and the payload that the data of an error has for a
// refusal with a message type, or nothing.
func refusalType(m *performatives.Message) (meta, payload json.RawMessage) {
	if m.MessageType() == "" {
		return nil, nil
	}
	b := jsonscan.OpenObject(nil)
	writeMessageType(&b, m, m.Performative())
	meta, _ = b.Close() // its members are texts
	if m.Payload() != nil {
		payload, _ = exchange.Object(Name, m.Payload()) // without it, the error still has its code and text
	}
	return meta, payload
}

// typedRefusal reads the data of an error: the message type of the refusal, and its
// payload for that act. The payload is nil where the data has none that fits.
func (c *codec) typedRefusal(act performatives.Performative, data []byte) (name string, payload any) {
	var text []byte
	jsonscan.Read(data, nil, jsonscan.Find("payload", &text))
	t, refusal := readMessageType(metaOf(data), memberMeta)
	if refusal != nil || t.name == "" {
		return "", nil
	}
	payload, err := c.session.Registry.DecodeTyped(act, t.name, "", text)
	if err != nil || payload == nil || performatives.CheckPayload(act, payload) != nil {
		return t.name, nil
	}
	return t.name, payload
}

// listedReply makes the answer to tools/list, whose last page is the result of r.
func (c *codec) listedReply(e *envelope, r *rpc, q *request) (*performatives.Message, error) {
	t, refusal := readMessageType(metaOf(r.result), "mcp_payload.result."+memberMeta)
	if refusal != nil {
		return nil, refusal
	}
	t.act = performatives.ActInformCapabilities
	return c.typedReply(e, r, q.message, t, q.pages.listed(r.result))
}

package gateway

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// response reads the peer's answer to a request of this node: a JSON-RPC message, or the error of
// an envelope without one, whose correlation_id is the id of the envelope of the request. It gets
// no answer, even if it is invalid.
func (c *codec) response(e *envelope, r *rpc) wire.Inbound {
	field := "mcp_payload.id"
	c.mu.Lock()
	q := c.requests.Find("", idText(r.id))
	if e.payload == nil {
		field, q = "correlation_id", c.envelopes.Latest(idText(e.correlation))
	}
	if q != nil && q.Kind != methodList {
		c.requests.Remove(q)
	}
	c.mu.Unlock()
	if q == nil {
		return wire.Inbound{Token: e.token, Err: invalidRequest(field, field+": want the id of a request that waits for an answer")}
	}
	if q.Kind == methodList {
		if in, more := c.turn(e, r, q); more {
			return in
		}
	}
	delete(e.metadata, metadataCorrelation) // the message has InReplyTo instead
	if e.timestamp.IsZero() {               // of an invalid envelope
		e.timestamp = c.stamp().Time
	}
	m, err := c.answerTo(e, r, q)
	if c.offered.Load() == q {
		c.done.Store(true)
		c.offered.Store(nil)
	}
	if err != nil { // the initiator gets a refusal, since no other answer comes
		m, err = c.refusal(e, r, q, performatives.Refused(performatives.CodeFailed, "the peer's answer cannot be read"), nil)
	}
	in := received(e, r, nil, m, err)
	if q.message.Sender() == NamespaceSystem && in.Message != nil && in.Message.InReplyTo() != "" {
		in.Message = nil // a source that does not list its tools stays as it is
	}
	return in
}

// answerTo makes the message of an answer to a request of this node.
func (c *codec) answerTo(e *envelope, r *rpc, q *request) (*performatives.Message, error) {
	wrong := r.Refusal != nil || r.result == nil
	switch {
	case wrong && q.cancel == nil && q.pages.next != nil: // the pages before are valid
		r.Refusal = nil
		list := q.pages.listed(nil)
		list.Extra = performatives.Members{resultNextCursor: q.pages.next}
		return c.listed(e, r, q, messageType{act: performatives.ActInformCapabilities}, list)
	case r.Refusal != nil:
		return nil, r.Refusal
	case r.result == nil && q.cancel != nil:
		// The error is the receipt: the peer has ended the cancelled request.
		return c.reply(e, r, q.cancel, messageType{act: performatives.ActInform}, performatives.Receipt{Text: "the peer has ended the request"})
	case r.result == nil:
		refusal, data := refusalOf(r.fault)
		if q.Kind == methodRead && refusal.Code == performatives.CodeForbidden && jsonscan.Member(data, "reason_code") == nil {
			refusal.Code = performatives.CodeUnknownReference
		}
		return c.refusal(e, r, q, refusal, data)
	}
	t := readMessageType(&r.Fault, jsonscan.Member(r.result, memberMeta), "mcp_payload.result."+memberMeta)
	if r.Refusal != nil {
		return nil, r.Refusal
	}
	switch q.Kind {
	case methodInitialize:
		p, err := c.introduced(r.result)
		if err != nil {
			return c.refusal(e, r, q, wire.AsRefusal(err), nil)
		}
		return c.reply(e, r, q.message, messageType{act: performatives.ActInformCapabilities}, p)
	case methodList:
		t.act = performatives.ActInformCapabilities
		return c.listed(e, r, q, t, q.pages.listed(r.result))
	case methodRead:
		p, _ := exchange.PayloadAs[performatives.QueryRef](q.message) // see params
		return c.reply(e, r, q.message, messageType{act: performatives.ActInformRef}, performatives.InformRef{Reference: p.Reference, Value: valueOf(r.result)})
	}
	return c.resultReply(e, r, q, t)
}

// refusal makes the refusal of a request of this node.
func (c *codec) refusal(e *envelope, r *rpc, q *request, why *performatives.Refusal, data []byte) (*performatives.Message, error) {
	m := q.message.RefuseWith(cmp.Or(q.message.Receiver(), e.source), performatives.Stamp{ID: c.stamp().ID, Time: e.timestamp}, why)
	if m == nil {
		return nil, why
	}
	t, payload := c.typedRefusal(m.Performative(), data)
	return m.With(func(env *performatives.Envelope) {
		env.Metadata, env.MessageType = metadataFor(e, r), t
		switch {
		case payload != nil:
			env.Payload = payload
		case data != nil:
			env.Payload = performatives.RefusalWith(env.Payload, performatives.Members{"data": data})
		}
	})
}

// maxErrorText is the longest error text of a peer that is kept, in bytes.
const maxErrorText = 4096

// refusalOf reads a JSON-RPC error, or wire's error object. It uses data.reason_code, which
// is more exact than the code, if the two agree.
func refusalOf(fault []byte) (*performatives.Refusal, []byte) {
	code, data := jsonscan.Member(fault, "code"), jsonscan.Member(fault, "data")
	r := performatives.Refused(performatives.CodeFailed, shortened(jsonscan.Text(jsonscan.Member(fault, "message"))))
	r.RetryAfter = performatives.ParseRetryAfter(jsonscan.Member(data, performatives.MemberRetryAfter))
	words := ErrorCodes
	if jsonscan.Is(code, '"') {
		words = wire.ErrorCodes
	}
	if _, known := words.Code(idText(code)); known {
		r.Code = words.Read(idText(code), jsonscan.Text(jsonscan.Member(data, "reason_code")))
	}
	return r, bytes.Clone(data)
}

func shortened(s string) string {
	if len(s) <= maxErrorText {
		return s
	}
	return strings.ToValidUTF8(s[:maxErrorText], "")
}

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
var results = exchange.SetOf(
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
	if call.Kind == methodCall {
		p, _ := exchange.PayloadAs[performatives.InformResult](m) // its status, if it has one
		p = performatives.InformResult{Status: cmp.Or(p.Status, performatives.StatusSuccess), Details: performatives.ContentOf(m.Payload())}
		payload, err = resultJSON(p, true)
	}
	return withMessageType(payload, m, usualAnswer(call.Act)), err
}

// resultReply makes the answer to a call of ours that a result with that message type is.
func (c *codec) resultReply(e *envelope, r *rpc, q *request, t messageType) (*performatives.Message, error) {
	usual := usualAnswer(q.message.Performative())
	switch {
	case t.name == "" && usual == performatives.ActInformResult:
		return c.reply(e, r, q.message, messageType{act: usual}, resultOf(r.result))
	case t.name == "": // the answer to a REQUEST: a FAILURE for the error of a tool, else an INFORM
		if p := resultOf(r.result); p.Status == performatives.StatusFailure {
			return c.refusal(e, r, q, performatives.Refused(performatives.CodeFailed, shortened(p.Summary)), nil)
		}
		payload := payloadOf(r.result)
		if payload == nil { // a tool whose answer is its content
			payload = bytes.Clone(r.result)
		}
		return c.reply(e, r, q.message, messageType{act: usual}, performatives.Raw(payload))
	}
	if t.act = cmp.Or(t.act, usual); !results.Has(t.act) {
		return nil, fmt.Errorf("gateway: a result cannot be %s", t.act)
	}
	return c.reply(e, r, q.message, t, c.decodeTyped(r, t, payloadOf(r.result)))
}

// payloadOf returns the payload of the application in a result: structuredContent where
// it has the form of a tool's, else all of it. It is nil for a tool without any.
func payloadOf(result []byte) []byte {
	structured := jsonscan.Member(result, resultStructured)
	switch {
	case !jsonscan.Is(jsonscan.Member(result, resultContent), '['):
		return objectOf(withoutMessageType(result), "result")
	case jsonscan.IsNone(structured):
		return nil
	}
	return objectOf(bytes.Clone(structured), "result")
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
	var f exchange.Fault
	t := readMessageType(&f, jsonscan.Member(data, memberMeta), memberMeta)
	if f.Refusal != nil || t.name == "" {
		return "", nil
	}
	payload, err := c.session.Registry.DecodeTyped(act, t.name, "", jsonscan.Member(data, "payload"))
	if err != nil || payload == nil || performatives.CheckPayload(act, payload) != nil {
		return t.name, nil
	}
	return t.name, payload
}

package gateway

import (
	"bytes"
	"strings"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// response reads the peer's answer to a request of this node. It gets no answer, even if
// it is invalid.
func (c *codec) response(e *envelope, r *rpc) wire.Inbound {
	c.mu.Lock()
	q := c.pending.requests.Find("", idText(r.id))
	if q != nil && q.method != methodList {
		c.pending.requests.Remove(q)
	}
	c.mu.Unlock()
	if q == nil {
		return wire.Inbound{Token: e.token, Err: invalidRequest("mcp_payload.id", "mcp_payload.id: want the id of a request that waits for an answer")}
	}
	if q.method == methodList {
		if in, more := c.turn(e, r, q); more {
			return in
		}
	}
	return c.answered(e, r, q)
}

// peerError reads an envelope with an error object and no payload. Its correlation_id is
// the id of the failed request.
func (c *codec) peerError(e *envelope) wire.Inbound {
	c.mu.Lock()
	q := c.pending.envelopes.Latest(idText(e.correlation))
	c.pending.requests.Remove(q)
	c.mu.Unlock()
	if q == nil {
		return wire.Inbound{Token: e.token, Err: invalidRequest("correlation_id", "correlation_id: want the id of a request that waits for an answer")}
	}
	return c.answered(e, &rpc{kind: kindResponse, fault: e.fault}, q)
}

// answered makes the message of an answer to a request of this node.
func (c *codec) answered(e *envelope, r *rpc, q *request) wire.Inbound {
	delete(e.metadata, metadataCorrelation) // the message has InReplyTo instead
	if e.timestamp.IsZero() {               // of an invalid envelope
		e.timestamp = c.stamp().Time
	}
	m, err := c.answerTo(e, r, q)
	c.settled(q)
	if err != nil { // the initiator gets a refusal, since no other answer comes
		refusal := &performatives.Refusal{Code: performatives.CodeFailed, Text: "the peer's answer cannot be read"}
		m, err = c.refusal(e, r, q, refusal, nil)
	}
	if err != nil {
		return wire.Inbound{Token: e.token, Err: renamed(err)}
	}
	return wire.Inbound{Message: m, Token: e.token, ID: ownID(e, r)}
}

func (c *codec) answerTo(e *envelope, r *rpc, q *request) (*performatives.Message, error) {
	wrong := r.Refusal != nil || r.result == nil
	switch {
	case wrong && q.cancel == nil && q.pages.next != nil: // the pages before are valid
		return c.reply(e, r, q.message, performatives.ActInformCapabilities, q.pages.cut())
	case r.Refusal != nil:
		return nil, r.Refusal
	case r.result == nil && q.cancel != nil:
		// The error is the receipt: the peer has ended the cancelled request.
		return c.reply(e, r, q.cancel, performatives.ActInform, performatives.Receipt{Text: "the peer has ended the request"})
	case r.result == nil:
		refusal, data := refusalOf(r.fault)
		if q.method == methodRead && refusal.Code == performatives.CodeForbidden && jsonscan.Member(data, "reason_code") == nil {
			refusal.Code = performatives.CodeUnknownReference
		}
		return c.refusal(e, r, q, refusal, data)
	}
	if q.method == methodCall {
		if m, ok, err := c.typedAnswer(e, r, q); ok {
			return m, err
		}
	}
	switch q.method {
	case methodInitialize:
		p, err := c.introduced(r.result)
		if err != nil {
			return c.refusal(e, r, q, wire.AsRefusal(err), nil)
		}
		return c.reply(e, r, q.message, performatives.ActInformCapabilities, p)
	case methodList:
		return c.listedReply(e, r, q)
	case methodRead:
		p, err := exchange.PayloadAs[performatives.QueryRef](q.message)
		if err != nil {
			return nil, err
		}
		return c.reply(e, r, q.message, performatives.ActInformRef, performatives.InformRef{Reference: p.Reference, Value: valueOf(r.result)})
	}
	return c.reply(e, r, q.message, performatives.ActInformResult, resultOf(r.result))
}

// refusal makes the refusal of a request of this node.
func (c *codec) refusal(e *envelope, r *rpc, q *request, why *performatives.Refusal, data []byte) (*performatives.Message, error) {
	s := performatives.Stamp{ID: c.stamp().ID, Time: e.timestamp}
	m := q.message.RefuseWith(q.message.Receiver(), s, why)
	if m == nil {
		m = q.message.RefuseWith(e.source, s, why)
	}
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
	var code, message, data, reason, again []byte
	jsonscan.Read(fault, nil, jsonscan.Find("code", &code), jsonscan.Find("message", &message), jsonscan.Find("data", &data))
	jsonscan.Read(data, nil, jsonscan.Find("reason_code", &reason), jsonscan.Find(performatives.MemberRetryAfter, &again))
	r := &performatives.Refusal{Code: performatives.CodeFailed, Text: shortened(jsonscan.Text(message)), RetryAfter: performatives.ParseRetryAfter(again)}
	words := ErrorCodes
	if jsonscan.Is(code, '"') {
		words = wire.ErrorCodes
	}
	if _, known := words.Code(idText(code)); known {
		r.Code = words.Read(idText(code), jsonscan.Text(reason))
	}
	return r, bytes.Clone(data)
}

func shortened(s string) string {
	if len(s) <= maxErrorText {
		return s
	}
	return strings.ToValidUTF8(s[:maxErrorText], "")
}

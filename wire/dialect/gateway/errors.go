package gateway

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// fault is an error in the form of this protocol: the error object of an envelope, and the
// code and data of a JSON-RPC error.
type fault struct {
	object wire.ErrorObject
	code   string // a number
	data   faultData
	raw    []byte // the data of another gateway, unchanged; nil for none
}

// faultData is the data of a JSON-RPC error of ours.
type faultData struct {
	ReasonCode performatives.Code `json:"reason_code,omitempty"` // more exact than the code of wire
	RetryAfter int64              `json:"retry_after_ms,omitempty"`
	Method     string             `json:"method,omitempty"`    // the unknown method
	Supported  []string           `json:"supported,omitempty"` // versions
	Meta       json.RawMessage    `json:"_meta,omitempty"`     // with the message type of the refusal
	Payload    json.RawMessage    `json:"payload,omitempty"`   // of a refusal with a message type
	*wire.ErrorDetails
}

// faultOf returns the error of a request. x is nil for one that was not taken on.
func faultOf(err error, x *call) fault {
	r := wire.AsRefusal(err)
	f := fault{object: wire.ErrorObjectOf(err), code: ErrorCodes.Of(r.Code)}
	if d := f.object.Details; d != nil && envelopeNames[d.Field] != "" {
		d.Field = envelopeNames[d.Field]
	}
	if x != nil && x.Kind == methodRead && r.Code == performatives.CodeUnknownReference {
		f.code = codeNoResource
	}
	f.data = faultData{ReasonCode: r.Code, RetryAfter: performatives.RetryAfterMillis(r.RetryAfter), ErrorDetails: f.object.Details}
	return f
}

// rpc returns the JSON-RPC message with the error for the request of that id.
func (f fault) rpc(id []byte) []byte {
	data := f.raw
	if data == nil {
		data, _ = jsonscan.Marshal(f.data) // strings and numbers always marshal
	}
	b := jsonscan.OpenObject(nil)
	b.Raw("code", []byte(f.code))
	b.Text("message", f.object.Message)
	b.Raw("data", data)
	b.End()
	return rpcAnswer(id, "error", b.JSON)
}

// tell appends the frame that answers a request with an error, or the batch that it completes. The
// error is that of m, or of the codec itself if m is nil. It appends nothing for a message that
// gets no answer.
func (c *codec) tell(dst []byte, o *address, f fault, m *performatives.Message) []byte {
	if o.RPC == nil {
		return dst
	}
	if c.bare.Load() { // there is no member of an envelope in which the JSON-RPC message would be
		const in = "mcp_payload"
		f.object.Message = strings.Replace(strings.TrimPrefix(f.object.Message, in+"."), in, "message", 1)
		if d := f.data.ErrorDetails; d != nil {
			d.Field = strings.TrimPrefix(strings.TrimPrefix(d.Field, in), ".")
		}
	}
	return c.answer(dst, o, m, f.rpc(o.RPC), f.object.JSON())
}

// answer appends the frame of an answer: that of m, or of the codec itself if m is nil. fault is
// the error object of the envelope, or nil. An answer to a batch is added to the batch, which is
// appended when it is complete.
func (c *codec) answer(dst []byte, o *address, m *performatives.Message, body, fault []byte) []byte {
	if o.batch != nil {
		return c.batched(dst, o, body)
	}
	out, err := c.appendEnvelope(dst, o, m, body, fault)
	if err == nil && c.fits(len(out)-len(dst)) {
		return out
	}
	f := unwritable(err == nil)
	out, _ = c.appendEnvelope(dst, o, nil, f.rpc(o.RPC), f.object.JSON()) // it can always be written
	return out
}

// unwritable returns the error that replaces an answer that cannot be written, or is too long.
func unwritable(long bool) fault {
	text := "the answer cannot be written"
	if long {
		text = "the answer is longer than the connection carries"
	}
	return faultOf(performatives.Refused(performatives.CodeFailed, text), nil)
}

func (c *codec) fits(bytes int) bool { return c.session.MaxBytes <= 0 || bytes <= c.session.MaxBytes }

// envelopeBytes is an upper bound for the envelope around a batch.
const envelopeBytes = 4096

// batched adds an answer to its batch, and appends the batch when it is complete. An
// invalid answer, or one beyond the bounds, becomes an error.
func (c *codec) batched(dst []byte, o *address, body []byte) []byte {
	if !utf8.Valid(body) {
		body = unwritable(false).rpc(o.RPC)
	}
	given := c.put(o, body)
	if len(given) == 0 {
		return dst
	}
	answers := append(append([]byte{'['}, bytes.Join(given, []byte{','})...), ']')
	out, _ := c.appendEnvelope(dst, o, nil, answers, nil) // each answer has been checked
	return out
}

// put adds an answer to its batch, in place of an earlier one to the same request. It returns the
// answers when the batch is complete.
func (c *codec) put(o *address, body []byte) [][]byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, limit := o.batch, c.session.MaxBytes-envelopeBytes
	if c.session.MaxBytes > 0 && (b.bytes+len(body) > limit || c.held+len(body) > 2*limit) {
		body = unwritable(true).rpc(o.RPC)
	}
	if b.left > 0 {
		c.held -= b.bytes
	}
	if b.answers[o.slot] == nil {
		b.left--
	}
	b.bytes += len(body) - len(b.answers[o.slot])
	b.answers[o.slot] = append([]byte{}, body...)
	if b.left > 0 {
		c.held += b.bytes
		return nil
	}
	return slices.DeleteFunc(slices.Clone(b.answers), func(answer []byte) bool { return len(answer) == 0 })
}

// ErrorCodes has the code of each reason in a JSON-RPC error, in decimal, and the reason as which
// it is read.
var ErrorCodes = wire.WordsOf(map[string][]performatives.Code{
	"-32601": {performatives.CodeUnknownAction, performatives.CodeUnknownPerformative},
	"-32700": {performatives.CodeParsingError},
	"-32602": {performatives.CodeInvalidPayload, performatives.CodeUnknownOntology, performatives.CodeUnsupportedLanguage, performatives.CodeInvalidID},
	"-32600": {performatives.CodeUnexpectedAct, performatives.CodeConversationEnded},
	"-32004": {
		performatives.CodeStopped, performatives.CodeBusy, performatives.CodeMoved, performatives.CodeExpired, performatives.CodeTimeout,
		performatives.CodeDisconnected,
	},
	"-32003": {performatives.CodeUnknownAgent, performatives.CodeIncapable, performatives.CodeNoMatch, performatives.CodeUnknownReference, performatives.CodeCannotDecide},
	"-32001": exchange.Untrusted,
	"-32002": {performatives.CodeForbidden},
	"-32000": {performatives.CodeRateLimited},
	"-32603": slices.Concat([]performatives.Code{performatives.CodeInternal, performatives.CodeMiddleware, performatives.CodeBudget}, exchange.Failed),
})

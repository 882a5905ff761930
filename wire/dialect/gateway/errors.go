package gateway

import (
	"encoding/json"
	"slices"
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

func faultOf(err error) fault {
	r := wire.AsRefusal(err)
	f := fault{object: wire.ErrorObjectOf(err), code: ErrorCodes.Of(r.Code)}
	if d := f.object.Details; d != nil && envelopeNames[d.Field] != "" {
		d.Field = envelopeNames[d.Field]
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

// fail appends the frame that answers a request with err, or the batch that it completes.
// It appends nothing for a message that gets no answer.
func (c *codec) fail(dst []byte, o *origin, err error) []byte {
	return c.tell(dst, &o.address, o.call.faultOf(err), nil)
}

// tell is [codec.fail] for an error in the form of this protocol: that of m, or of the codec itself
// if m is nil.
func (c *codec) tell(dst []byte, o *address, f fault, m *performatives.Message) []byte {
	if o.RPC == nil {
		return dst
	}
	if c.bare() {
		f = f.bared()
	}
	h := c.headerFor(o, m)
	h.fault = f.object.JSON()
	return c.answer(dst, o, f.rpc(o.RPC), h)
}

// answer appends the frame of an answer. It adds the answer to a batch to its batch, and
// appends the batch when it is complete.
func (c *codec) answer(dst []byte, o *address, body []byte, h header) []byte {
	if o.batch != nil {
		return c.batched(dst, o, body)
	}
	out, err := c.appendEnvelope(dst, h, body)
	if err == nil && c.fits(len(out)-len(dst)) {
		return out
	}
	f := unwritable(err)
	h = c.headerFor(o, nil)
	h.fault = f.object.JSON()
	out, _ = c.appendEnvelope(dst, h, f.rpc(o.RPC)) // an error of this package can always be written
	return out
}

// unwritable returns the error that replaces an answer that cannot be written.
func unwritable(err error) fault {
	text := "the answer cannot be written"
	if err == nil {
		text = "the answer is longer than the connection carries"
	}
	return faultOf(&performatives.Refusal{Code: performatives.CodeFailed, Text: text})
}

func (c *codec) fits(bytes int) bool { return c.session.MaxBytes <= 0 || bytes <= c.session.MaxBytes }

// envelopeBytes is an upper bound for the envelope around a batch.
const envelopeBytes = 4096

// batched adds an answer to its batch, and appends the batch when it is complete. An
// invalid answer, or one beyond the bounds, becomes an error.
func (c *codec) batched(dst []byte, o *address, body []byte) []byte {
	if !utf8.Valid(body) {
		body = unwritable(errNoUTF8).rpc(o.RPC)
	}
	if !c.put(o, body) {
		return dst
	}
	answers := o.batch.text()
	if len(answers) == 0 {
		return dst
	}
	out, _ := c.appendEnvelope(dst, c.headerFor(o, nil), answers) // each answer has been checked
	return out
}

// put adds an answer to its batch, and reports whether the batch is complete.
func (c *codec) put(o *address, body []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := o.batch
	limit := c.session.MaxBytes - envelopeBytes
	if c.session.MaxBytes > 0 && (b.bytes+len(body) > limit || c.held+len(body) > 2*limit) {
		body = unwritable(nil).rpc(o.RPC)
	}
	waited, before := b.left > 0, b.bytes
	b.put(o.slot, body)
	if waited {
		c.held += b.bytes - before
		if b.left == 0 {
			c.held -= b.bytes
		}
	}
	return b.left == 0
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

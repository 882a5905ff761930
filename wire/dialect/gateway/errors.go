package gateway

import (
	"strconv"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// fault is what a peer is told of an error: in an envelope and in a JSON-RPC message.
type fault struct {
	object wire.ErrorObject
	code   int
	data   faultData
	raw    []byte // data as it came from another gateway; nil for none
}

// faultData is the data of a JSON-RPC error of ours.
type faultData struct {
	ReasonCode performatives.Code `json:"reason_code,omitempty"` // ours, more exact than wire's
	Method     string             `json:"method,omitempty"`      // that was not found
	Supported  []string           `json:"supported,omitempty"`   // versions
	*wire.ErrorDetails
}

func faultOf(err error) fault {
	r := wire.AsRefusal(err)
	f := fault{object: wire.ErrorObjectOf(err), code: r.Code.Traits().JSONRPC}
	if d := f.object.Details; d != nil && envelopeNames[d.Field] != "" {
		d.Field = envelopeNames[d.Field]
	}
	f.data = faultData{ReasonCode: r.Code, ErrorDetails: f.object.Details}
	return f
}

// methodNotFound is wire's Error Response Example.
func methodNotFound(method string) fault {
	f := faultOf(&performatives.Refusal{Code: performatives.CodeUnknownAction, Text: methodNotFoundText})
	f.data = faultData{Method: method}
	return f
}

// rpc is the JSON-RPC error that answers a request of that id.
func (f fault) rpc(id []byte) []byte {
	data := f.raw
	if data == nil {
		data, _ = marshal(f.data) // strings and numbers always marshal
	}
	object := append([]byte(`{"code":`), strconv.Itoa(f.code)...)
	object = jsonscan.AppendQuoted(append(object, `,"message":`...), f.object.Message)
	object = append(append(append(object, `,"data":`...), data...), '}')
	return appendRPC(nil, member{"error", object}, member{"id", id})
}

// fail appends the frame that tells the peer of err, or what it completes: nothing for
// what gets no answer.
func (c *codec) fail(dst []byte, o *origin, err error) []byte {
	return c.tell(dst, o, faultOf(err))
}

// tell is fail for an error that has its form.
func (c *codec) tell(dst []byte, o *origin, f fault) []byte {
	if o.id == nil {
		return dst
	}
	s := c.stamp()
	return c.answer(dst, o, f.rpc(o.id), header{
		id: string(s.ID), time: s.Time, source: string(c.session.Local), correlation: correlated(o.correlation), fault: f.object.JSON(),
	})
}

// answer appends the frame of an answer, or puts it into its batch, and appends that
// when it is complete.
func (c *codec) answer(dst []byte, o *origin, body []byte, h header) []byte {
	if o.batch != nil {
		return c.batched(dst, o, body)
	}
	out, err := c.appendEnvelope(dst, h, body)
	if err == nil && c.fits(len(out)-len(dst)) {
		return out
	}
	s := c.stamp()
	f := unwritable(err)
	h = header{
		id: string(s.ID), time: s.Time, source: string(c.session.Local), correlation: correlated(o.correlation), fault: f.object.JSON(),
	}
	out, _ = c.appendEnvelope(dst, h, f.rpc(o.id)) // what is ours can be written
	return out
}

// unwritable is the error that a peer gets in place of an answer that it cannot get.
func unwritable(err error) fault {
	text := "the answer cannot be written"
	if err == nil {
		text = "the answer is longer than the connection carries"
	}
	return faultOf(&performatives.Refusal{Code: performatives.CodeFailed, Text: text})
}

func (c *codec) fits(bytes int) bool { return c.session.MaxBytes <= 0 || bytes <= c.session.MaxBytes }

// envelopeBytes is more than an envelope of ours takes around a batch.
const envelopeBytes = 4096

// batched puts an answer into its batch, and appends the batch when it is complete.
// An answer that is not fit, or for which there is no room, becomes an error.
func (c *codec) batched(dst []byte, o *origin, body []byte) []byte {
	if !utf8.Valid(body) {
		body = unwritable(errNoUTF8).rpc(o.id)
	}
	if !c.put(o, body) {
		return dst
	}
	answers := o.batch.appendTo(nil)
	if len(answers) == 0 {
		return dst
	}
	s := c.stamp()
	out, err := c.appendEnvelope(dst, header{
		id: string(s.ID), time: s.Time, source: string(c.session.Local), correlation: correlated(o.correlation),
	}, answers)
	if err != nil {
		return dst // cannot be: each answer has been looked at
	}
	return out
}

// put puts an answer into its batch, and reports whether the batch is complete.
func (c *codec) put(o *origin, body []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := o.batch
	limit := c.session.MaxBytes - envelopeBytes
	if c.session.MaxBytes > 0 && (b.bytes+len(body) > limit || c.held+len(body) > 2*limit) {
		body = unwritable(nil).rpc(o.id)
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

package acl

import (
	"cmp"
	"fmt"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// Codec translates between the JSON of acl and [performatives.Message]. It is
// safe for concurrent use.
type Codec struct {
	opts wire.CodecOptions
}

// New returns a Codec that uses the Registry, the Stamper and the MaxBytes of o. A nil Stamper
// means random UUIDs and the system's clock, and a MaxBytes of zero no limit.
func New(o wire.CodecOptions) *Codec {
	o.Stamper = cmp.Or[performatives.Stamper](o.Stamper, wire.SystemStamper{})
	return &Codec{o}
}

// Decode reads one message, in either [Style]. The message shares no memory with data.
// The error is a [*DecodeError]. It unwraps to the [*performatives.Refusal] that names
// the wrong member, and makes the answer to the sender.
func (c *Codec) Decode(data []byte) (*performatives.Message, error) {
	m, _, failed := c.decode(data)
	if failed != nil {
		return nil, failed
	}
	return m, nil
}

// decode also returns the text of the payload, which is a part of data.
func (c *Codec) decode(data []byte) (*performatives.Message, []byte, *DecodeError) {
	d := decoder{codec: c}
	d.Names, d.Nested.In, d.Nested.Names = memberNames, memPayload, nestedNames
	ok := d.Open(data, c.opts.MaxBytes)
	if jsonscan.Is(d.Values[memSender], '"') {
		d.shape.style = IDE
	}
	if ok {
		if m := d.message(); m != nil {
			return m, d.Values[memPayload], nil
		}
	}
	return nil, nil, d.failure()
}

// Encode returns m as JSON, in the style in which it was read.
func (c *Codec) Encode(m *performatives.Message) ([]byte, error) { return c.Append(nil, m) }

// Append appends m as JSON to dst, in the style in which it was read: [Spec] for a
// message that this dialect has not decoded. For a message whose payload or metadata do
// not marshal to JSON, it fails and returns dst unchanged.
func (c *Codec) Append(dst []byte, m *performatives.Message) ([]byte, error) {
	return c.AppendAs(dst, m, StyleOf(m))
}

// AppendAs is [Codec.Append] for a peer of that style. A message of the other
// style loses its form and keeps its meaning.
func (c *Codec) AppendAs(dst []byte, m *performatives.Message, style Style) ([]byte, error) {
	if m.Performative() == performatives.ActRequest {
		style = Spec // the style IDE has no name for FIPA's request
	}
	w := writer{Builder: jsonscan.Builder{JSON: append(dst, '{'), Depth: exchange.MaxDepth - 1}, m: m, shape: shapeFor(m, style)}
	w.message()
	out, err := w.Close()
	if err != nil {
		return dst, fmt.Errorf("acl: %w", err)
	}
	return out, nil
}

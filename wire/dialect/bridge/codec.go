package bridge

import (
	"cmp"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// Codec translates between the JSON of bridge and [performatives.Message], one message at a time.
// It knows no session: [Dialect] adds the handshake and the pending requests. It is safe for
// concurrent use.
type Codec struct {
	opts wire.CodecOptions
}

// New returns a Codec that uses the Registry, the Stamper and the MaxBytes of o. A nil Stamper
// means random UUIDs and the system's clock, and a MaxBytes of zero no limit.
func New(o wire.CodecOptions) *Codec {
	o.Stamper = cmp.Or[performatives.Stamper](o.Stamper, wire.SystemStamper{})
	return &Codec{o}
}

// Decode reads one message. The message shares no memory with data. The error is a
// [*DecodeError]. It unwraps to the [*performatives.Refusal] that names the wrong member, and
// makes the answer to the sender.
func (c *Codec) Decode(data []byte) (*performatives.Message, error) {
	d := decoder{codec: c}
	m, err := c.decode(&d, data)
	if err != nil {
		return nil, err
	}
	return m, nil
}

func (c *Codec) decode(d *decoder, data []byte) (*performatives.Message, *DecodeError) {
	if d.Names = memberNames; d.Open(data, c.opts.MaxBytes) {
		if m := d.message(); m != nil {
			return m, nil
		}
	}
	return nil, d.failure()
}

// Encode returns m as JSON. The error unwraps to a [*performatives.Refusal] for an act that
// bridge cannot express (addenda §2).
func (c *Codec) Encode(m *performatives.Message) ([]byte, error) { return c.Append(nil, m) }

// Append appends m as JSON to dst. After an error it returns dst unchanged.
func (c *Codec) Append(dst []byte, m *performatives.Message) ([]byte, error) {
	return c.append(dst, m, extras{})
}

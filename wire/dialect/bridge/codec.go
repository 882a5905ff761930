package bridge

import (
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// Codec translates between the JSON of bridge and [performatives.Message], one message at a time.
// It knows no session: [Dialect] adds the handshake and the pending requests. It is safe for
// concurrent use.
type Codec struct {
	opts Options
}

// New returns a Codec. It fails where an option is out of range.
func New(o Options) (*Codec, error) {
	if err := exchange.Complete("bridge", &o.Stamper, &o.MaxBytes); err != nil {
		return nil, err
	}
	return &Codec{o}, nil
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

// DefaultMaxBytes is the MaxBytes of the zero [Options].
const DefaultMaxBytes = exchange.DefaultMaxBytes

// Options are the settings of a [Codec]. The zero value works.
type Options struct {
	// Registry has the payload types of the application; nil means the types of package
	// performatives only.
	Registry *performatives.Registry
	// Stamper tells the time from which the timeout of a request counts, and makes the ids of
	// error messages. Nil means random UUIDs and the system's clock.
	Stamper performatives.Stamper
	// MaxBytes is the longest message that Decode reads, in bytes. Zero means
	// DefaultMaxBytes.
	MaxBytes int
}

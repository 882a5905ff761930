package grpc

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/ribosome-agents/ribosome/internal/protofield"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// Dialect is the dialect of this package's connections: the Frame of ribosome.proto. A
// written Frame has one Envelope; a received one may have any number. Unknown fields are
// ignored. The zero value works, and has no settings.
type Dialect struct{}

var _ wire.Dialect = Dialect{}

// Name returns "protobuf".
func (Dialect) Name() string { return "protobuf" }

// Recognizes reports whether a frame begins with an Envelope.
func (Dialect) Recognizes(frame []byte) bool {
	num, typ, n := protowire.ConsumeTag(frame)
	if n < 0 || num != frameEnvelopes || typ != protowire.BytesType {
		return false
	}
	_, n = protowire.ConsumeBytes(frame[n:])
	return n >= 0
}

// Open returns the codec of one session, which keeps no state.
func (Dialect) Open(o wire.CodecOptions) (wire.Codec, error) { return &codec{o}, nil }

// codec translates between envelopes and messages.
type codec struct{ opts wire.CodecOptions }

// Decode reads the envelopes of a frame. The answer to an envelope that is no message is a
// NOT_UNDERSTOOD to its sender; it does not affect the other envelopes.
func (c *codec) Decode(frame []byte, take func(wire.Inbound)) {
	for len(frame) > 0 {
		num, envelope, _, size := protofield.Next(frame)
		if size < 0 {
			take(c.broken(&decoder{refusal: &performatives.Refusal{Code: performatives.CodeParsingError, Text: "the message is no protobuf Frame"}}))
			return
		}
		frame = frame[size:]
		if num != frameEnvelopes || envelope == nil {
			continue
		}
		d := decoder{opts: &c.opts}
		m := d.message(envelope)
		if m == nil {
			take(c.broken(&d))
			m = c.ended(&d)
		}
		if m != nil {
			take(wire.Inbound{Message: m, Token: d.token})
		}
	}
}

// Encode appends a Frame with m as its only envelope. On an error it returns dst unchanged.
func (c *codec) Encode(dst []byte, m *performatives.Message) ([]byte, error) {
	out := append(protowire.AppendTag(dst, frameEnvelopes, protowire.BytesType), 0, 0) // nearly all envelopes have 128 to 16,383 bytes
	body := len(out)
	out, err := appendEnvelope(out, m)
	if err != nil {
		return dst, err
	}
	if c.opts.Token != nil {
		out = protofield.AppendText(out, fieldAuthToken, c.opts.Token())
	}
	out = protofield.AppendText(out, fieldMessageType, m.MessageType())
	if r, _, ok := performatives.RefusalIn(m.Payload()); ok {
		out = protofield.AppendNumber(out, fieldRetryAfter, uint64(performatives.RetryAfterMillis(r.RetryAfter)))
	}
	return lengthen(out, body, 2), nil
}

// Refuse appends the refusal of a message, or nothing for a message that expects no reply.
func (c *codec) Refuse(dst []byte, in wire.Inbound, err error) []byte {
	if in.Message == nil {
		return dst
	}
	return c.append(dst, wire.RefusalOf(in.Message, c.opts.Local, c.opts.Stamper.Stamp(), err))
}

// append appends a message that this package has made, and that therefore marshals. It
// appends nothing for nil.
func (c *codec) append(dst []byte, m *performatives.Message) []byte {
	if m == nil {
		return dst
	}
	frame, err := c.Encode(dst, m)
	if err != nil {
		return dst
	}
	return frame
}

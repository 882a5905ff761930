package acl

import (
	"cmp"
	"sync/atomic"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// Dialect is acl as the language of a [wire.Session]. A frame is one message. The zero
// value works.
//
// acl leaves authentication to the transport. Over a transport without a place for a
// token, such as TCP, a message may have it in the member auth_token, with or without the
// word Bearer. The session removes it from the message.
type Dialect struct{}

// Name returns "acl".
func (Dialect) Name() string { return "acl" }

// Recognizes reports whether a frame is an object with a performative.
func (Dialect) Recognizes(frame []byte) bool { return wire.HasMember(frame, "performative") }

// Open returns the codec of one session.
func (Dialect) Open(o wire.CodecOptions) (wire.Codec, error) {
	return &session{codec: New(o), opts: o}, nil
}

// session is the codec of one session. It writes in the style of the last message read.
type session struct {
	codec *Codec
	opts  wire.CodecOptions
	style atomic.Uint32
}

// Decode reads one message, and removes its token.
func (s *session) Decode(frame []byte, take func(wire.Inbound)) {
	m, content, failed := s.codec.decode(frame)
	if failed != nil {
		if failed.Sender != "" {
			if m := failed.ended(s.opts.Local, s.opts.Stamper.Stamp()); m != nil {
				take(wire.Inbound{Message: m})
			}
		}
		failed.Sender = cmp.Or(failed.Sender, stranger)
		in := wire.Inbound{Err: failed.Refusal}
		// The answer is the receiver's, if that is readable: the peer may await its reply only.
		if answer := failed.NotUnderstood(cmp.Or(failed.Receiver, s.opts.Local), s.opts.Stamper.Stamp()); answer != nil {
			in.Answer, _ = s.codec.AppendAs(nil, answer, failed.Style) // it was made here, and therefore marshals
		}
		take(in)
		return
	}
	s.style.Store(uint32(StyleOf(m)))
	in := exchange.TakeToken(m)
	if in.Err != nil {
		in.Answer = s.Refuse(nil, wire.Inbound{Message: m}, in.Err)
	}
	in.Content = content
	take(in)
}

// stranger is the receiver of the NOT_UNDERSTOOD for a message without a readable sender.
// The name does not matter: the connection leads to one peer.
const stranger = "unknown"

// Encode appends m in the peer's style.
func (s *session) Encode(dst []byte, m *performatives.Message) ([]byte, error) {
	return s.codec.AppendAs(dst, exchange.Signed(m, s.opts.Token), Style(s.style.Load()))
}

// Refuse appends the refusal of a message, or nothing for a message that expects no reply.
func (s *session) Refuse(dst []byte, in wire.Inbound, err error) []byte {
	if in.Message == nil {
		return dst
	}
	answer := wire.RefusalOf(in.Message, s.opts.Local, s.opts.Stamper.Stamp(), err)
	if answer == nil {
		return dst
	}
	frame, _ := s.codec.AppendAs(dst, answer, StyleOf(in.Message)) // see Decode
	return frame
}

package acl

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// Dialect is acl as the language of a [wire.Session]. A frame is one message. The zero
// value works.
//
// acl leaves authentication to the transport. Over a transport without a place for a
// token, such as TCP, a message may have it in the member auth_token, with or without the
// word Bearer. The session removes it from the message.
type Dialect struct {
	// MaxDepth is that of [Options].
	MaxDepth int
}

// memberToken is our extension of the envelope.
const memberToken = "auth_token"

// Name returns "acl".
func (Dialect) Name() string { return "acl" }

// Recognizes reports whether a frame is an object with a performative.
func (Dialect) Recognizes(frame []byte) bool { return wire.HasMember(frame, "performative") }

// Open returns the codec of one session.
func (d Dialect) Open(o wire.CodecOptions) (wire.Codec, error) {
	codec, err := New(Options{Registry: o.Registry, Stamper: o.Stamper, MaxBytes: o.MaxBytes, MaxDepth: d.MaxDepth})
	if err != nil {
		return nil, err
	}
	return &session{codec: codec, opts: o}, nil
}

// session is the codec of one session. It writes in the style of the last message read.
type session struct {
	codec *Codec
	opts  wire.CodecOptions
	style atomic.Uint32
}

// Decode reads one message, and removes its token.
func (s *session) Decode(frame []byte, take func(wire.Inbound)) {
	m, content, err := s.codec.decode(decoder{codec: s.codec}, frame)
	if err != nil {
		var e *DecodeError
		if errors.As(err, &e) && e.Sender != "" {
			if m := e.ended(s.opts.Local, s.opts.Stamper.Stamp()); m != nil {
				take(wire.Inbound{Message: m})
			}
		}
		take(s.broken(err))
		return
	}
	s.style.Store(uint32(StyleOf(m)))
	in := wire.Inbound{Message: m}
	if _, ok := m.Metadata(memberToken); ok {
		if in = s.withToken(m); in.Err != nil {
			in.Answer = s.Refuse(nil, wire.Inbound{Message: m}, in.Err)
		}
	}
	in.Content = content
	take(in)
}

// withToken returns m without its token, and the token.
func (s *session) withToken(m *performatives.Message) wire.Inbound {
	var token string
	if text, _ := m.Metadata(memberToken); json.Unmarshal(text, &token) != nil {
		return wire.Inbound{Err: &performatives.Refusal{
			Code: performatives.CodeInvalidPayload, About: m.ID(), Field: memberToken, Text: memberToken + ": want a string",
		}}
	}
	stripped, err := m.With(func(e *performatives.Envelope) { delete(e.Metadata, memberToken) })
	if err != nil {
		return wire.Inbound{Err: wire.AsRefusal(err)}
	}
	return wire.Inbound{Message: stripped, Token: bare(token)}
}

// bare returns a token without the word Bearer.
func bare(token string) string {
	const bearer = "bearer "
	if len(token) > len(bearer) && strings.EqualFold(token[:len(bearer)], bearer) {
		return strings.TrimSpace(token[len(bearer):])
	}
	return token
}

// stranger is the receiver of the NOT_UNDERSTOOD for a message without a readable sender.
// The name does not matter: the connection leads to one peer.
const stranger = "unknown"

// broken returns the error of a frame that is no message, with the answer to the peer. The answer
// is the receiver's, if that is readable: the peer may await the reply of this agent only.
func (s *session) broken(err error) wire.Inbound {
	var e *DecodeError
	if !errors.As(err, &e) {
		return wire.Inbound{Err: wire.AsRefusal(err)}
	}
	e.Sender = cmp.Or(e.Sender, stranger)
	in := wire.Inbound{Err: e.Refusal}
	if answer := e.NotUnderstood(cmp.Or(e.Receiver, s.opts.Local), s.opts.Stamper.Stamp()); answer != nil {
		in.Answer = s.append(nil, answer, e.Style)
	}
	return in
}

// Encode appends m in the peer's style.
func (s *session) Encode(dst []byte, m *performatives.Message) ([]byte, error) {
	if s.opts.Token != nil {
		signed, err := s.sign(m)
		if err != nil {
			return dst, err
		}
		m = signed
	}
	return s.codec.AppendAs(dst, m, Style(s.style.Load()))
}

// sign returns m with the token of this end of the session.
func (s *session) sign(m *performatives.Message) (*performatives.Message, error) {
	token, err := json.Marshal(s.opts.Token())
	if err != nil {
		return nil, err
	}
	return m.With(func(e *performatives.Envelope) {
		if e.Metadata == nil {
			e.Metadata = make(performatives.Members, 1)
		}
		e.Metadata[memberToken] = token
	})
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
	return s.append(dst, answer, StyleOf(in.Message))
}

// append appends a message that this package has made, and that therefore marshals.
func (s *session) append(dst []byte, m *performatives.Message, style Style) []byte {
	frame, err := s.codec.AppendAs(dst, m, style)
	if err != nil {
		return dst
	}
	return frame
}

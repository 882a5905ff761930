package acl

import (
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
// acl leaves authentication to the transport. Where that has no place for a token, as
// TCP has none, a message may carry one in the member auth_token, with or without the
// word Bearer; it goes no further than the session.
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

// session is the codec of one session. It answers in the style that it was last
// addressed in.
type session struct {
	codec *Codec
	opts  wire.CodecOptions
	style atomic.Uint32
}

// Decode reads one message. A token in it is taken out of it.
func (s *session) Decode(frame []byte, take func(wire.Inbound)) {
	m, err := s.codec.Decode(frame)
	if err != nil {
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
	take(in)
}

// withToken takes the token out of m.
func (s *session) withToken(m *performatives.Message) wire.Inbound {
	e := m.Envelope()
	var token string
	if json.Unmarshal(e.Metadata[memberToken], &token) != nil {
		return wire.Inbound{Err: &performatives.Refusal{
			Code: performatives.CodeInvalidPayload, About: m.ID(), Field: memberToken, Text: memberToken + ": want a string",
		}}
	}
	delete(e.Metadata, memberToken)
	stripped, err := performatives.New(e)
	if err != nil {
		return wire.Inbound{Err: wire.AsRefusal(err)}
	}
	return wire.Inbound{Message: stripped, Token: bare(token)}
}

// bare returns a token without the word that says what kind it is.
func bare(token string) string {
	const bearer = "bearer "
	if len(token) > len(bearer) && strings.EqualFold(token[:len(bearer)], bearer) {
		return strings.TrimSpace(token[len(bearer):])
	}
	return token
}

// stranger is who a NOT_UNDERSTOOD goes to when nothing of a message could be read: the
// connection knows to whom it leads.
const stranger = "unknown"

// broken is a frame that is no message.
func (s *session) broken(err error) wire.Inbound {
	var e *DecodeError
	if !errors.As(err, &e) {
		return wire.Inbound{Err: wire.AsRefusal(err)}
	}
	if e.Sender == "" {
		e.Sender = stranger
	}
	in := wire.Inbound{Err: e.Refusal}
	if answer := e.NotUnderstood(s.opts.Local, s.opts.Stamper.Stamp()); answer != nil {
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

// sign returns m with this end's token.
func (s *session) sign(m *performatives.Message) (*performatives.Message, error) {
	token, err := json.Marshal(s.opts.Token())
	if err != nil {
		return nil, err
	}
	e := m.Envelope()
	if e.Metadata == nil {
		e.Metadata = make(performatives.Members, 1)
	}
	e.Metadata[memberToken] = token
	return performatives.New(e)
}

// Refuse appends the answer that turns a message down, or nothing when it expects none.
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

// append appends a message of our own, which marshals.
func (s *session) append(dst []byte, m *performatives.Message, style Style) []byte {
	frame, err := s.codec.AppendAs(dst, m, style)
	if err != nil {
		return dst
	}
	return frame
}

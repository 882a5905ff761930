package sealed

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/ribosome-agents/ribosome/internal/expiring"
	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Open checks and decrypts a message for the agent, and returns it as its sender has made it.
// sender has the capabilities of the sender. authentic is false for a message that was not sealed
// and is let through: one of discovery or of a plain peer, a CANCEL, and a refusal, of which only
// the code remains. The error is a [*performatives.Refusal] for the sender.
func (s *Sealer) Open(m *performatives.Message, sender performatives.Capabilities) (opened *performatives.Message, authentic bool, err error) {
	if !m.Sealed() {
		opened, err = s.unsealed(m)
	} else {
		opened, err = s.open(m, sender)
		authentic = err == nil
	}
	if r := performatives.RefusalOf(err); r != nil {
		r.About, r.From = m.ID(), s.opts.Agent
	}
	return opened, authentic, err
}

func refused(code performatives.Code, format string, args ...any) *performatives.Refusal {
	return &performatives.Refusal{Code: code, Text: fmt.Sprintf(format, args...)}
}

// unsealed returns what the agent gets of a message without a sealed payload. Nodes on the way can
// refuse and cancel, as they can lose a message, and can say nothing in the name of an agent.
func (s *Sealer) unsealed(m *performatives.Message) (*performatives.Message, error) {
	if public(m) || s.plain[m.Sender().Fold()] {
		return m, nil
	}
	var payload any = performatives.Cancel{}
	if r := m.AsRefusal(); r != nil {
		if !r.Code.Known() {
			r.Code = performatives.CodeUnspecified
		}
		r.Text = r.Code.Traits().Text + " (not signed by the agent)"
		payload = r.Payload(nil)
	} else if m.Performative() != performatives.ActCancel {
		return nil, refused(performatives.CodeSealRequired, "the payload is not sealed: the agent %.64q takes only payloads that are sealed for its keys", s.opts.Agent)
	}
	return m.With(func(e *performatives.Envelope) {
		_, undeliverable := e.Metadata[performatives.MetadataUndeliverable]
		e.MessageType, e.Payload, e.Shape, e.Budget, e.Metadata = "", payload, nil, performatives.Content{}, nil
		if undeliverable {
			e.Metadata = performatives.Members{performatives.MetadataUndeliverable: json.RawMessage("true")}
		}
	})
}

// open opens a sealed payload.
func (s *Sealer) open(m *performatives.Message, sender performatives.Capabilities) (*performatives.Message, error) {
	signed, err := s.decrypt(m)
	if err != nil {
		return nil, err
	}
	now := s.opts.Now()
	c, err := s.verify(m, signed, sender, now)
	if err != nil {
		return nil, err
	}
	if err := s.check(m, c); err != nil {
		return nil, err
	}
	if err := s.fresh(c, now); err != nil {
		return nil, err
	}
	return s.restore(m, c.Message)
}

// decrypt returns the JWS in a sealed payload.
func (s *Sealer) decrypt(m *performatives.Message) (string, error) {
	p, err := performatives.PayloadAs[performatives.SealedPayload](m)
	switch {
	case err != nil, p.JOSE == "":
		return "", &performatives.Refusal{Code: performatives.CodeInvalidSeal, Field: "payload.jose", Text: "payload.jose: want a JWE in the compact form"}
	case len(p.JOSE) > s.opts.MaxBytes:
		return "", &performatives.Refusal{
			Code: performatives.CodeInvalidSeal, Field: "payload.jose", Text: fmt.Sprintf("payload.jose: want at most %d bytes, got %d", s.opts.MaxBytes, len(p.JOSE)),
		}
	}
	h, err := readHeader(p.JOSE, typeSealed, sealedHeader)
	if err != nil {
		return "", refused(performatives.CodeInvalidSeal, "the sealed payload: %v", err)
	}
	jwe, err := jose.ParseEncryptedCompact(p.JOSE, []jose.KeyAlgorithm{keyAlgorithm}, []jose.ContentEncryption{contentEncryption})
	if err != nil {
		return "", refused(performatives.CodeInvalidSeal, "the sealed payload: want a JWE of %s and %s", keyAlgorithm, contentEncryption)
	}
	for _, own := range s.ownKeys() {
		if own.encryption.KeyID != h.Key {
			continue
		}
		signed, err := jwe.Decrypt(own.encryption.Key)
		if err != nil {
			return "", refused(performatives.CodeInvalidSeal, "the sealed payload cannot be decrypted: it was changed, or is for another key")
		}
		return string(signed), nil
	}
	return "", refused(performatives.CodeUnknownKey, "the payload is sealed for the key %.43q, which the agent %.64q does not have", h.Key, s.opts.Agent)
}

// verify returns the claims that the sender of m has signed.
func (s *Sealer) verify(m *performatives.Message, compact string, sender performatives.Capabilities, now time.Time) (c claims, err error) {
	jws, err := parseSigned(compact, typeSigned)
	if err != nil {
		return c, refused(performatives.CodeInvalidSeal, "the signature: %v", err)
	}
	if err := jsonscan.Unmarshal(jws.text, &c); err != nil { // for its statement, until the signature is verified
		return c, refused(performatives.CodeInvalidSeal, "the signature: want the claims of a sealed payload")
	}
	keys, err := s.keysOf(m.Sender(), now, statementIn(sender), c.Keys)
	if err != nil {
		return c, err
	}
	by, ok := keys.key(jws.kid, useSign)
	if !ok {
		return c, refused(performatives.CodeUnknownKey, "the key %.43q, by which the payload is signed, is not among the trusted keys of the agent %.64q", jws.kid, m.Sender())
	}
	if err := jws.verify(by); err != nil {
		return c, refused(performatives.CodeInvalidSeal, "%v: it is not by the agent %.64q", err, m.Sender())
	}
	return c, nil
}

// check compares the signed message with the envelope in which it came.
func (s *Sealer) check(m *performatives.Message, c claims) error {
	in := c.Message
	moved := func(what string) error {
		return &performatives.Refusal{Code: performatives.CodeInvalidSeal, Field: what, Text: what + ": the sealed payload belongs to another message"}
	}
	switch {
	case !in.Receiver.Is(s.opts.Agent), !m.Receiver().Is(s.opts.Agent):
		return refused(performatives.CodeWrongReceiver, "the payload was sealed for the agent %.64q, not for %.64q", in.Receiver, s.opts.Agent)
	case !in.Sender.Is(m.Sender()):
		return moved("sender")
	case in.ID != m.ID():
		return moved("message_id")
	case in.Performative != m.Performative():
		return moved("performative")
	case performatives.SealedType(in.MessageType) != m.MessageType():
		return moved("message_type")
	case in.ConversationID != "" && in.ConversationID != m.ConversationID():
		return moved("conversation_id")
	case in.InReplyTo != m.InReplyTo() && m.InReplyTo() != "":
		return moved("in_reply_to")
	case in.ConversationID == "" && in.InReplyTo == "" && string(m.ConversationID()) != string(m.ID()):
		return moved("conversation_id")
	}
	return nil
}

// fresh refuses a sealed payload that is too old or has come before.
func (s *Sealer) fresh(c claims, now time.Time) error {
	issued := time.Unix(c.IssuedAt, 0)
	until := issued.Add(s.opts.Lifetime)
	if by := time.Unix(c.Expires, 0); by.Before(until) {
		until = by
	}
	until = until.Add(s.opts.Skew)
	switch {
	case c.ID == "" || len(c.ID) > performatives.MaxIDLength:
		return refused(performatives.CodeInvalidSeal, "the signature: jti: want 1 to %d bytes", performatives.MaxIDLength)
	case now.After(until):
		return refused(performatives.CodeSealExpired, "the payload was sealed at %s and has expired", issued.UTC().Format(time.RFC3339))
	case issued.After(now.Add(s.opts.Skew)):
		return refused(performatives.CodeSealExpired, "the payload was sealed at %s, which is in the future here: a clock is wrong", issued.UTC().Format(time.RFC3339))
	case issued.Before(s.started.Add(-s.opts.Skew).Truncate(time.Second)):
		return refused(performatives.CodeSealExpired, "the payload was sealed before the agent began, which cannot know whether it has come before")
	}
	key, after := s.seen.Key(string(c.Message.Sender.Fold()), c.ID), until.Add(1) // it is accepted at until, too
	switch _, result := s.seen.Add(key, expiring.NoOwner, struct{}{}, now, after); result {
	case expiring.Added:
	case expiring.Known:
		return refused(performatives.CodeReplayed, "")
	case expiring.Full:
		return refused(performatives.CodeBusy, "%d sealed payloads are remembered until they expire, and there is no room for more", s.opts.MaxSeen)
	}
	return nil
}

// restore returns the message that was sealed. It keeps the fields that nodes on the way have set:
// the trace, the principal and the activations.
func (s *Sealer) restore(m *performatives.Message, in performatives.MessageJSON) (*performatives.Message, error) {
	raw := in.Payload
	in.Payload, in.PayloadType = nil, ""
	payload, err := s.opts.Registry.DecodeTyped(in.Performative, in.MessageType, in.Ontology, raw)
	if err == nil {
		var out *performatives.Message
		if out, err = with(m, in, payload); err == nil {
			return out, nil
		}
	}
	if m.Performative().ExpectsReply() || !strings.HasPrefix(string(raw), "{") {
		return nil, err
	}
	// The conversation that waits for this answer reads it again, reports the fault and ends.
	return with(m, in, performatives.Raw(raw))
}

func with(m *performatives.Message, in performatives.MessageJSON, payload any) (*performatives.Message, error) {
	return m.With(func(e *performatives.Envelope) {
		e.MessageType, e.Protocol, e.InReplyTo, e.ReplyWith, e.ReplyBy = in.MessageType, in.Protocol, in.InReplyTo, in.ReplyWith, in.ReplyBy
		e.Language, e.Ontology, e.Priority, e.Timestamp = in.Language, in.Ontology, in.Priority, in.Timestamp
		e.Budget, e.Metadata, e.Payload, e.Shape = in.Budget, in.Metadata, payload, nil
	})
}

package sealed

import (
	"crypto/rand"
	"encoding/json"
	"fmt"

	"github.com/go-jose/go-jose/v4"

	"github.com/ribosome-agents/ribosome/performatives"
)

// The algorithms of encryption. No other is written or read.
const (
	keyAlgorithm      = jose.ECDH_ES_A256KW
	contentEncryption = jose.A256GCM
)

// claims are the content of the signature.
type claims struct {
	ID       string                    `json:"jti"` // random; of this sealing, not of the message
	IssuedAt int64                     `json:"iat"` // Unix time in seconds
	Expires  int64                     `json:"exp"`
	Keys     string                    `json:"keys"`    // the statement of the sender's keys
	Message  performatives.MessageJSON `json:"message"` // without principal and activation, which its way gives it
}

// public reports whether a message is never sealed: the acts of discovery tell what the directory
// tells everybody.
func public(m *performatives.Message) bool {
	switch m.Performative() { //nolint:exhaustive // the two acts of discovery
	case performatives.ActQueryCapabilities, performatives.ActInformCapabilities:
		return m.MessageType() == ""
	}
	return false
}

// Seal returns m with its payload, its metadata and its budget signed by the agent and encrypted
// for the receiver. It returns m itself if its act is of discovery or its receiver is among
// [Options].PlainPeers. receiver has the capabilities of the receiver, in which its keys are looked
// for. The error is a [*performatives.Refusal]; m must not be sent then.
func (s *Sealer) Seal(m *performatives.Message, receiver performatives.Capabilities) (*performatives.Message, error) {
	if public(m) || m.Sealed() || s.plain[m.Receiver().Fold()] {
		return m, nil
	}
	out, err := s.seal(m, receiver)
	if err != nil {
		if r := performatives.RefusalOf(err); r != nil {
			r.About = m.ID()
			return nil, r
		}
		return nil, &performatives.Refusal{Code: performatives.CodeInternal, About: m.ID(), Text: "the payload was not sealed: " + err.Error()}
	}
	return out, nil
}

func (s *Sealer) seal(m *performatives.Message, receiver performatives.Capabilities) (*performatives.Message, error) {
	switch {
	case m.Receiver() == "":
		return nil, &performatives.Refusal{
			Code: performatives.CodeSealRequired, Field: "receiver", Text: "receiver: want the id of an agent: a payload cannot be sealed for all; send a message to each agent",
		}
	case !m.Sender().Is(s.opts.Agent):
		return nil, &performatives.Refusal{Code: performatives.CodeForbidden, Field: "sender", Text: fmt.Sprintf("the keys are those of the agent %q", s.opts.Agent)}
	}
	now := s.opts.Now()
	keys, err := s.keysOf(m.Receiver(), now, statementIn(receiver))
	if err != nil {
		return nil, err
	}
	inner, err := m.JSON()
	if err != nil {
		return nil, err
	}
	inner.Principal, inner.Activation, inner.Answers, inner.PayloadType = "", 0, 0, ""
	own := s.ownKeys()[0]
	text, err := json.Marshal(claims{
		ID: rand.Text(), IssuedAt: now.Unix(), Expires: now.Add(s.opts.Lifetime).Unix(), Keys: s.Statement(), Message: inner,
	})
	if err != nil {
		return nil, err
	}
	signed, err := sign(own, typeSigned, text)
	if err != nil {
		return nil, err
	}
	compact, err := encrypt(keys.current(useEncrypt), signed)
	if err != nil {
		return nil, err
	}
	if len(compact) > s.opts.MaxBytes {
		return nil, &performatives.Refusal{
			Code: performatives.CodeInvalidPayload, Field: "payload", Text: fmt.Sprintf("payload: want at most %d bytes after sealing, got %d", s.opts.MaxBytes, len(compact)),
		}
	}
	payload, err := json.Marshal(performatives.SealedPayload{JOSE: compact})
	if err != nil {
		return nil, err
	}
	return m.With(func(e *performatives.Envelope) {
		e.MessageType, e.Payload, e.Shape, e.Budget = performatives.SealedType(e.MessageType), performatives.Raw(payload), nil, performatives.Content{}
		for name := range e.Metadata {
			if name != performatives.MetadataUndeliverable {
				delete(e.Metadata, name)
			}
		}
	})
}

// encrypt returns a JWE in the compact form.
func encrypt(to jose.JSONWebKey, signed string) (string, error) {
	options := (&jose.EncrypterOptions{}).WithType(typeSealed)
	encrypter, err := jose.NewEncrypter(contentEncryption, jose.Recipient{Algorithm: keyAlgorithm, Key: to.Key, KeyID: to.KeyID}, options)
	if err != nil {
		return "", err
	}
	sealed, err := encrypter.Encrypt([]byte(signed))
	if err != nil {
		return "", err
	}
	return sealed.CompactSerialize()
}

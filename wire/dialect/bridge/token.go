package bridge

import (
	"encoding/json"
	"strings"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// memberToken is our extension of the envelope.
const memberToken = "auth_token"

// withToken returns m without its token, and the token.
func withToken(m *performatives.Message, content []byte) wire.Inbound {
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
	return wire.Inbound{Message: stripped, Token: bare(token), Content: content}
}

// bare returns a token without the word Bearer.
func bare(token string) string {
	const bearer = "bearer "
	if len(token) > len(bearer) && strings.EqualFold(token[:len(bearer)], bearer) {
		return strings.TrimSpace(token[len(bearer):])
	}
	return token
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

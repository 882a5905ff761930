package exchange

import (
	"encoding/json"
	"strings"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// MemberToken is the extension of an envelope that has the credential of its sender.
const MemberToken = "auth_token"

// Bearer returns a token without the word Bearer.
func Bearer(token string) string {
	const word = "bearer "
	if len(token) > len(word) && strings.EqualFold(token[:len(word)], word) {
		return strings.TrimSpace(token[len(word):])
	}
	return token
}

// TakeToken returns a message without the token in its metadata, and the token.
func TakeToken(m *performatives.Message) wire.Inbound {
	text, ok := m.Metadata(MemberToken)
	if !ok {
		return wire.Inbound{Message: m}
	}
	var token string
	if json.Unmarshal(text, &token) != nil {
		bad := Wrong(MemberToken, "a string")
		bad.About = m.ID()
		return wire.Inbound{Err: bad}
	}
	stripped, err := m.With(func(e *performatives.Envelope) { delete(e.Metadata, MemberToken) })
	if err != nil {
		return wire.Inbound{Err: wire.AsRefusal(err)}
	}
	return wire.Inbound{Message: stripped, Token: Bearer(token)}
}

// Signed returns m with the token of this end in its metadata. A nil token means none.
func Signed(m *performatives.Message, token func() string) (*performatives.Message, error) {
	if token == nil {
		return m, nil
	}
	text, err := json.Marshal(token())
	if err != nil {
		return nil, err
	}
	return m.With(func(e *performatives.Envelope) { Keep(&e.Metadata, MemberToken, text) })
}

// Keep adds a copy of a member to members, which it makes if there are none. An absent member
// is not added.
func Keep(members *performatives.Members, name string, v []byte) {
	if v == nil {
		return
	}
	if *members == nil {
		*members = make(performatives.Members)
	}
	(*members)[name] = append([]byte{}, v...)
}

// Rest returns a function that keeps a copy of each member that it is called with, up to
// [MaxUnknown] of them. Of more, it sets over, which may be nil.
func Rest(members *performatives.Members, over *bool) func(name string, v []byte) {
	return func(name string, v []byte) {
		switch {
		case len(*members) < MaxUnknown:
			Keep(members, name, v)
		case over != nil:
			*over = true
		}
	}
}

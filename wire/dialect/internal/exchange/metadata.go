package exchange

import (
	"encoding/json"
	"strings"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// The members of metadata that a dialect reads and writes where its envelope has no place for them
// (addenda §1, §8). All are optional.
const (
	MetaPriority    = "priority"
	MetaProtocol    = "protocol"
	MetaTrace       = "trace"
	MetaBudget      = "budget"
	MetaAct         = "performative" // the act, where the type does not tell it
	MetaMessageType = "message_type" // the message type, where it is a type of the dialect, too
)

// TakeExtensions moves the protocol, the trace and the budget of the metadata to their fields. A
// member of another form belongs to the application, and stays.
func TakeExtensions(e *performatives.Envelope) {
	meta := e.Metadata
	if s := jsonscan.Text(meta[MetaProtocol]); s != "" {
		e.Protocol = s
		delete(meta, MetaProtocol)
	}
	if s := Traceparent(meta[MetaTrace]); s != "" {
		e.Trace = s
		delete(meta, MetaTrace)
	}
	if v := meta[MetaBudget]; !jsonscan.IsNone(v) {
		e.Budget = performatives.RawContent(v)
		delete(meta, MetaBudget)
	}
}

// PutExtensions sets the members of the metadata from the fields of a message: the reverse of
// [TakeExtensions].
func PutExtensions(meta performatives.Members, m *performatives.Message) error {
	if s := m.Protocol(); s != "" {
		meta[MetaProtocol] = Quoted(s)
	}
	if s := m.Trace(); s != "" {
		meta[MetaTrace] = Quoted(s)
	}
	b := m.Budget()
	if b.IsZero() {
		return nil
	}
	text, err := json.Marshal(b)
	meta[MetaBudget] = text
	return err
}

// Quoted returns a text as a JSON string, as encoding/json writes it.
func Quoted(text string) json.RawMessage {
	v, _ := json.Marshal(text) // a string always has a JSON form
	return v
}

// Traceparent returns the trace that a JSON value is, or "" for a value that no message can have as
// its trace.
func Traceparent(v []byte) string {
	if s := jsonscan.Text(v); performatives.ValidTrace(s) {
		return s
	}
	return ""
}

// Priority reads a priority: a word or a number from 1 to 5, as a string or not.
func Priority(v []byte) (performatives.Priority, bool) {
	text := v
	if jsonscan.Is(v, '"') {
		text = jsonscan.TextBytes(v)
	}
	if p, ok := priorities[string(text)]; ok || len(text) == 0 {
		return p, ok
	}
	p, err := performatives.ParsePriority(string(text))
	return p, err == nil
}

// priorities has the usual spellings, so that reading them allocates nothing.
var priorities = func() map[string]performatives.Priority {
	m := make(map[string]performatives.Priority)
	for _, name := range []string{"low", "medium", "normal", "high", "urgent", "1", "2", "3", "4", "5"} {
		m[name], _ = performatives.ParsePriority(name)
	}
	return m
}()

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
	stripped, _ := m.With(func(e *performatives.Envelope) { delete(e.Metadata, MemberToken) }) // which needs no check
	return wire.Inbound{Message: stripped, Token: Bearer(token)}
}

// Signed returns m with the token of this end in its metadata. A nil token means none.
func Signed(m *performatives.Message, token func() string) *performatives.Message {
	if token == nil {
		return m
	}
	signed, _ := m.With(func(e *performatives.Envelope) { Keep(&e.Metadata, MemberToken, Quoted(token())) }) // which needs no check
	return signed
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
// [MaxUnknown] of them.
func Rest(members *performatives.Members) func(name string, v []byte) {
	return func(name string, v []byte) {
		if len(*members) < MaxUnknown {
			Keep(members, name, v)
		}
	}
}

package exchange

import (
	"encoding/json"
	"strings"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
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
	s := jsonscan.Text(v)
	if len(s) != 55 || s[2] != '-' || s[35] != '-' || s[52] != '-' || s[:2] == "ff" {
		return ""
	}
	trace, parent := s[3:35], s[36:52]
	if strings.Trim(s[:2]+trace+parent+s[53:], "0123456789abcdef") != "" || strings.Trim(trace, "0") == "" || strings.Trim(parent, "0") == "" {
		return ""
	}
	return s
}

// Priority reads a priority: a word or a number from 1 to 5, as a string or not.
func Priority(v []byte) (performatives.Priority, bool) {
	text := v
	if jsonscan.Is(v, '"') {
		text = jsonscan.TextBytes(v)
	}
	if len(text) == 0 {
		return performatives.Normal, false
	}
	p, err := performatives.ParsePriority(string(text))
	return p, err == nil
}

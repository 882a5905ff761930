package exchange

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// Object returns a payload as a JSON object; nil is an empty one. The error names the dialect.
func Object(dialect string, payload any) ([]byte, error) {
	if payload == nil {
		return []byte("{}"), nil
	}
	// Nearly all payloads are JSON already.
	if raw, ok := payload.(performatives.Raw); ok && jsonscan.Is(raw, '{') && jsonscan.Valid(raw) {
		return raw, nil
	}
	text, err := jsonscan.Marshal(payload)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: payload: %w", dialect, err)
	case !jsonscan.Is(text, '{'):
		return nil, errors.New(dialect + ": payload: want a JSON object")
	}
	return text, nil
}

// PutContent writes a member that may be JSON already.
func PutContent(b *jsonscan.Builder, name string, c performatives.Content) {
	if c.Value() != nil {
		b.Value(name, c)
		return
	}
	v, _ := c.MarshalJSON() // JSON already, which Checked verifies
	b.Checked(name, v)
}

// Writer writes a message as an envelope with a type, a payload and metadata.
type Writer struct {
	jsonscan.Builder
	Dialect string // its name, for errors
	Message *performatives.Message
	Kind    string // the type
	Payload []byte
	Meta    performatives.Members
	start   int
}

// NewWriter returns the Writer of an envelope that is appended to dst, and nests to at most
// [MaxDepth]. The message is nil for what the codec says itself.
func NewWriter(dialect string, m *performatives.Message, dst []byte) Writer {
	return Writer{
		Builder: jsonscan.Builder{JSON: append(dst, '{'), Depth: MaxDepth - 1}, Dialect: dialect, Message: m, start: len(dst),
	}
}

// Finish closes the envelope, and returns it behind what dst had. After an error it returns that
// alone.
func (w *Writer) Finish() ([]byte, error) {
	out, err := w.Close()
	if err == nil && !utf8.Valid(out[w.start:]) {
		err = errors.New(w.Dialect + ": want UTF-8")
	}
	if err != nil {
		return out[:w.start], err
	}
	return out, nil
}

// Plain writes an act under its own name.
func (w *Writer) Plain() {
	w.Kind = w.Message.Performative().String()
	w.Marshal(w.Message.Payload())
}

// Content returns the payload of a message that is written by b: see [PayloadAs].
func Content[T any](b *jsonscan.Builder, m *performatives.Message) T {
	v, err := PayloadAs[T](m)
	b.Fail(err)
	return v
}

// Marshal sets the payload, which must be an object.
func (w *Writer) Marshal(v any) {
	text, err := Object(w.Dialect, v)
	w.Fail(err)
	w.Payload = text
}

// MarshalContent is Marshal for a content; no content is an empty object.
func (w *Writer) MarshalContent(c performatives.Content) {
	if c.IsZero() {
		w.Payload = []byte("{}")
		return
	}
	w.Marshal(c)
}

// Tell sets a member of the metadata that the type does not tell.
func (w *Writer) Tell(name, value string) {
	if jsonscan.Text(w.Meta[name]) != value {
		w.Meta[name] = Quoted(value)
	}
}

// Broadcast returns the refusal of a message without a receiver by a dialect that has no broadcast.
func Broadcast(dialect string, m *performatives.Message) *performatives.Refusal {
	return &performatives.Refusal{
		Code: performatives.CodeInvalidPayload, About: m.ID(), Field: "receiver", Text: "receiver: want an agent: " + dialect + " has no broadcast",
	}
}

// FormatTime returns a time in UTC with as many fractional digits as needed (addenda §1).
func FormatTime(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// WriteFault writes what the payloads of an error of the codec have beside its code: the message,
// the time after which to ask again, the wrong field, and the details of another error.
func WriteFault(b *jsonscan.Builder, err error) {
	r, object := wire.AsRefusal(err), wire.ErrorObjectOf(err)
	b.Text("error_message", object.Message)
	if again := performatives.RetryAfterMillis(r.RetryAfter); again != 0 {
		b.Value(performatives.MemberRetryAfter, again)
	}
	switch {
	case r.Field != "":
		b.Text("field", r.Field)
	case object.Details != nil:
		b.Value("details", object.Details)
	}
}

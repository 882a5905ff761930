package terminal

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"unicode"
)

// EscapedLog returns a handler that escapes the messages and texts of its records, and passes the
// records on. It escapes control characters, line breaks among them, and characters that change the
// direction of text. The attribute stack keeps its line breaks. With failures, the handler passes
// warnings and errors on only; else one that is wrapped already is returned as it is.
func EscapedLog(h slog.Handler, failures bool) slog.Handler {
	if _, done := h.(escapedLog); done && !failures {
		return h
	}
	return escapedLog{h, failures}
}

type escapedLog struct {
	slog.Handler
	failures bool
}

// Enabled reports whether a record of the level is written.
func (h escapedLog) Enabled(ctx context.Context, level slog.Level) bool {
	return (!h.failures || level >= slog.LevelWarn) && h.Handler.Enabled(ctx, level)
}

// Unwrap returns the handler that gets the escaped records.
func (h escapedLog) Unwrap() slog.Handler { return h.Handler }

// Handle escapes the texts of a record.
func (h escapedLog) Handle(ctx context.Context, r slog.Record) error {
	out := slog.NewRecord(r.Time, r.Level, escaped(r.Message, false), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(escapedAttr(a))
		return true
	})
	return h.Handler.Handle(ctx, out)
}

// WithAttrs escapes the texts of the attributes.
func (h escapedLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return escapedLog{h.Handler.WithAttrs(escapedAttrs(attrs)), h.failures}
}

// WithGroup escapes the name of the group.
func (h escapedLog) WithGroup(name string) slog.Handler {
	return escapedLog{h.Handler.WithGroup(escaped(name, false)), h.failures}
}

func escapedAttrs(attrs []slog.Attr) []slog.Attr {
	out := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		out[i] = escapedAttr(a)
	}
	return out
}

func escapedAttr(a slog.Attr) slog.Attr {
	a.Key, a.Value = escaped(a.Key, false), a.Value.Resolve()
	switch a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(escaped(a.Value.String(), a.Key == "stack"))
	case slog.KindGroup:
		a.Value = slog.GroupValue(escapedAttrs(a.Value.Group())...)
	case slog.KindAny:
		text := fmt.Sprintf("%+v", a.Value.Any())
		if clean := escaped(text, false); clean != text { // otherwise the value keeps its type
			a.Value = slog.StringValue(clean)
		}
	}
	return a
}

// escaped returns a text with the characters that a terminal obeys written as those of Go's
// literals are.
func escaped(text string, lines bool) string {
	obeyed := func(r rune) bool {
		return (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029') && !(lines && (r == '\n' || r == '\t'))
	}
	if strings.IndexFunc(text, obeyed) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if !obeyed(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRuneToASCII(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

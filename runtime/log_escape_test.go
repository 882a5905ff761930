package runtime_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// hostile is a text of a peer for a terminal.
const hostile = "\x1b]0;PWNED\x1b\\\x1b[2Jx\r\nFAKE 12:00:00 INF all is well \u202e\u2066\u009b1m"

// No text of a peer reaches a terminal as it is, by any handler, wherever in a record it is.
func TestLogEscapesTexts(t *testing.T) {
	for name, logger := range map[string]func(io.Writer) *slog.Logger{
		"tint": func(w io.Writer) *slog.Logger { return runtime.NewTextLogger(w, slog.LevelInfo) },
		"json": func(w io.Writer) *slog.Logger { return runtime.NewLogger(w, slog.LevelInfo) },
		"text": func(w io.Writer) *slog.Logger { return slog.New(runtime.EscapedLog(slog.NewTextHandler(w, nil))) },
	} {
		var out bytes.Buffer
		l := logger(&out)
		l.With("k"+hostile, hostile).WithGroup("g").Warn("m "+hostile, "s", hostile, "err", errors.New(hostile), "list", []string{hostile}, slog.Group("x", "y", hostile),
			"refusal", &performatives.Refusal{Code: "c", Text: hostile})
		if text := out.String(); strings.ContainsAny(text, "\x1b\r\u202e\u2066\u009b") || strings.Count(text, "\n") != 1 || !strings.Contains(text, "all is well") {
			t.Errorf("%s: %q", name, text)
		}
		out.Reset()
		if l.Info("a", "n", 5, "list", []int{1}, "s", "déjà vu"); !strings.Contains(out.String(), "déjà vu") {
			t.Errorf("%s: %q", name, &out)
		}
	}
}

// A node escapes the texts of its log with the handler of the program, too.
func TestNodeEscapesTheLogOfAProgram(t *testing.T) {
	var out buffer
	n := newNode(t, runtime.Options{Name: "n1", Supervision: quickRestarts(), Logger: slog.New(bare{slog.NewTextHandler(io.Discard, nil), &out})})
	if err := n.Spawn(patience.Context(t), "b", always(scripted{receive: func(*actors.Context, *performatives.Message) { panic(hostile) }})); err != nil {
		t.Fatal(err)
	}
	_ = refusalOf(patience.Context(t), n, message(t, "n1", "b", performatives.ActRequest))
	if err := n.Stop(patience.Context(t)); err != nil {
		t.Fatal(err)
	}
	if text := out.text(); !strings.Contains(text, "PWNED") || strings.ContainsAny(text, "\x1b\u202e") {
		t.Errorf("%q", text)
	}
}

// bare is a handler that writes the texts of records as they are.
type bare struct {
	slog.Handler
	to io.Writer
}

func (b bare) Handle(_ context.Context, r slog.Record) error {
	_, err := io.WriteString(b.to, r.Message)
	r.Attrs(func(a slog.Attr) bool { _, err = io.WriteString(b.to, " "+a.String()); return true })
	return err
}

func (b bare) WithAttrs([]slog.Attr) slog.Handler { return b }
func (b bare) WithGroup(string) slog.Handler      { return b }

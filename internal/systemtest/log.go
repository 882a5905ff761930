package systemtest

import (
	"log/slog"
	"strings"
	"sync"
)

// errorLog keeps the errors of a log, each as a text. It is the writer of a [slog.TextHandler].
type errorLog struct {
	mu    sync.Mutex
	texts []string
}

// handler returns a handler that keeps the errors, and passes all records on to l if that is not
// nil.
func (e *errorLog) handler(l *slog.Logger) slog.Handler {
	kept := slog.NewTextHandler(e, &slog.HandlerOptions{Level: slog.LevelError, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
			return slog.Attr{}
		}
		return a
	}})
	if l == nil {
		return kept
	}
	return slog.NewMultiHandler(kept, l.Handler())
}

// breaks writes the line breaks of a stack as such.
var breaks = strings.NewReplacer(`\n`, "\n", `\t`, "\t")

// Write keeps a line of the handler.
func (e *errorLog) Write(line []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.texts = append(e.texts, breaks.Replace(strings.TrimSuffix(string(line), "\n")))
	return len(line), nil
}

// take returns the errors.
func (e *errorLog) take() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.texts
}

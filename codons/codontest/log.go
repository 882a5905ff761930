package codontest

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
)

// errorLog is a log handler that keeps the errors.
type errorLog struct {
	mu     sync.Mutex
	errors []string
}

// Enabled reports whether a record is an error.
func (*errorLog) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelError }

// Handle keeps a record.
func (l *errorLog) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString(r.Message)
	r.Attrs(func(a slog.Attr) bool {
		fmt.Fprintf(&b, " %s=%s", a.Key, a.Value)
		return true
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.errors = append(l.errors, b.String())
	return nil
}

// WithAttrs returns l: attributes of a logger are left out.
func (l *errorLog) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup returns l.
func (l *errorLog) WithGroup(string) slog.Handler { return l }

// take returns the errors.
func (l *errorLog) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.errors
}

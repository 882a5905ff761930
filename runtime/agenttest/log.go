package agenttest

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
)

// errorLog is a log handler that keeps the errors, and passes all records on.
type errorLog struct {
	next  slog.Handler
	attrs []slog.Attr
	kept  *kept
}

// kept are the errors of a handler and of those made from it.
type kept struct {
	mu    sync.Mutex
	texts []string
}

func newErrorLog(l *slog.Logger) *errorLog {
	next := slog.DiscardHandler
	if l != nil {
		next = l.Handler()
	}
	return &errorLog{next: next, kept: &kept{}}
}

// Enabled reports whether a record is an error, or the next handler wants it.
func (l *errorLog) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelError || l.next.Enabled(ctx, level)
}

// Handle keeps an error and passes the record on.
func (l *errorLog) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError {
		l.kept.add(r, l.attrs)
	}
	if !l.next.Enabled(ctx, r.Level) {
		return nil
	}
	return l.next.Handle(ctx, r)
}

func (k *kept) add(r slog.Record, attrs []slog.Attr) {
	var b strings.Builder
	b.WriteString(r.Message)
	write := func(a slog.Attr) bool {
		fmt.Fprintf(&b, " %s=%s", a.Key, a.Value)
		return true
	}
	for _, a := range attrs {
		write(a)
	}
	r.Attrs(write)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.texts = append(k.texts, b.String())
}

// WithAttrs returns a handler whose records have more attributes.
func (l *errorLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &errorLog{l.next.WithAttrs(attrs), slices.Concat(l.attrs, attrs), l.kept}
}

// WithGroup returns a handler whose next one opens a group.
func (l *errorLog) WithGroup(name string) slog.Handler {
	return &errorLog{l.next.WithGroup(name), l.attrs, l.kept}
}

// take returns the errors.
func (l *errorLog) take() []string {
	l.kept.mu.Lock()
	defer l.kept.mu.Unlock()
	return l.kept.texts
}

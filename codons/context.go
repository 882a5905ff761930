package codons

import (
	"context"
	"errors"
	"time"
)

// taskContext is the context of an agent's work on a task. It has the task's
// deadline without a timer of its own: the conversation keeps that time, and ends
// the context with [ErrDeadline].
type taskContext struct {
	context.Context //nolint:containedctx // it is one
	deadline        time.Time
	scope           *scope // nil for a decision
}

// working returns the context of a handler that works in a scope, and what ends it.
// Only the first cause counts.
func working(s *scope) (context.Context, context.CancelCauseFunc) {
	ctx, end := context.WithCancelCause(context.Background()) //nolint:forbidigo // the root of a task: nothing above it has a context
	return taskContext{ctx, s.deadline, s}, end
}

// considering returns the context of a decision, which nothing ends: it must not
// take long enough for that.
func considering(deadline time.Time) context.Context {
	return taskContext{Context: context.Background(), deadline: deadline} //nolint:forbidigo // the root of a task: nothing above it has a context
}

// Deadline returns the task's deadline.
func (c taskContext) Deadline() (time.Time, bool) { return c.deadline, true }

// Value returns the scope for its key.
func (c taskContext) Value(key any) any {
	if key == (scopeKey{}) && c.scope != nil {
		return c.scope
	}
	return c.Context.Value(key)
}

// Err returns context.DeadlineExceeded where the deadline ended the work.
func (c taskContext) Err() error {
	err := c.Context.Err()
	if err != nil && errors.Is(context.Cause(c.Context), context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return err
}

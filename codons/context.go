package codons

import (
	"context"
	"errors"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// taskContext is the context of an agent's work on a task. It has the task's
// deadline without a timer of its own: the conversation keeps that time, and ends
// the context with [ErrDeadline].
type taskContext struct {
	context.Context //nolint:containedctx // it is one
	deadline        time.Time
	scope           *scope
}

// working returns the context of a handler that works in a scope until the deadline,
// and what ends it. Only the first cause counts.
func working(s *scope, deadline time.Time) (context.Context, context.CancelCauseFunc) {
	ctx, end := context.WithCancelCause(context.Background()) //nolint:forbidigo // the root of a task: nothing above it has a context
	return taskContext{ctx, deadline, s}, end
}

// Deadline returns the task's deadline.
func (c taskContext) Deadline() (time.Time, bool) { return c.deadline, true }

// Value returns the scope for its key.
func (c taskContext) Value(key any) any {
	if key == (scopeKey{}) {
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

// decisionContext is the context of an agent's decision about a request.
type decisionContext struct {
	context.Context //nolint:containedctx // it is one
	deadline        time.Time
	request         *performatives.Message
}

// considering returns the context of a decision about a request, or of what comes after
// none, such as a notice: then request is nil. Nothing ends it: it must not take long
// enough for that.
func considering(deadline time.Time, request *performatives.Message) context.Context {
	return decisionContext{context.Background(), deadline, request} //nolint:forbidigo // the root of a task: nothing above it has a context
}

// Deadline returns the task's deadline.
func (c decisionContext) Deadline() (time.Time, bool) { return c.deadline, true }

// Value returns a scope, for its key, in which nothing can begin: what has not been
// taken on has no place in the tree, so that its depth and its end would bind nobody.
func (c decisionContext) Value(key any) any {
	if key != (scopeKey{}) || c.request == nil {
		return c.Context.Value(key)
	}
	s, err := openScope(c.request)
	if err != nil {
		return nil // the agent is not asked about such a request
	}
	s.deciding = true
	return s
}

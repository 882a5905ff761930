package codons

import (
	"context"
	"errors"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// taskContext is the context of a handler. It has the deadline of its scope without a timer of
// its own: the conversation has the timer, and ends the context with [ErrDeadline].
type taskContext struct {
	context.Context //nolint:containedctx // it is one
	scope           *scope
}

// workContext returns the context of a handler in a scope, and the function that ends it. Only
// the first cause counts.
func workContext(s *scope) (context.Context, context.CancelCauseFunc) {
	ctx, end := context.WithCancelCause(context.Background()) //nolint:forbidigo // the root: no context is above it
	return taskContext{ctx, s}, end
}

// Deadline returns the deadline of the latest request.
func (c taskContext) Deadline() (time.Time, bool) {
	c.scope.mu.Lock()
	defer c.scope.mu.Unlock()
	return c.scope.deadline, true
}

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
	deepest         int64
}

// considering returns the context of a decision about a request. The request is nil for code that
// handles a message without a conversation, such as a notice. Nothing ends the context, because
// a decision does not block. deepest is the largest depth below the work.
func considering(deadline time.Time, request *performatives.Message, deepest int64) context.Context {
	return decisionContext{context.Background(), deadline, request, deepest} //nolint:forbidigo // the root: no context is above it
}

// Deadline returns the deadline of the request.
func (c decisionContext) Deadline() (time.Time, bool) { return c.deadline, true }

// Value returns, for the key of scopes, a scope in which no child can begin: a request that has
// not been taken on has no scope yet whose depth and end could bind a child.
func (c decisionContext) Value(key any) any {
	if key != (scopeKey{}) || c.request == nil {
		return c.Context.Value(key)
	}
	s, err := openScope(c.request, c.deepest)
	if err != nil {
		return nil // such a request is refused before the decision
	}
	s.deciding = true
	return s
}

// ContextFor returns the context of code that handles a message without a conversation, such as a
// notice. Its deadline is the ReplyBy of the message, or [DefaultDeadline] from now. Nothing ends
// it, so the code must not wait for its end.
func ContextFor(m *performatives.Message) context.Context {
	return considering(Times{}.withDefaults().until(m, time.Now()), nil, 0)
}

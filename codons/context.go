package codons

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// taskContext is the context of a handler. It has the deadline of its scope without a timer of
// its own: the conversation has the timer, and ends the context with [ErrDeadline].
type taskContext struct {
	context.Context //nolint:containedctx // it is one
	handler         *Handler
}

// Deadline returns the deadline of the latest request.
func (c taskContext) Deadline() (time.Time, bool) {
	s := c.handler.scope
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deadline, true
}

// Value returns the scope and the caller for their keys.
func (c taskContext) Value(key any) any {
	switch key {
	case scopeKey{}:
		return c.handler.scope
	case actors.CallerKey{}:
		return c.handler.caller()
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

// decisionContext is the context of an agent's decision about a request. It ends with [ErrDeadline]
// at the deadline, with [actors.ErrStopped] when the agent stops, and when end is called. Most
// decisions do not wait, so that it has no timer before the first call that needs one.
type decisionContext struct {
	agent    actors.Self
	deadline time.Time
	request  *performatives.Message
	deepest  int64 // the largest depth below the work; negative for a notice
	live     atomic.Pointer[liveContext]
}

// liveContext ends with the deadline of a decision, or the stop of its agent.
type liveContext struct {
	context.Context //nolint:containedctx // it is one
	end             context.CancelFunc
}

// returned is the context of a decision that has returned.
var returned = func() *liveContext {
	ctx, end := context.WithCancelCause(context.Background()) //nolint:forbidigo // it has ended
	end(ErrEnded)
	return &liveContext{ctx, func() {}}
}()

// end ends the context after the decision.
func (c *decisionContext) end() {
	if before := c.live.Swap(returned); before != nil {
		before.end()
	}
}

// context returns the context that ends, and makes it on the first call.
func (c *decisionContext) context() context.Context {
	if l := c.live.Load(); l != nil {
		return l.Context
	}
	ctx, end := context.WithDeadlineCause(c.agent.Stopping(), c.deadline, ErrDeadline)
	if !c.live.CompareAndSwap(nil, &liveContext{ctx, end}) {
		end()
	}
	return c.live.Load().Context
}

// Deadline returns the deadline of the request.
func (c *decisionContext) Deadline() (time.Time, bool) { return c.deadline, true }

// Done is closed at the end of the context.
func (c *decisionContext) Done() <-chan struct{} { return c.context().Done() }

// Err returns why the context has ended, nil before its end.
func (c *decisionContext) Err() error { return c.context().Err() }

// Value returns, for the key of scopes, a scope in which no child can begin: a request that has
// not been taken on has no scope yet whose depth and end could bind a child.
func (c *decisionContext) Value(key any) any {
	switch key {
	case actors.CallerKey{}:
		return actors.Caller{
			Agent: c.agent, OnActor: c.deepest >= 0, Protocol: c.request.Protocol(),
			Conversation: c.request.ConversationID(), Peer: c.request.Sender(),
		}
	case scopeKey{}:
		if c.deepest < 0 {
			return nil
		}
		s, err := openScope(c.request, c.deepest)
		if err != nil {
			return nil // such a request is refused before the decision
		}
		s.deciding = true
		return s
	}
	return c.context().Value(key)
}

// ContextFor returns the context of code in which an agent handles a message without a
// conversation, such as a notice. It ends at the ReplyBy of the message, or [DefaultDeadline] from
// now, and when the agent stops. It goes on after the code has returned, for the conversations that
// it has begun.
func ContextFor(agent actors.Self, m *performatives.Message) context.Context {
	return &decisionContext{agent: agent, deadline: Times{}.withDefaults().until(m, time.Now()), request: m, deepest: -1}
}

package actors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// ErrSelfWait is the error of a call that would wait for its own caller: for instance [System.Stop]
// with the ctx of a handler, or [Self.Do] with the ctx of a decision of the same agent. The call
// has had no effect.
var ErrSelfWait = errors.New("actors: the call would wait for the code that makes it")

// Caller names code of an agent. A ctx given to such code, and each ctx derived from it, has it as
// the value of the key [CallerKey].
type Caller struct {
	Agent        Self
	OnActor      bool   // the code runs on the agent's own actor
	Protocol     string // of its conversation
	Job          string // its name in the table of the codon; empty for a decision
	Conversation performatives.ConversationID
	Peer         performatives.AgentID
}

// CallerKey is the key of the [Caller] of a ctx.
type CallerKey struct{}

// callerOf returns the caller of ctx if it is code of an agent of s.
func (s *System) callerOf(ctx context.Context) (c Caller, ok bool) {
	c, ok = ctx.Value(CallerKey{}).(Caller)
	return c, ok && c.Agent.c != nil && c.Agent.c.sys == s
}

// CheckWait returns an error that wraps [ErrSelfWait] and names the caller if ctx is that
// of code for which [System.Stop] waits. Call it before a step that precedes Stop.
func (s *System) CheckWait(ctx context.Context) error {
	if c, ok := s.callerOf(ctx); ok {
		return c.selfWait()
	}
	return nil
}

// checkActor returns an error that wraps [ErrSelfWait] if ctx is that of code on the
// agent's own actor.
func (c *cell) checkActor(ctx context.Context) error {
	if caller, ok := c.sys.callerOf(ctx); ok && caller.OnActor && caller.Agent.c == c {
		return caller.selfWait()
	}
	return nil
}

func (c Caller) selfWait() error { return fmt.Errorf("%w: %s", ErrSelfWait, c) }

// String returns the names on one line, for errors.
func (c Caller) String() string {
	what := "the handler " + c.Job
	if c.Job == "" {
		what = "a decision"
	}
	return fmt.Sprintf("%s of agent %.64q, protocol %s, conversation %.64q, peer %.64q", what, c.Agent.ID(), c.Protocol, c.Conversation, c.Peer)
}

// args returns the names as the attributes of a line of the log.
func (c Caller) args() []any {
	return []any{"agent", string(c.Agent.ID()), "protocol", c.Protocol, "job", c.Job, "conversation", string(c.Conversation), "peer", string(c.Peer)}
}

// stopSignal is the context of [Self.Stopping].
type stopSignal struct {
	context.Context //nolint:containedctx // it is one
	end             context.CancelCauseFunc
}

// stopped is the signal of an agent that has been told to stop before it was asked for.
var stopped = func() *stopSignal {
	ctx, end := context.WithCancelCause(context.Background()) //nolint:forbidigo // it has ended
	end(ErrStopped)
	return &stopSignal{ctx, end}
}()

// Stopping returns a context that ends with [ErrStopped] when the agent is told to stop for
// good, also while its actor is busy.
func (s Self) Stopping() context.Context {
	if at := s.c.stopSignal.Load(); at != nil {
		return at.Context
	}
	ctx, end := context.WithCancelCause(context.Background()) //nolint:forbidigo // the agent's stop ends it
	if s.c.stopSignal.CompareAndSwap(nil, &stopSignal{ctx, end}) {
		return ctx
	}
	end(nil)
	return s.c.stopSignal.Load().Context
}

// signalStop ends the context of [Self.Stopping].
func (c *cell) signalStop() {
	if before := c.stopSignal.Swap(stopped); before != nil {
		before.end(ErrStopped)
	}
}

// Outlive records code of an agent that goes on although its conversation has ended, so that
// [System.Stop] can name it. The caller must call returned when it has returned.
func (s *System) Outlive(c Caller) (returned func()) {
	key := &c
	s.outliving.Store(key, struct{}{})
	return func() { s.outliving.Delete(key) }
}

// deadlineRounding is the largest time by which a peer's form of a deadline is earlier than the
// deadline: dialects write milliseconds.
const deadlineRounding = time.Millisecond

// DeadlinePassed reports whether a caller's own deadline has passed at a time. The zero deadline
// never has. An error of the peer that comes then is as good as the caller's own timer, whichever
// is first. An error before that is about a deadline within the peer's work.
func DeadlinePassed(by, now time.Time) bool {
	return !by.IsZero() && !now.Before(by.Add(-deadlineRounding))
}

// EndOf returns the reason for the end of ctx: its cause, which wraps the error of ctx too. It
// may be called only once ctx has ended.
func EndOf(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

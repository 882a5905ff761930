package actors

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Self is an agent's handle of itself: what its methods, its conversations and
// whoever holds it act through. All its methods may be called from any
// goroutine. The zero Self is not valid.
type Self struct{ c *cell }

// Self returns s, so that an agent's handle can start conversations itself.
func (s Self) Self() Self { return s }

// ID returns the agent's id as it was registered.
func (s Self) ID() performatives.AgentID { return s.c.spec.ID }

// Describe returns what the agent said it can do: before it started, or in its last
// [Self.Announce]. Do not change it.
func (s Self) Describe() performatives.Capabilities {
	if c := s.c.announced.Load(); c != nil {
		return *c
	}
	return s.c.describes
}

// PID returns the agent's actor: the way down to the engine.
func (s Self) PID() *actor.PID { return s.c.pid.Load() }

// System returns the system that the agent runs in.
func (s Self) System() *System { return s.c.sys }

// Logger returns a logger that names the node and the agent.
func (s Self) Logger() *slog.Logger {
	return s.c.sys.opts.Logger.With("agent", string(s.ID()))
}

// Stamp returns the identity of a new message.
func (s Self) Stamp() performatives.Stamp { return s.c.sys.opts.Stamper.Stamp() }

// Send routes a message of this agent's. An error is a [*performatives.Refusal]
// and means that the message was not delivered and nobody will answer it; with a
// nil error, an answer or a refusal may come as a message. A message that names
// another sender is refused with [performatives.CodeForbidden].
func (s Self) Send(m *performatives.Message) error {
	if !m.Sender().Is(s.ID()) {
		return &performatives.Refusal{Code: performatives.CodeForbidden, About: m.ID(), Field: "sender", Text: "an agent may only send in its own name"}
	}
	return s.c.sys.send(m)
}

// Ask sends a message and waits for the first answer to it, which may be a
// refusal: see [performatives.Message.AsRefusal]. The error is that of Send, or the
// cause of ctx's end, or [ErrStopped] when the agent that asks stops first. It must
// not be called on the agent's own actor, which could not take the answer. What
// else comes goes to the agent, as if it had not asked.
func (s Self) Ask(ctx context.Context, m *performatives.Message) (*performatives.Message, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	a := &asking{m, make(chan *performatives.Message, 1)}
	as := s.c.openAsks()
	if !as.add(a) {
		return nil, ErrStopped
	}
	defer as.remove(a)
	if err := s.Send(m); err != nil {
		return nil, err
	}
	select {
	case answer := <-a.answer:
		if answer == nil {
			return nil, ErrStopped
		}
		return answer, nil
	case <-ctx.Done():
		as.remove(a) // what has come by now is still the answer
		select {
		case answer := <-a.answer:
			if answer != nil {
				return answer, nil
			}
			return nil, ErrStopped
		default:
			return nil, context.Cause(ctx)
		}
	}
}

// Do runs fn on the agent's actor and waits until it has returned. It fails with
// [ErrMailboxFull], or with [ErrStopped] when the agent stops before, or with the
// [*PanicError] that fn panicked with, which is a failure of the agent too. When
// ctx ends first, it returns the cause, and fn may still run. It must not be called
// on the agent's own actor.
func (s Self) Do(ctx context.Context, fn func(Agent)) error {
	done := make(chan error, 1)
	err := s.post(&do{fn: func(a Agent) { done <- reraise(a, fn, done) }, refused: func() { done <- ErrStopped }})
	if err != nil {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// reraise calls fn, and tells of its panic before that goes on.
func reraise(a Agent, fn func(Agent), failed chan<- error) error {
	returned := false
	defer func() {
		if returned {
			return
		}
		v := recover()
		if v == nil { // runtime.Goexit goes on by itself
			failed <- errGoexit
			return
		}
		err := panicError(v)
		failed <- err
		panic(err)
	}()
	fn(a)
	returned = true
	return nil
}

// Later has fn run on the agent's actor, and does not wait. With [ErrStopped] or
// [ErrMailboxFull] it never runs; with a nil error it runs unless the agent stops
// first.
func (s Self) Later(fn func(Agent)) error { return s.post(&do{fn: fn}) }

// After has fn run on the agent's actor once d has passed, unless the agent has
// stopped by then or stop was called. stop reports whether it came in time. The
// bounds of the mailbox do not apply to it, so that no timer is lost. It outlives a
// restart: fn gets the agent's value of that time.
func (s Self) After(d time.Duration, fn func(Agent)) (stop func() bool) {
	return s.c.sys.AfterFunc(d, func() {
		_ = s.post(&alarm{do{fn: fn}}) // it has stopped
	})
}

// Watch has fn run on the agent's actor once the agent with that id has stopped;
// at once when there is none. It watches agents of this node. A restart of this
// agent ends its watches, and so does its stop. It fails with [ErrStopped] or
// [ErrMailboxFull].
func (s Self) Watch(id performatives.AgentID, fn func(Agent)) error {
	return s.post(&watch{id: id, fn: fn})
}

// Begin opens a conversation of this agent, on the side that asks. With an error
// it never ran: [ErrStopped], also when the node is about to stop, or
// [ErrMailboxFull].
func (s Self) Begin(c Conversation) error {
	if s.c.sys.draining.Load() {
		return ErrStopped
	}
	return s.post(&begin{c})
}

// Alias lets messages that refer to ref, the id or reply_with of a message that
// the conversation with that key is about to send, find the conversation.
func (s Self) Alias(k Key, ref string) error {
	return s.post(&alias{k, performatives.ConversationID(ref)})
}

// End says that a conversation of this agent is over; its actor is stopped. late
// answers messages that come afterwards and reports whether it did; nil answers
// none.
func (s Self) End(c Conversation, late func(*performatives.Message) bool) {
	if err := s.post(&end{c, late}); err != nil && !errors.Is(err, ErrStopped) {
		s.Logger().Error("conversation not ended", "conversation", string(c.Key().ID), "err", err)
	}
}

// Return gives back a message that reached a conversation after its End: the agent
// handles it as if it had come just now, once that End has taken effect.
func (s Self) Return(m *performatives.Message) {
	if s.post(&again{m}) != nil { // exempt from the mailbox's bounds: the agent has stopped
		s.c.sys.refuse(s.ID(), m, performatives.CodeStopped, "")
	}
}

// post puts a command into the agent's own mailbox.
func (s Self) post(command any) error { return s.c.mailbox.Post(command) }

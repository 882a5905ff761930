package actors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Self is the handle of an agent. The agent's methods, its conversations and other code
// use it to act as the agent. All methods may be called from any goroutine. The zero Self
// is not valid.
type Self struct{ c *cell }

// Self returns s. With it a Self can start conversations, like an agent.
func (s Self) Self() Self { return s }

// ID returns the agent's id as registered.
func (s Self) ID() performatives.AgentID { return s.c.id }

// PID returns the agent's actor in the engine.
func (s Self) PID() *actor.PID { return s.c.pid.Load() }

// Queued returns the number of messages of a priority in the agent's mailbox. While messages are
// posted, it is approximate.
func (s Self) Queued(p performatives.Priority) int { return s.c.mailbox.Len(p) }

// Work runs fn, a handler of a conversation of the agent, as [System.Work] does.
func (s Self) Work(fn func()) { s.c.sys.workFor(s.c, fn) }

// Working returns the number of handlers of the agent that run, including abandoned ones.
func (s Self) Working() int { return int(s.c.working.Load()) }

// System returns the agent's system.
func (s Self) System() *System { return s.c.sys }

// Logger returns a logger with the keys node and agent.
func (s Self) Logger() *slog.Logger {
	return s.c.sys.opts.Logger.With("agent", string(s.ID()))
}

// Stamp returns the id and time of a new message.
func (s Self) Stamp() performatives.Stamp { return s.c.sys.opts.Stamper.Stamp() }

// Send routes a message from this agent. An error is a [*performatives.Refusal] and means
// that the message was not delivered and gets no reply. After a nil error, a reply or a
// refusal may arrive as a message. A message with another sender is refused with
// [performatives.CodeForbidden].
func (s Self) Send(m *performatives.Message) error {
	_, err := s.sendTo(nil, m)
	return err
}

// sendTo is Send. to is the entry that the receiver had before, at the present one: see
// [System.route].
func (s Self) sendTo(to *Registration, m *performatives.Message) (at *Registration, err error) {
	if !m.Sender().Is(s.ID()) {
		return nil, &performatives.Refusal{Code: performatives.CodeForbidden, About: m.ID(), Field: "sender", Text: "an agent may only send under its own id"}
	}
	if s.c.spec.Activation != 0 {
		m.Activate(s.c.spec.Activation)
	}
	return s.c.sys.send(m, s.c, to, s.c.sys.opts.Entrance)
}

// Ask sends a message and waits for the first reply to it, which may be a refusal: see
// [performatives.Message.AsRefusal]. The error is that of Send, the end of ctx as [EndOf] returns
// it, or [ErrStopped] when this agent stops first. When the deadline of ctx or the ReplyBy of m has
// passed, it is context.DeadlineExceeded, also if a refusal comes first. If Ask ends without a
// reply, a receiver of another process gets CANCEL. Further replies go to the agent like other
// messages.
//
// Ask must not be called on the agent's own actor, which receives the reply: with the ctx of a
// decision there, it fails with [ErrSelfWait].
func (s Self) Ask(ctx context.Context, m *performatives.Message) (*performatives.Message, error) {
	if ctx.Err() != nil {
		return nil, EndOf(ctx)
	}
	if err := s.c.checkActor(ctx); err != nil {
		return nil, fmt.Errorf("actors: ask: %w", err)
	}
	by, limited := ctx.Deadline()
	own := m.ReplyBy()
	r := &pendingRequest{
		request: m, losses: s.c.sys.losses.Load(), ends: (limited || !own.IsZero()) && m.Performative().ExpectsReply(),
		reply: make(chan *performatives.Message, 1),
	}
	pending := s.c.pendingRequests()
	if !pending.add(r) {
		return nil, ErrStopped
	}
	defer pending.remove(r)
	if err := s.Send(m); err != nil {
		return nil, err
	}
	var late <-chan time.Time
	if wait := time.Until(own); wait > 0 && (!limited || own.Before(by)) { // one that has passed is for the receiver to refuse
		timer := time.NewTimer(wait)
		defer timer.Stop()
		by, late = own, timer.C
	}
	var answer *performatives.Message
	end := ErrStopped
	select {
	case answer = <-r.reply:
	case <-ctx.Done():
		end = EndOf(ctx)
	case <-late:
		end = context.DeadlineExceeded
	}
	if answer == nil {
		if pending.remove(r); len(r.reply) > 0 { // it arrived before the removal
			answer = <-r.reply
		}
	}
	if answer == nil {
		s.c.sys.opts.OnAbandon(m)
		return nil, end
	}
	if refusal := answer.AsRefusal(); refusal != nil && DeadlinePassed(by, time.Now()) {
		return nil, fmt.Errorf("%w: %w", context.DeadlineExceeded, refusal)
	}
	return answer, nil
}

// Do runs fn on the agent's actor and waits until it has returned. It fails with [ErrMailboxFull],
// with [ErrStopped] when the agent stops first, or with the [*PanicError] of a panic in fn, which
// also counts as a failure of the agent. When ctx ends first, it returns the cause, and fn may
// still run. Do must not be called on the agent's own actor: with the ctx of a decision there, it
// fails with [ErrSelfWait], and any other call waits for the end of its ctx. A conversation of the
// agent that calls it needs a ctx with an end: the stop of the agent waits for the conversation.
func (s Self) Do(ctx context.Context, fn func(Agent)) error {
	if err := s.c.checkActor(ctx); err != nil {
		return fmt.Errorf("actors: do: %w", err)
	}
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

// reraise calls fn. It sends a panic of fn to failed and then raises it again.
func reraise(a Agent, fn func(Agent), failed chan<- error) error {
	returned := false
	defer func() {
		if returned {
			return
		}
		v := recover()
		if v == nil { // runtime.Goexit continues by itself
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

// Later runs fn on the agent's actor, without waiting. When it returns [ErrStopped] or
// [ErrMailboxFull], fn never runs. After a nil error, fn runs unless the agent stops
// first.
func (s Self) Later(fn func(Agent)) error { return s.post(&do{fn: fn}) }

// Watch runs fn on the agent's actor after the agent with that id has stopped or, of another
// process, was removed from the directory. It runs fn at once when there is no such agent in this
// system. A restart or stop of this agent ends its watches. Watch fails with [ErrStopped] or
// [ErrMailboxFull].
func (s Self) Watch(id performatives.AgentID, fn func(Agent)) error {
	return s.post(&watch{id: id, fn: fn})
}

// Begin opens a conversation in which this agent is the initiator. It fails with
// [ErrMailboxFull], or with [ErrStopped] when the agent has stopped or the system is
// stopping; the conversation then never starts.
func (s Self) Begin(c Conversation) error {
	if s.c.sys.draining.Load() {
		return ErrStopped
	}
	b := &c.Actor().begin
	*b = begin{c}
	return s.post(b)
}

// Alias adds an id under which the conversation with key k is found. ref is the id or
// reply_with of a message that the conversation is about to send.
func (s Self) Alias(k Key, ref string) error {
	return s.post(&alias{k, performatives.ConversationID(ref)})
}

// End marks a conversation of this agent as over, and ends its actor: messages that it has
// not handled go back to the agent. The tombstone gets the messages that arrive for the
// conversation afterwards. Nil keeps none.
func (s Self) End(c Conversation, t Tombstone) {
	a := c.Actor()
	a.end = end{c, t}
	if err := s.post(&a.end); err != nil && !errors.Is(err, ErrStopped) {
		s.Logger().Error("conversation not ended", "conversation", string(c.Key().ID), "err", err)
	}
	a.close()
}

// Return sends a message that reached a conversation after its End back to the agent. The
// agent handles it like a new message, after the End has taken effect.
func (s Self) Return(m *performatives.Message) {
	if s.post(&redelivery{m}) != nil { // the command is exempt from the bounds: the agent has stopped
		s.c.sys.RefuseCopy(s.ID(), m, agentStopped)
	}
}

// post sends a command to the agent's own mailbox.
func (s Self) post(command any) error { return s.c.mailbox.post(command, 0).Err() }

// Backlog returns how many messages of a priority wait in the agent's mailbox, and when the oldest
// of them entered the node ([performatives.Message.Arrived]), the zero time without one. Both have
// the precision of [Mailbox.UserMessageCount].
func (s Self) Backlog(p performatives.Priority) (messages int, oldest time.Time) {
	b := s.c.mailbox.bands[p.Band()].Load()
	if b == nil {
		return 0, oldest
	}
	return b.len(), b.oldest()
}

// Local returns the value that a codon has stored with the agent under key. On the first
// call for a key it stores the result of fresh; of concurrent first calls, one result is
// stored and returned to all. The value survives restarts of the agent. key must be
// comparable, and its type must be unexported by the codon's package, so that no other
// package uses the same key. fresh must not call Local.
func (s Self) Local(key any, fresh func() any) any {
	l := s.c.locals.Load()
	if l == nil {
		s.c.locals.CompareAndSwap(nil, &sync.Map{})
		l = s.c.locals.Load()
	}
	if v, ok := l.Load(key); ok {
		return v
	}
	v, _ := l.LoadOrStore(key, fresh())
	return v
}

// Context is the argument of an agent's hooks: [Self] plus the methods that are valid
// only on the agent's actor. It must not be used after the hook returns.
type Context struct {
	Self
	engine actor.Context
}

// Engine returns the engine's context of the current message. It gives access to engine
// features that this package does not wrap.
func (c *Context) Engine() actor.Context { return c.engine }

// Reply answers m with a payload. The act is that of the payload's type. See [Self.Send].
func (c *Context) Reply(m *performatives.Message, payload any) error {
	return c.ReplyAs(m, 0, payload)
}

// ReplyAs answers m with the given act. A zero act means that of the payload's type.
func (c *Context) ReplyAs(m *performatives.Message, act performatives.Performative, payload any) error {
	reply, err := m.ReplyFrom(c.ID(), c.Stamp(), act, payload)
	if err != nil {
		return err
	}
	return c.Send(reply)
}

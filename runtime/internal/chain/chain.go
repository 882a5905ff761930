package chain

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// Handle is the function of a middleware. It returns the message to pass on, or an error.
type Handle = func(ctx context.Context, m *performatives.Message) (*performatives.Message, error)

// Origin says where a message entered the node.
type Origin uint8

// The origins.
const (
	Local   Origin = iota // an agent of this process has sent it, or the node
	Session               // a session that the other end has opened
	Uplink                // a session that this node has opened
)

// String returns local, session or uplink.
func (o Origin) String() string {
	if names := [...]string{"local", "session", "uplink"}; int(o) < len(names) {
		return names[o]
	}
	return fmt.Sprintf("Origin(%d)", uint8(o))
}

type originKey struct{}

// OriginOf returns the origin of the message that a middleware handles with ctx. For any other ctx
// it is Local.
func OriginOf(ctx context.Context) Origin {
	o, _ := ctx.Value(originKey{}).(Origin)
	return o
}

// Chain is the middleware of a node. It is the entrance of the node's actor system: an
// [actors.Router]. The nil Chain has no middleware.
type Chain struct {
	system  func() *actors.System
	onward  func(m *performatives.Message, to performatives.AgentID) error
	refused func(by string, from Origin, m *performatives.Message, code performatives.Code, fault bool)
	links   []*link
	waits   bool // a link has a timeout
	ctx     [Uplink + 1]context.Context

	mu      sync.Mutex
	waiting map[waitingKey][]*performatives.Message // only senders that have a goroutine in enterAll
}

// New returns a chain without middleware. system returns the node's actor system, and is called
// with the first message. onward routes a message of an agent of this process that has passed the
// chain, with the agent that [Chain.Run] returns for it. refused is told that the middleware by has
// refused a message, or failed.
func New(
	system func() *actors.System,
	onward func(m *performatives.Message, to performatives.AgentID) error,
	refused func(by string, from Origin, m *performatives.Message, code performatives.Code, fault bool),
) *Chain {
	c := &Chain{system: system, onward: onward, refused: refused, waiting: make(map[waitingKey][]*performatives.Message)}
	for o := range c.ctx {
		c.ctx[o] = context.WithValue(context.Background(), originKey{}, Origin(o)) //nolint:forbidigo,gosec // the life of a message that is passed on at once
	}
	return c
}

// Add appends a middleware, before the first message. The name is unique. A middleware without a
// timeout does not wait.
func (c *Chain) Add(name string, handle Handle, timeout time.Duration) {
	c.links = append(c.links, &link{name: name, call: handle, timeout: timeout})
	c.waits = c.waits || timeout > 0
}

// Counts calls yield with the totals of each middleware, in their order.
func (c *Chain) Counts(yield func(name string, passed, changed, routed, refused, failed uint64)) {
	if c == nil {
		return
	}
	for _, l := range c.links {
		yield(l.name, l.passed.Load(), l.changed.Load(), l.routed.Load(), l.refused.Load(), l.failed.Load())
	}
}

// Run passes a message through the chain, and returns it. Its receiver is the one that its sender
// has named, unless it is a notice. to is the agent that the message was routed to; empty: its
// receiver. The error is a [*performatives.Refusal], and the message then the one that Run got.
func (c *Chain) Run(from Origin, m *performatives.Message) (out *performatives.Message, to performatives.AgentID, err error) {
	if c == nil {
		return m, "", nil
	}
	out = m
	for _, l := range c.links {
		next, err := l.handle(c.ctx[from], c.system(), out)
		if err == nil {
			err = check(out, next)
		}
		if err != nil {
			return m, "", c.refuse(l, from, m, err)
		}
		l.passed.Add(1)
		if next != out {
			l.changed.Add(1)
			if !next.Receiver().Is(out.Receiver()) {
				l.routed.Add(1)
			}
		}
		out = next
	}
	return c.route(m, out)
}

// route tells apart the meanings of a changed receiver.
func (c *Chain) route(m, out *performatives.Message) (*performatives.Message, performatives.AgentID, error) {
	to := out.Receiver()
	switch {
	case to.Is(m.Receiver()), m.Receiver() == "":
		return out, "", nil
	case m.InReplyTo() == "" && m.Performative().ExpectsReply() && m.Performative() != performatives.ActCancel:
	case m.InReplyTo() == "" && m.Performative() != performatives.ActCancel && !c.system().Conversing(m.Sender(), m.ConversationID(), m.Receiver()):
		return out, "", nil
	default:
		to = "" // it goes where its conversation is
	}
	out, err := out.With(func(e *performatives.Envelope) { e.Receiver = m.Receiver() })
	return out, to, err // no error: m has that receiver
}

// refuse counts, tells and logs that a link has refused m, and returns the refusal for its sender.
func (c *Chain) refuse(l *link, from Origin, m *performatives.Message, err error) *performatives.Refusal {
	r, panicked := performatives.RefusalOf(err), new(actors.PanicError)
	failed := errors.As(err, &panicked) || r == nil
	if failed {
		r = performatives.Refused(performatives.CodeMiddleware, fmt.Sprintf("the middleware %q failed", l.name))
		l.failed.Add(1)
		args := []any{
			"middleware", l.name, "performative", m.Performative().String(), "agent", string(m.Sender()), "conversation", string(m.ConversationID()),
			"origin", from.String(), "err", err,
		}
		if panicked.Stack != nil {
			args = append(args, "stack", string(panicked.Stack))
		}
		c.system().Logger().Error("middleware failed", args...)
	} else {
		copied := *r
		r = &copied
		r.Code = cmp.Or(r.Code, performatives.CodeForbidden)
		l.refused.Add(1)
	}
	r.About, r.From = m.ID(), ""
	c.refused(l.name, from, m, r.Code, failed)
	return r
}

// check checks a middleware's change of a message, and a payload that was changed as text. The
// error wraps no refusal: it is a fault.
func check(m, next *performatives.Message) error {
	switch next {
	case m:
		return nil
	case nil:
		return errors.New("it has returned neither a message nor an error")
	}
	for _, f := range [...]struct {
		name string
		same bool
	}{
		{"message_id", next.ID() == m.ID()},
		{"performative", next.Performative() == m.Performative()},
		{"sender", next.Sender() == m.Sender()},
		{"receiver to none", next.Receiver() != "" || m.Receiver() == ""},
		{"conversation_id", next.ConversationID() == m.ConversationID()},
		{"protocol", next.Protocol() == m.Protocol()},
		{"in_reply_to", next.InReplyTo() == m.InReplyTo()},
		{"reply_with", next.ReplyWith() == m.ReplyWith()},
		{"principal", next.Principal() == m.Principal()},
		{"activation", next.Activation() == m.Activation() && next.Answered() == m.Answered()},
	} {
		if !f.same {
			return fmt.Errorf("it has changed %s", f.name)
		}
	}
	raw, is := next.Payload().(performatives.Raw)
	if !is || next.MessageType() != "" {
		return nil // New has validated it
	}
	if before, was := m.Payload().(performatives.Raw); was && bytes.Equal(before, raw) {
		return nil
	}
	payload, err := (*performatives.Registry)(nil).DecodePayload(next.Performative(), "", []byte(raw)) // as a dialect would have
	if err == nil {
		err = performatives.CheckPayload(next.Performative(), payload)
	}
	if err != nil {
		return errors.New("it has made an invalid payload: " + err.Error())
	}
	return nil
}

// WaitingCapacity is how many messages of one sender and priority wait for middleware with a
// timeout.
const WaitingCapacity = 1024

// waitingKey is a sender and a priority, which have an order.
type waitingKey struct {
	sender   performatives.AgentID // folded
	priority performatives.Priority
}

// Route passes m through the chain and on: at once, or behind other messages of its sender if a
// middleware may wait.
func (c *Chain) Route(m *performatives.Message) error {
	if !c.waits {
		return c.enter(m)
	}
	key := waitingKey{m.Sender().Fold(), m.Priority()}
	c.mu.Lock()
	defer c.mu.Unlock()
	before, busy := c.waiting[key]
	if len(before) >= WaitingCapacity {
		return m.Refused(performatives.CodeBusy, "too many messages of the sender wait for middleware")
	}
	c.waiting[key] = append(before, m)
	if !busy {
		c.system().Work(func() { c.enterAll(key) })
	}
	return nil
}

// enterAll passes on the messages of one sender and priority, one after another, until none waits.
func (c *Chain) enterAll(key waitingKey) {
	for {
		c.mu.Lock()
		all := c.waiting[key]
		if len(all) == 0 {
			delete(c.waiting, key)
			c.mu.Unlock()
			return
		}
		m := all[0]
		all[0] = nil
		c.waiting[key] = all[1:]
		c.mu.Unlock()
		if err := c.enter(m); err != nil {
			r := wire.AsRefusal(err)
			c.system().RefuseCopy(cmp.Or(r.From, m.Receiver()), m, r)
		}
	}
}

func (c *Chain) enter(m *performatives.Message) error {
	m, to, err := c.Run(Local, m)
	if err != nil {
		return err
	}
	return c.onward(m, to)
}

// MaxLate is how many calls of one middleware may run beyond its timeout. While so many do, further
// messages are refused.
const MaxLate = 256

// link is one middleware of a chain.
type link struct {
	name    string
	call    Handle
	timeout time.Duration

	passed, changed, routed, refused, failed atomic.Uint64
	late                                     atomic.Int64 // calls beyond the timeout
}

// handle calls the function of the middleware, for at most its timeout.
func (l *link) handle(ctx context.Context, s *actors.System, m *performatives.Message) (*performatives.Message, error) {
	if l.timeout == 0 {
		return l.run(ctx, m)
	}
	if l.late.Load() >= MaxLate {
		return nil, fmt.Errorf("%d earlier calls have not returned", MaxLate)
	}
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	var next *performatives.Message
	var err error
	done := make(chan struct{})
	s.Work(func() {
		defer close(done) // also at a runtime.Goexit
		next, err = l.run(ctx, m)
	})
	turn := s.Turn()
	defer turn()
	select {
	case <-done:
		return next, err
	case <-ctx.Done():
	}
	l.late.Add(1)
	s.Work(func() {
		<-done
		l.late.Add(-1)
	})
	return nil, fmt.Errorf("it has not returned within %v", l.timeout)
}

// run calls the function of the middleware and makes an error of a panic.
func (l *link) run(ctx context.Context, m *performatives.Message) (next *performatives.Message, err error) {
	defer func() {
		if v := recover(); v != nil { // runtime.Goexit continues by itself
			next, err = nil, &actors.PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return l.call(ctx, m)
}

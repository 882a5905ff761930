package runtime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Middleware is one part of a node's chain: see [Options].Middleware. It sees each message once,
// where the message enters the node: as an agent of this process sends it, as [Node.Send] gets it,
// and as a session of [Peers] or of an [Uplink] has read it. A message of another node of the
// cluster has passed the chain there. Messages that the node makes itself pass no chain: refusals,
// the answers of namespaces and of the Whispering Wind, and the end of a request whose connection
// is lost.
//
// Handle returns the message to pass on: m itself, or a changed copy
// ([performatives.Message.With]). An error refuses m: its sender gets a [*performatives.Refusal]
// with its code and text. Any other error, a panic, no message, and a change that is not allowed
// are faults: they are logged as errors, and the sender gets [performatives.CodeMiddleware] with
// the name of the middleware and nothing else. A refused message that expects no reply is a dead
// letter, as everywhere.
//
// A middleware may change the payload, which is validated again, the receiver, the priority, the
// deadline, the message type, ontology, language, trace, budget and metadata. It may not change the
// id, the act, the sender, the conversation, the protocol, in_reply_to, reply_with or the
// principal.
//
// A changed receiver of the request that opens a conversation routes the conversation: the request
// and all further messages go to the new receiver, which must be an agent. For the sender nothing
// changes: replies come under the name to which it has sent the request. A change of the receiver
// of any other message of a conversation has no effect. Copies of one message must get the same
// receiver.
//
// Handle may be called from many goroutines at once. Messages of one sender and priority pass one
// after another, in their order.
type Middleware struct {
	// Name is unique in the chain, and in the log, the events, the counts and the refusals.
	// Required.
	Name string

	// Handle is called with each message. Required. ctx has the [Origin] of the message; with a
	// Timeout it ends then.
	Handle func(ctx context.Context, m *performatives.Message) (*performatives.Message, error)

	// Timeout is for a middleware that waits for anything, such as another system: how long Handle
	// may take. A message that takes longer is refused as a fault, and what Handle returns later is
	// dropped. Handle then runs on a goroutine of its own, at most MaxLate of which may be late.
	// Messages wait in a queue of their sender, of [WaitingCapacity] messages a priority, and are
	// refused as busy beyond it. A session reads its next message once this one has passed.
	//
	// Zero means that Handle does not wait. It runs on the goroutine of the sender, which it would
	// hold up.
	Timeout time.Duration
}

// The bounds of middleware that waits.
const (
	// WaitingCapacity is how many messages of one sender and priority wait for middleware with a
	// Timeout.
	WaitingCapacity = 1024

	// MaxLate is how many calls of one Handle may run beyond its Timeout. While so many do, further
	// messages are refused.
	MaxLate = 256
)

// Origin says where a message entered the node.
type Origin uint8

// The origins.
const (
	OriginLocal   Origin = iota // an agent of this process has sent it, or Node.Send
	OriginSession               // a session of [Peers]
	OriginUplink                // the session of an [Uplink]
)

// String returns local, session or uplink.
func (e Origin) String() string {
	switch e {
	case OriginLocal:
		return "local"
	case OriginSession:
		return "session"
	case OriginUplink:
		return "uplink"
	}
	return fmt.Sprintf("Origin(%d)", uint8(e))
}

type originKey struct{}

// OriginOf returns where the message entered that a [Middleware] handles with ctx. For any other
// ctx it is OriginLocal.
func OriginOf(ctx context.Context) Origin {
	e, _ := ctx.Value(originKey{}).(Origin)
	return e
}

// MiddlewareCounts are the totals of one [Middleware] since the node started. Each message that it
// got is in one of Passed, Refused and Failed.
type MiddlewareCounts struct {
	Name    string `json:"name"`
	Passed  uint64 `json:"passed"`  // passed on, changed or not
	Changed uint64 `json:"changed"` // of these, those that it changed
	Routed  uint64 `json:"routed"`  // of those, those with another receiver
	Refused uint64 `json:"refused"` // by a refusal
	Failed  uint64 `json:"failed"`  // faults
}

// KindMiddlewareRefused is the kind of [MiddlewareRefused].
const KindMiddlewareRefused events.Kind = "middleware.refused"

// MiddlewareRefused says that a [Middleware] has refused a message, or failed.
type MiddlewareRefused struct {
	events.At
	Middleware string                  `json:"middleware"`
	Message    performatives.MessageID `json:"message_id"`
	Sender     performatives.AgentID   `json:"sender"`
	Origin     string                  `json:"origin"` // local, session or uplink
	Code       performatives.Code      `json:"code"`
	Fault      bool                    `json:"fault"` // it has failed: the log says why
}

// Kind returns KindMiddlewareRefused.
func (MiddlewareRefused) Kind() events.Kind { return KindMiddlewareRefused }

// Middleware returns the counts of the node's middleware, in its order. It is nil without any.
func (n *Node) Middleware() []MiddlewareCounts {
	if n.chain == nil {
		return nil
	}
	all := make([]MiddlewareCounts, len(n.chain.links))
	for i := range n.chain.links {
		l := &n.chain.links[i]
		all[i] = MiddlewareCounts{l.Name, l.passed.Load(), l.changed.Load(), l.routed.Load(), l.refused.Load(), l.failed.Load()}
	}
	return all
}

// chain is the middleware of a node.
type chain struct {
	node  *Node
	links []chainLink
	waits bool // a link has a Timeout
	ctx   [OriginUplink + 1]context.Context
}

// chainLink is one middleware of a chain.
type chainLink struct {
	Middleware
	passed, changed, routed, refused, failed atomic.Uint64
	late                                     atomic.Int64 // calls beyond the Timeout
}

// newChain returns the chain of a node, or nil without middleware.
func newChain(n *Node, all []Middleware) (*chain, error) {
	if len(all) == 0 {
		return nil, nil //nolint:nilnil // nil is the empty chain
	}
	c := &chain{node: n, links: make([]chainLink, len(all))}
	named := make(map[string]bool, len(all))
	for i, m := range all {
		switch {
		case m.Name == "":
			return nil, fmt.Errorf("runtime: Options.Middleware[%d].Name is empty", i)
		case named[m.Name]:
			return nil, fmt.Errorf("runtime: Options.Middleware[%d]: another has the name %q", i, m.Name)
		case m.Handle == nil:
			return nil, fmt.Errorf("runtime: Options.Middleware[%d] (%s): Handle is nil", i, m.Name)
		case m.Timeout < 0:
			return nil, fmt.Errorf("runtime: Options.Middleware[%d] (%s): Timeout is %v", i, m.Name, m.Timeout)
		}
		named[m.Name] = true
		c.links[i].Middleware = m
		c.waits = c.waits || m.Timeout > 0
	}
	for e := range c.ctx {
		c.ctx[e] = context.WithValue(context.Background(), originKey{}, Origin(e)) //nolint:forbidigo,gosec // the life of a message that is passed on at once
	}
	return c, nil
}

// entered is a message that has passed the chain.
type entered struct {
	message *performatives.Message // with the receiver that its sender has named, unless it is a notice
	to      performatives.AgentID  // the agent that it was routed to; empty: its receiver
}

// run passes a message through the chain. The error is a [*performatives.Refusal].
func (c *chain) run(from Origin, m *performatives.Message) (entered, error) {
	if c == nil {
		return entered{message: m}, nil
	}
	out := m
	for i := range c.links {
		l := &c.links[i]
		next, err := l.handle(c.ctx[from], c.node, out)
		if err == nil {
			next, err = l.check(out, next)
		}
		if err != nil {
			return entered{}, c.refuse(l, from, m, err)
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
	return c.entered(m, out)
}

// entered tells apart what a changed receiver means.
func (c *chain) entered(m, out *performatives.Message) (entered, error) {
	to := out.Receiver()
	switch {
	case to.Is(m.Receiver()), m.Receiver() == "":
		return entered{message: out}, nil
	case m.InReplyTo() == "" && m.Performative().ExpectsReply() && m.Performative() != performatives.ActCancel:
	case m.InReplyTo() == "" && m.Performative() != performatives.ActCancel && !c.node.system.Conversing(m.Sender(), m.ConversationID(), m.Receiver()):
		return entered{message: out}, nil
	default:
		to = "" // it goes where its conversation is
	}
	out, err := out.With(func(e *performatives.Envelope) { e.Receiver = m.Receiver() })
	return entered{out, to}, err // no error: m has that receiver
}

// faultError is the error of a middleware that has failed.
type faultError struct {
	text  string // for the sender
	cause error
	stack []byte // of a panic
}

// Error returns both texts.
func (e *faultError) Error() string {
	if e.cause == nil {
		return e.text
	}
	return e.text + ": " + e.cause.Error()
}

// Unwrap returns the cause.
func (e *faultError) Unwrap() error { return e.cause }

// refuse counts, publishes and logs that a link has refused m, and returns the refusal for its
// sender.
func (c *chain) refuse(l *chainLink, from Origin, m *performatives.Message, err error) *performatives.Refusal {
	r, fault := performatives.RefusalOf(err), new(faultError)
	failed := errors.As(err, &fault) || r == nil
	if failed {
		text := "failed"
		if fault.text != "" {
			text = fault.text
		}
		r = &performatives.Refusal{Code: performatives.CodeMiddleware, Text: fmt.Sprintf("the middleware %q %s", l.Name, text)}
		l.failed.Add(1)
		args := []any{
			"middleware", l.Name, "performative", m.Performative().String(), "agent", string(m.Sender()), "conversation", string(m.ConversationID()),
			"origin", from.String(), "err", err,
		}
		if fault.stack != nil {
			args = append(args, "stack", string(fault.stack))
		}
		c.node.system.Logger().Error("middleware failed", args...)
	} else {
		copied := *r
		if r = &copied; r.Code == "" {
			r.Code = performatives.CodeForbidden
		}
		l.refused.Add(1)
	}
	r.About, r.From = m.ID(), ""
	publish(c.node, MiddlewareRefused{at(), l.Name, m.ID(), m.Sender(), from.String(), r.Code, failed})
	return r
}

// handle calls Handle, for at most its Timeout.
func (l *chainLink) handle(ctx context.Context, n *Node, m *performatives.Message) (*performatives.Message, error) {
	if l.Timeout == 0 {
		return l.call(ctx, m)
	}
	if l.late.Load() >= MaxLate {
		return nil, &faultError{text: "does not return"}
	}
	type result struct {
		m   *performatives.Message
		err error
	}
	done := make(chan result, 1)
	ctx, cancel := context.WithTimeout(ctx, l.Timeout)
	defer cancel()
	late := new(atomic.Bool)
	n.system.Work(func() {
		defer func() {
			if late.Swap(true) { // the caller has left first
				l.late.Add(-1)
			}
		}()
		next, err := l.call(ctx, m)
		done <- result{next, err}
	})
	turn := n.system.Turn()
	defer turn()
	select {
	case r := <-done:
		return r.m, r.err
	case <-ctx.Done():
	}
	l.late.Add(1)
	if late.Swap(true) { // it has returned meanwhile, and too late
		l.late.Add(-1)
	}
	return nil, &faultError{text: fmt.Sprintf("has not returned within %v", l.Timeout)}
}

// call calls Handle and makes an error of a panic.
func (l *chainLink) call(ctx context.Context, m *performatives.Message) (next *performatives.Message, err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil { // runtime.Goexit continues by itself
			next, err = nil, &faultError{text: "failed", cause: fmt.Errorf("panic: %v", v), stack: debug.Stack()}
		}
	}()
	next, err = l.Handle(ctx, m)
	returned = true
	return next, err
}

// check checks a middleware's change of a message.
func (l *chainLink) check(m, next *performatives.Message) (*performatives.Message, error) {
	switch next {
	case m:
		return m, nil
	case nil:
		return nil, &faultError{text: "failed", cause: errors.New("it has returned neither a message nor an error")}
	}
	if field := changedField(m, next); field != "" {
		return nil, &faultError{text: "failed", cause: fmt.Errorf("it has changed %s", field)}
	}
	if err := checkChanged(m, next); err != nil {
		return nil, &faultError{text: "failed", cause: fmt.Errorf("it has made an invalid payload: %w", err)}
	}
	return next, nil
}

// changedField returns the name of a field that differs and must not, or nothing.
func changedField(m, next *performatives.Message) string {
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
			return f.name
		}
	}
	return ""
}

// checkChanged validates a payload that was changed as text, as a dialect would have.
func checkChanged(m, next *performatives.Message) error {
	raw, is := next.Payload().(performatives.Raw)
	if !is || next.MessageType() != "" {
		return nil // New has validated it
	}
	if before, was := m.Payload().(performatives.Raw); was && bytes.Equal(before, raw) {
		return nil
	}
	payload, err := (*performatives.Registry)(nil).DecodePayload(next.Performative(), "", []byte(raw))
	if err != nil {
		return err
	}
	return performatives.CheckPayload(next.Performative(), payload)
}

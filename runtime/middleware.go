package runtime

import (
	"context"
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/internal/chain"
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
	WaitingCapacity = chain.WaitingCapacity

	// MaxLate is how many calls of one Handle may run beyond its Timeout. While so many do, further
	// messages are refused.
	MaxLate = chain.MaxLate
)

// Origin says where a message entered the node. Its method String returns local, session or uplink.
type Origin = chain.Origin

// The origins.
const (
	OriginLocal   = chain.Local   // an agent of this process has sent it, or Node.Send
	OriginSession = chain.Session // a session of [Peers]
	OriginUplink  = chain.Uplink  // the session of an [Uplink]
)

// OriginOf returns where the message entered that a [Middleware] handles with ctx. For any other
// ctx it is OriginLocal.
func OriginOf(ctx context.Context) Origin { return chain.OriginOf(ctx) }

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
func (n *Node) Middleware() (all []MiddlewareCounts) {
	n.chain.Counts(func(name string, passed, changed, routed, refused, failed uint64) {
		all = append(all, MiddlewareCounts{name, passed, changed, routed, refused, failed})
	})
	return all
}

// chainOf returns the chain of the node, nil without middleware.
func (n *Node) chainOf(all []Middleware) (*chain.Chain, error) {
	if len(all) == 0 {
		return nil, nil //nolint:nilnil // nil is the empty chain
	}
	c := chain.New(n.System, func(m *performatives.Message, to performatives.AgentID) error { return n.relay.Onward(m, to) },
		func(by string, from Origin, m *performatives.Message, code performatives.Code, fault bool) {
			publish(n, MiddlewareRefused{at(), by, m.ID(), m.Sender(), from.String(), code, fault})
		})
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
		c.Add(m.Name, m.Handle, m.Timeout)
	}
	return c, nil
}

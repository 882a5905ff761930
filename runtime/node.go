package runtime

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Node runs agents and is the way to reach them from Go. All its methods may be
// called from any goroutine, but those that wait not on an agent's own actor.
type Node struct {
	system *actors.System
	self   actors.Self   // what the node's own methods send as
	watch  *codons.Watch // nil without Options.Watch
	unlog  func()
	uplink atomic.Pointer[Uplink] // nil without one
	told   told                   // of all links
}

// New starts a node without agents. Its owner must call [Node.Stop]. The error
// names the option that is wrong.
func New(o Options) (*Node, error) {
	o = o.withDefaults()
	n := &Node{}
	so, err := o.system(o.network(router{n}))
	if err != nil {
		return nil, err
	}
	if n.system, err = actors.NewSystem(so); err != nil {
		return nil, fmt.Errorf("runtime: %w", err)
	}
	n.unlog = logEvents(o, n.Events())
	if err := n.startWatch(o.Watch); err != nil {
		_ = n.Stop(context.Background()) //nolint:forbidigo // nothing runs that could take time
		return nil, fmt.Errorf("runtime: Options.Watch: %w", err)
	}
	n.self, err = n.Client(context.Background(), performatives.AgentID(o.Name)) //nolint:forbidigo // a client has nothing to start that could take time
	if err != nil {
		_ = n.Stop(context.Background()) //nolint:forbidigo // nothing runs that could take time
		return nil, fmt.Errorf("runtime: Options.Name: %w", err)
	}
	return n, nil
}

// startWatch watches the node, if that is wanted.
func (n *Node) startWatch(o *codons.WatchOptions) (err error) {
	if o != nil {
		n.watch, err = codons.NewWatch(n.Events(), *o)
	}
	return err
}

// Name returns the node's name.
func (n *Node) Name() string { return n.system.Node() }

// Self returns the party that the node's own methods send as; it makes a Node a
// [codons.Party].
func (n *Node) Self() actors.Self { return n.self }

// System returns the node's actors: the way down.
func (n *Node) System() *actors.System { return n.system }

// Events returns the stream of all that happens on the node: the types are those of
// [actors.Event], [codons.Transition], [codons.HandlerPanicked] and
// [codons.Violation].
func (n *Node) Events() *actors.Events { return &n.system.Events }

// WatchCounts returns what the node has checked of its conversations since it
// started, zero without [Options.Watch].
func (n *Node) WatchCounts() codons.WatchCounts {
	if n.watch == nil {
		return codons.WatchCounts{}
	}
	return n.watch.Counts()
}

// Counts returns totals since the node started.
func (n *Node) Counts() actors.Counts { return n.system.Counts() }

// SpawnOption changes one thing about an agent.
type SpawnOption func(*actors.Spec)

// InGroup has an agent supervised by a group of [Options].
func InGroup(name string) SpawnOption { return func(s *actors.Spec) { s.Group = name } }

// WithCapacity bounds each band of the agent's mailbox, in messages.
func WithCapacity(n int) SpawnOption { return func(s *actors.Spec) { s.Capacity = n } }

// Hidden keeps an agent out of the directory.
func Hidden() SpawnOption { return func(s *actors.Spec) { s.Hidden = true } }

// Spawn starts an agent under an id that no other has, compared without regard to
// case. create makes its value, and makes it anew when the agent restarts. Spawn
// returns once the agent takes messages. The error is [actors.ErrExists],
// [actors.ErrStopped], that of the agent's Start, or says what is wrong.
func (n *Node) Spawn(ctx context.Context, id performatives.AgentID, create func() actors.Agent, opts ...SpawnOption) error {
	spec := actors.Spec{ID: id, New: create}
	for _, opt := range opts {
		opt(&spec)
	}
	_, err := n.system.Spawn(ctx, spec)
	return err
}

// StopAgent stops an agent and waits until it has stopped: its conversations end
// in a state of their tables, and what is queued for it is refused. It does
// nothing for an id that no agent has.
func (n *Node) StopAgent(ctx context.Context, id performatives.AgentID) error {
	return n.system.StopAgent(ctx, id)
}

// Client adds a party that only asks: a person, a program, a test. It is hidden
// from the directory, and can start conversations.
func (n *Node) Client(ctx context.Context, id performatives.AgentID) (actors.Self, error) {
	return n.system.Spawn(ctx, actors.Spec{ID: id, New: func() actors.Agent { return client{} }, Hidden: true})
}

// client is the agent of a party that only asks.
type client struct{}

// Describe returns no capabilities.
func (client) Describe() performatives.Capabilities { return performatives.Capabilities{} }

// Send routes a message that was made elsewhere, in the name of whoever it says
// sent it. An error is a [*performatives.Refusal] and means that it was not
// delivered and nobody will answer it.
func (n *Node) Send(m *performatives.Message) error { return n.system.Send(m) }

// Ask sends a message with that payload in the node's name and waits for the
// first answer. An answer that refuses is an error: a [*performatives.Refusal].
// The deadline of ctx, or else [codons.DefaultDeadline], is the message's ReplyBy.
func (n *Node) Ask(ctx context.Context, to performatives.AgentID, payload any) (*performatives.Message, error) {
	stamp := n.self.Stamp()
	by, ok := ctx.Deadline()
	if !ok {
		by = stamp.Time.Add(codons.DefaultDeadline)
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, by)
		defer cancel()
	}
	m, err := performatives.New(performatives.Envelope{
		ID: stamp.ID, Timestamp: stamp.Time, Sender: n.self.ID(), Receiver: to,
		ReplyWith: string(stamp.ID), ReplyBy: by, Payload: payload,
	})
	if err != nil {
		return nil, err
	}
	answer, err := n.self.Ask(ctx, m)
	if err != nil {
		return nil, err
	}
	if r := answer.AsRefusal(); r != nil {
		return nil, r
	}
	return answer, nil
}

// Delegate asks an agent to perform a task and waits for its end: see
// [codons.Delegate].
func (n *Node) Delegate(ctx context.Context, to performatives.AgentID, task performatives.TaskRequest, opts ...codons.DelegateOption) (performatives.InformResult, error) {
	return codons.Delegate(ctx, n, to, task, opts...)
}

// Whisper asks every agent of the directory what it can do: see
// [codons.WhisperAll].
func (n *Node) Whisper(ctx context.Context, q performatives.QueryCapabilities) ([]codons.Candidate, error) {
	return codons.WhisperAll(ctx, n, n.Directory().IDs(), q)
}

// Stop ends the node in order; see [actors.System.Stop] for what it waits for and
// what its error says. A watch then checks what was said last, or Stop returns its
// error: see [codons.Watch.Stop]. Stopping again is harmless.
func (n *Node) Stop(ctx context.Context) error {
	err := n.system.Stop(ctx)
	if err != nil { // there may be more to tell
		return err
	}
	if n.watch != nil {
		err = n.watch.Stop(ctx)
	}
	n.unlog()
	return err
}

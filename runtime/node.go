package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/discovery"
	"github.com/ribosome-agents/ribosome/codons/watch"
	"github.com/ribosome-agents/ribosome/internal/admission"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/internal/chain"
	"github.com/ribosome-agents/ribosome/runtime/internal/mesh"
	"github.com/ribosome-agents/ribosome/runtime/internal/relay"
	"github.com/ribosome-agents/ribosome/runtime/internal/sessions"
)

// Node runs agents and gives Go code access to them. All methods may be called from any
// goroutine. A method that waits must not be called on an agent's own actor.
type Node struct {
	system   *actors.System
	self     actors.Self  // the sender of the node's own methods
	watch    *watch.Watch // nil without Options.Watch
	log      *eventLog    // nil for a logger that discards everything
	relay    *relay.Relay
	chain    *chain.Chain                            // nil without middleware
	sealers  map[performatives.AgentID]actors.Sealer // see Options.Sealers
	mesh     *mesh.Mesh
	sessions *sessions.Sessions

	handover sync.Mutex // held while agents of sessions come and go; no message waits for it, save the first of its agent
}

// New starts a node without agents. Its owner must call [Node.Stop]. The error names the
// invalid option.
func New(o Options) (*Node, error) {
	o = o.withDefaults()
	n := &Node{sealers: o.Sealers}
	n.mesh = mesh.New(&n.handover, o.decide)
	var err error
	if n.chain, err = n.chainOf(o.Middleware); err != nil {
		return nil, err
	}
	so, err := o.system(n.mesh, n.mesh.AgentChanged, func(id performatives.AgentID) { n.sessions.Catalog.Changed(id) })
	if err != nil {
		return nil, err
	}
	if n.chain != nil {
		so.Entrance = n.chain
	}
	so.OnAbandon = func(m *performatives.Message) { n.relay.Abandon(m) }
	if n.system, err = actors.NewSystem(so); err != nil {
		return nil, fmt.Errorf("runtime: %w", err)
	}
	n.relay = relay.New(n.system, o.codons(), n.mesh.LinkOf, n.mesh.ActivatesHere)
	n.sessions = sessions.New(sessions.Host{
		System: n.system, Chain: n.chain, Relay: n.relay, Handover: &n.handover,
		Knows: n.mesh.Knows, Changed: n.mesh.AgentChanged,
		Report: n.reportOf, Members: func() any { return n.listMembers() },
	})
	links, _ := PeerOptions{MaxOpen: 1 << 20, MaxBytes: 1 << 30}.withDefaults() // these are valid
	n.mesh.Begin(mesh.Host{System: n.system, Relay: n.relay, Sessions: n.sessions, Events: publisher{n}, Limits: links.limits()})
	n.log = logEvents(o, n.Events())
	if err := n.start(o); err != nil {
		_ = n.Stop(context.Background()) //nolint:forbidigo // nothing runs that could take time
		return nil, err
	}
	return n, nil
}

// start starts the watch, the agent of the node, and its part of the cluster.
func (n *Node) start(o Options) (err error) {
	if o.Watch != nil {
		with := *o.Watch
		with.Codons = append(o.codons(), o.Watch.Codons...) // a codon may be there twice
		if n.watch, err = watch.New(n.Events(), with); err != nil {
			return fmt.Errorf("runtime: Options.Watch: %w", err)
		}
	}
	if n.self, err = n.Client(context.Background(), performatives.AgentID(o.Name)); err != nil { //nolint:forbidigo // a client has nothing to start that could take time
		return fmt.Errorf("runtime: Options.Name: %w", err)
	}
	if o.Cluster == nil {
		return nil
	}
	if err = n.join(*o.Cluster, o); err != nil {
		return fmt.Errorf("runtime: Options.Cluster: %w", err)
	}
	return nil
}

// SpareProcessor raises GOMAXPROCS by one for what keeps a node alive: sessions, links, gossip,
// timers and urgent tasks. As many handlers as before compute at a time, so the operating system
// gives that processor its part at once. Go's scheduler would let it wait for 10 ms behind each
// computing handler. A program calls it when it begins, as ribosome node does; further calls do
// nothing. Go does not follow a change of its container's limit of processors any more.
func SpareProcessor() { admission.Spare() }

// Name returns the node's name.
func (n *Node) Name() string { return n.system.Node() }

// Self returns the agent that is the sender of the node's own methods. It makes a Node a
// [codons.Party].
func (n *Node) Self() actors.Self { return n.self }

// System returns the node's actor system, for features that Node does not wrap.
func (n *Node) System() *actors.System { return n.system }

// Events returns the event stream of the node. Its types are those of [events.Event],
// [lifecycle.Transition], [codons.Recorded], [lifecycle.JobFailed] and [lifecycle.Violation].
func (n *Node) Events() *events.Stream { return &n.system.Events }

// WatchCounts returns the counters of the watch since the node started. Without
// [Options.Watch] they are zero.
func (n *Node) WatchCounts() watch.Counts {
	if n.watch == nil {
		return watch.Counts{}
	}
	return n.watch.Counts()
}

// Counts returns totals since the node started.
func (n *Node) Counts() actors.Counts { return n.system.Counts() }

// SpawnOption changes one field of an agent's [actors.Spec].
type SpawnOption = func(*actors.Spec)

// InGroup puts the agent into a supervision group of [Options].
func InGroup(name string) SpawnOption { return func(s *actors.Spec) { s.Group = name } }

// WithCapacity sets the capacity of each band of the agent's mailbox, in messages.
func WithCapacity(n int) SpawnOption { return func(s *actors.Spec) { s.Capacity = n } }

// Hidden excludes the agent from the directory.
func Hidden() SpawnOption { return func(s *actors.Spec) { s.Hidden = true } }

// Sealed has s sign and encrypt the payloads of the agent for their receivers, and open those that
// it gets. See package wire/sealed.
func Sealed(s actors.Sealer) SpawnOption { return func(spec *actors.Spec) { spec.Sealer = s } }

// Spawn starts an agent under a unique id, compared case-insensitively. create returns the agent's
// value, and is called again when the agent restarts. Spawn returns when the agent accepts
// messages. The error is [actors.ErrExists] (with the name of its node, if it is another one),
// [actors.ErrStopped], the error of the agent's Start, names the invalid argument, or says that the
// capabilities are too long for a cluster: more than 16 MiB as JSON.
func (n *Node) Spawn(ctx context.Context, id performatives.AgentID, create func() actors.Agent, opts ...SpawnOption) error {
	spec := actors.Spec{ID: id, New: create, Sealer: n.sealers[id]}
	for _, opt := range opts {
		opt(&spec)
	}
	agent, err := n.system.Spawn(ctx, spec)
	if e, found := n.Directory().Lookup(id); errors.Is(err, actors.ErrExists) && found && e.Node != n.Name() {
		return fmt.Errorf("%w, on the node %s", err, e.Node)
	}
	if err != nil || spec.Hidden {
		return err
	}
	if err := n.mesh.CheckCapabilities(agent); err != nil {
		return errors.Join(err, n.system.StopAgent(ctx, id))
	}
	return nil
}

// StopAgent stops an agent and waits until it has stopped. Its conversations end in a
// terminal state of their tables, and messages queued for it are refused. StopAgent does
// nothing for an unknown id.
func (n *Node) StopAgent(ctx context.Context, id performatives.AgentID) error {
	return n.system.StopAgent(ctx, id)
}

// Client adds an agent without behaviour, for a person, a program or a test that only
// starts conversations. It is hidden from the directory.
func (n *Node) Client(ctx context.Context, id performatives.AgentID, opts ...SpawnOption) (actors.Self, error) {
	spec := actors.Spec{ID: id, New: func() actors.Agent { return client{} }, Hidden: true, Sealer: n.sealers[id]}
	for _, opt := range opts {
		opt(&spec)
	}
	return n.system.Spawn(ctx, spec)
}

// client is the agent of [Node.Client].
type client struct{}

// Describe returns no capabilities.
func (client) Describe() performatives.Capabilities { return performatives.Capabilities{} }

// Send routes a message that was created elsewhere, as the sender that it names. An error
// is a [*performatives.Refusal] and means that the message was not delivered and gets no
// reply.
func (n *Node) Send(m *performatives.Message) error { return n.system.Send(m) }

// AskOption is an option of [Node.Ask].
type AskOption func(e *performatives.Envelope)

// WithAct sets the act of the message. It is needed for a payload whose type has no
// method Act() performatives.Performative, such as [performatives.Raw] or a type of
// the application.
func WithAct(act performatives.Performative) AskOption {
	return func(e *performatives.Envelope) { e.Performative = act }
}

// WithMessageType sets the application's message type:
// see [performatives.Message.MessageType].
func WithMessageType(name string) AskOption {
	return func(e *performatives.Envelope) { e.MessageType = name }
}

// Ask sends a message with the given payload from the node and waits for the first reply.
// A reply that is a refusal is returned as the error, a [*performatives.Refusal]. The
// message's ReplyBy is the deadline of ctx, or else [codons.DefaultDeadline] from now.
//
// The act is the one that the type of the payload implies by a method
// Act() performatives.Performative, as the payload types of package performatives
// have it. For any other payload, [WithAct] names the act. [WithMessageType] names the
// application's message type. An act that expects no reply, such as INFORM, is an error.
func (n *Node) Ask(ctx context.Context, to performatives.AgentID, payload any, opts ...AskOption) (*performatives.Message, error) {
	stamp := n.self.Stamp()
	by, ok := ctx.Deadline()
	if !ok {
		by = stamp.Time.Add(codons.DefaultDeadline)
	}
	e := performatives.Envelope{
		ID: stamp.ID, Timestamp: stamp.Time, Sender: n.self.ID(), Receiver: to,
		ReplyWith: string(stamp.ID), ReplyBy: by, Payload: payload,
	}
	for _, opt := range opts {
		opt(&e)
	}
	m, err := performatives.New(e)
	if err != nil {
		return nil, err
	}
	if act := m.Performative(); !act.ExpectsReply() {
		return nil, &performatives.Refusal{
			Code: performatives.CodeInvalidPayload, About: m.ID(), Field: "performative",
			Text: "performative: want an act that expects a reply, got " + act.String() + ": send the message by Node.Send, which does not wait",
		}
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

// Delegate asks an agent to perform a task and waits for the result: see
// [delegation.Delegate].
func (n *Node) Delegate(ctx context.Context, to performatives.AgentID, task performatives.TaskRequest, opts ...codons.Option) (performatives.InformResult, error) {
	return delegation.Delegate(ctx, n, to, task, opts...)
}

// Whisper queries the capabilities of every agent of the directory: see
// [discovery.WhisperAll].
func (n *Node) Whisper(ctx context.Context, q performatives.QueryCapabilities) ([]discovery.Candidate, error) {
	return discovery.WhisperAll(ctx, n, n.Directory().IDs(), q)
}

// Stop stops the node: see [actors.System.Stop] for the steps and the error. The watch
// then checks the remaining messages; Stop returns the error of [watch.Watch.Stop]. In
// any case the log then writes the remaining events, for at most two seconds regardless
// of ctx. Further calls are harmless. With the ctx of a handler or a decision of an agent of the
// node, Stop does nothing and returns [actors.ErrSelfWait]: it would wait for its caller. Such code
// calls it from a goroutine with another ctx, and returns.
func (n *Node) Stop(ctx context.Context) error {
	if err := n.system.CheckWait(ctx); err != nil {
		return fmt.Errorf("runtime: stop: %w", err)
	}
	n.mesh.Close()
	err := n.system.Stop(ctx)
	if err == nil {
		n.relay.Close()
	}
	err = cmp.Or(err, n.mesh.Leave(ctx))
	if err == nil && n.watch != nil { // else agents may still send
		err = n.watch.Stop(ctx)
	}
	return cmp.Or(err, n.log.stop(ctx))
}

// Conversations returns the conversations that are under way on the node, both sides of
// each, the oldest first: see [codons.Conversations].
func (n *Node) Conversations() []codons.Info { return codons.Conversations(n.system) }

// Conversation returns the sides of the conversations with an id that are under way on
// the node, the oldest first: mostly the initiator's and the responder's of one. See
// [codons.ConversationsWith].
func (n *Node) Conversation(id performatives.ConversationID) []codons.Info {
	return codons.ConversationsWith(n.system, id)
}

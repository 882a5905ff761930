package actors

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Router finds the receiver of a message.
type Router interface {
	// Route delivers m, or returns a [*performatives.Refusal] that says why it
	// cannot be. It does not block, and does not answer m.
	Route(m *performatives.Message) error
}

// System runs the agents of one node: the engine, the dispatcher, the
// supervisors and the stream of events. All its methods may be called from any
// goroutine.
type System struct {
	// Events is the stream of all that happens in the system.
	Events Events

	opts    Options
	engine  *actor.ActorSystem
	pool    *Pool          // nil when the caller brought a dispatcher
	sim     *Sim           // the caller's dispatcher, when it is a simulation
	mailbox *mailboxConfig // of agents that have no capacity of their own

	newConversationMailbox actor.MailboxProducer
	conversationFailure    actor.SupervisorStrategy

	guarding []Guarding // the protocols of opts that are
	cells    sync.Map   // AgentID, folded, and as it was registered where that differs → *cell
	skills   skills     // of cells
	departed departed
	groups   map[string]*actor.PID
	draining atomic.Bool
	stopping atomic.Bool // the engine has been shut down
	ended    atomic.Bool // Stop has returned nil
	open     gauge       // conversations under way that end by themselves
	standing gauge       // those that go on until someone ends them
	running  gauge       // agents
	work     gauge       // handlers under way
	dead     atomic.Uint64
	refused  atomic.Uint64
}

// NewSystem starts a system without agents. Its owner must call [System.Stop].
func NewSystem(o Options) (*System, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	s := &System{opts: o, groups: make(map[string]*actor.PID)}
	for _, p := range s.opts.Protocols {
		if g, ok := p.(Guarding); ok {
			s.guarding = append(s.guarding, g)
		}
	}
	if s.opts.Router == nil {
		s.opts.Router = localRouter{s}
	}
	if s.opts.Dispatcher == nil {
		s.pool = NewPool(PoolOptions{})
		s.opts.Dispatcher = s.pool
	}
	s.sim, _ = s.opts.Dispatcher.(*Sim)
	s.mailbox = s.mailboxConfig(o.Capacity)
	s.newConversationMailbox = MailboxProducer(MailboxOptions{Capacity: o.Capacity, LongBytes: o.LongBytes, OnRefuse: s.undeliveredInConversation})
	s.conversationFailure = s.supervise(Supervision{Decider: stop}, s.agentOfConversation)
	s.engine = newEngine(s)
	for name, sup := range s.opts.Groups {
		if err := s.startGroup(name, sup); err != nil {
			return nil, err // nothing runs yet that had to be stopped
		}
	}
	return s, nil
}

// Node returns the name of the node that the system belongs to.
func (s *System) Node() string { return s.opts.Node }

// Engine returns the engine's own system: the escape hatch for what this package
// does not offer.
func (s *System) Engine() *actor.ActorSystem { return s.engine }

// Stamp returns the identity of a new message.
func (s *System) Stamp() performatives.Stamp { return s.opts.Stamper.Stamp() }

// Spawn starts an agent and returns when it takes messages: after its Start hook,
// if it has one. The error says what is wrong with spec, is [ErrExists], or
// [ErrStopped] when the system or the agent's group has stopped, or wraps what the
// agent's Start returned; after any of them there is no such agent. ctx bounds the
// wait for a Start that does not return: the agent then stops as soon as it does,
// and keeps its id until then.
//
// An agent may spawn others in its hooks, but must not wait there for one whose
// Start waits for it.
func (s *System) Spawn(ctx context.Context, spec Spec) (Self, error) {
	if err := s.checkSpec(spec); err != nil {
		return Self{}, err
	}
	agent, describes, err := construct(spec)
	if err != nil {
		return Self{}, err
	}
	c := s.newCell(spec, agent, describes)
	started := c.waitForStart()
	if err := s.register(ctx, c); err != nil {
		return Self{}, fmt.Errorf("actors: spawn %q: %w", spec.ID, err)
	}
	if started == nil {
		return Self{c}, nil
	}
	return s.awaitStart(ctx, c, started)
}

func (s *System) checkSpec(spec Spec) error {
	switch {
	case spec.ID == "":
		return errors.New("actors: spawn: Spec.ID is empty")
	case len(spec.ID) > performatives.MaxIDLength:
		return fmt.Errorf("actors: spawn %.32q…: Spec.ID has %d bytes, and may have %d", spec.ID, len(spec.ID), performatives.MaxIDLength)
	case !utf8.ValidString(string(spec.ID)) || strings.ContainsFunc(string(spec.ID), unicode.IsControl):
		return fmt.Errorf("actors: spawn %q: Spec.ID has to be UTF-8 without control characters", spec.ID)
	case spec.New == nil:
		return fmt.Errorf("actors: spawn %q: Spec.New is nil", spec.ID)
	case s.groups[spec.Group] == nil:
		return fmt.Errorf("actors: spawn %q: there is no group %q in Options.Groups", spec.ID, spec.Group)
	case s.draining.Load():
		return fmt.Errorf("actors: spawn %q: %w", spec.ID, ErrStopped)
	}
	if err := (MailboxOptions{Capacity: spec.Capacity}).withDefaults().validate(); err != nil {
		return fmt.Errorf("actors: spawn %q: Spec.Capacity: %w", spec.ID, err)
	}
	return nil
}

func (s *System) newCell(spec Spec, agent Agent, describes performatives.Capabilities) *cell {
	config := s.mailbox
	if spec.Capacity != 0 {
		config = s.mailboxConfig(spec.Capacity)
	}
	c := &cell{sys: s, spec: spec, folded: spec.ID.Fold(), agent: agent, describes: describes, fresh: true, mailbox: newMailbox(config)}
	return c
}

// mailboxConfig is what the mailboxes of that capacity share.
func (s *System) mailboxConfig(capacity int) *mailboxConfig {
	config := newMailboxConfig(MailboxOptions{Capacity: capacity, LongBytes: s.opts.LongBytes, OnRefuse: s.undelivered})
	config.onDrained = drained
	return config
}

// construct makes the first value of an agent on the caller's goroutine, so that
// what is wrong with it is the caller's error.
func construct(spec Spec) (agent Agent, describes performatives.Capabilities, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("actors: spawn %q: New or Describe panicked: %v", spec.ID, v)
		}
	}()
	agent = spec.New()
	if agent == nil {
		return nil, describes, fmt.Errorf("actors: spawn %q: New returned nil", spec.ID)
	}
	return agent, agent.Describe(), nil
}

// waitForStart prepares to hear of the first start, which only an agent with a
// Start hook makes worth waiting for.
func (c *cell) waitForStart() chan error {
	if _, ok := c.agent.(Starter); ok {
		c.started = make(chan error, 1)
	}
	return c.started
}

// register gives c its place and its actor. Nobody finds it before it has one.
func (s *System) register(ctx context.Context, c *cell) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if _, taken := s.cells.LoadOrStore(c.folded, c); taken {
		return ErrExists
	}
	if c.folded != c.spec.ID {
		s.cells.Store(c.spec.ID, c) // most who mean it write it so
	}
	s.skills.enter(c)
	s.running.add(1)
	if err := s.spawnIn(s.groups[c.spec.Group], c); err != nil {
		s.unregister(c)
		s.running.add(-1)
		return err
	}
	return nil
}

// unregister gives c's place up. The folded id goes last: it is what another may take.
func (s *System) unregister(c *cell) {
	s.skills.leave(c)
	if c.folded != c.spec.ID {
		s.cells.Delete(c.spec.ID)
	}
	s.cells.Delete(c.folded)
}

// awaitStart waits for the agent's Start, and for its end when that fails, so that
// the id is free again.
func (s *System) awaitStart(ctx context.Context, c *cell, started <-chan error) (Self, error) {
	ctx, cancel := context.WithTimeout(ctx, MaxStartTime)
	defer cancel()
	s.help(func() bool { return len(started) > 0 })
	select {
	case err := <-started:
		if err == nil {
			return Self{c}, nil
		}
		_ = s.stopActor(ctx, c) // it stops by itself; this error matters less
		return Self{}, fmt.Errorf("actors: spawn %q: %w", c.spec.ID, err)
	case <-ctx.Done():
		s.engine.Root.Stop(c.pid.Load())
		return Self{}, fmt.Errorf("actors: spawn %q: Start has not returned: %w", c.spec.ID, context.Cause(ctx))
	}
}

// help runs the simulation, where the system is one, for whoever is about to wait.
func (s *System) help(until func() bool) {
	if s.sim != nil {
		s.sim.help(until)
	}
}

// lookup returns the running agent with that id.
func (s *System) lookup(id performatives.AgentID) (*cell, bool) {
	v, ok := s.cells.Load(id)
	if !ok {
		if v, ok = s.cells.Load(id.Fold()); !ok {
			return nil, false
		}
	}
	c := v.(*cell)
	return c, c.pid.Load() != nil
}

// Agents yields the agents that run here, in no particular order, but not those
// that are hidden.
func (s *System) Agents() iter.Seq[Self] {
	return func(yield func(Self) bool) {
		s.cells.Range(func(id, v any) bool {
			c := v.(*cell)
			return id != any(c.folded) || c.hidden() || c.pid.Load() == nil || yield(Self{c})
		})
	}
}

// Lookup returns the agent with that id, if it runs here.
func (s *System) Lookup(id performatives.AgentID) (Self, bool) {
	c, ok := s.lookup(id)
	if !ok {
		return Self{}, false
	}
	return Self{c}, true
}

// Deliver puts m into the mailbox of the agent with that id. The error is a
// [*performatives.Refusal]: there is no such agent, it has stopped, or its mailbox
// is full.
func (s *System) Deliver(id performatives.AgentID, m *performatives.Message) error {
	c, ok := s.lookup(id)
	switch {
	case ok:
		if reason := c.mailbox.post(m); reason != 0 {
			return refusal(m, c.spec.ID, codeOf(reason), "")
		}
		return nil
	case s.draining.Load() || s.departed.has(id):
		return refusal(m, id, performatives.CodeStopped, "")
	}
	return refusal(m, "", performatives.CodeUnknownAgent, fmt.Sprintf("there is no agent %q", id))
}

// Knew reports whether an agent with that id runs here or has stopped here, as far as
// the system remembers: the last 1024.
func (s *System) Knew(id performatives.AgentID) bool {
	_, ok := s.lookup(id)
	return ok || s.departed.has(id)
}

// opened returns the index of the protocol that m begins a conversation of, or -1.
// A message that names its protocol begins that one only.
func (s *System) opened(m *performatives.Message) int {
	for i, p := range s.opts.Protocols {
		if (m.Protocol() == "" || m.Protocol() == p.Name()) && p.Opens(m) {
			return i
		}
	}
	return -1
}

// Send routes a message in the name of whoever it says sent it: for what comes
// from outside. An agent sends by [Self.Send], which says what the error means.
func (s *System) Send(m *performatives.Message) error { return s.send(m) }

// send publishes and routes a message.
func (s *System) send(m *performatives.Message) error {
	if Wants[MessageSent](&s.Events) {
		s.Events.Publish(MessageSent{s.at(), m})
	}
	err := s.opts.Router.Route(m)
	if err == nil {
		return nil
	}
	r := asRefusal(m, err)
	if m.Performative().ExpectsReply() {
		s.noteRefused(m, r)
	} else {
		s.deadLetter(string(cmp.Or(m.Receiver(), r.From)), m, r.Code)
	}
	return r
}

func (s *System) at() At { return At{time.Now()} }

// localRouter is the router of a system that stands alone.
type localRouter struct{ s *System }

func (r localRouter) Route(m *performatives.Message) error { return r.s.Deliver(m.Receiver(), m) }

// StopAgent stops one agent and waits until it has stopped. What is queued for it
// is refused to its senders; its conversations end in a state of their tables. It
// does nothing for an agent that does not run. The error says that ctx ended
// first: a hook has not returned. It must not be called on the agent's own actor.
func (s *System) StopAgent(ctx context.Context, id performatives.AgentID) error {
	c, ok := s.lookup(id)
	if !ok {
		return nil
	}
	return s.stopActor(ctx, c)
}

// Logger returns the system's logger.
func (s *System) Logger() *slog.Logger { return s.opts.Logger }

package actors

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/internal/admission"
	"github.com/ribosome-agents/ribosome/internal/enginedispatcher"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Router delivers messages to their receivers.
type Router interface {
	// Route delivers m, or returns a [*performatives.Refusal] with the reason why it
	// cannot. It does not block, and does not reply to m.
	Route(m *performatives.Message) error
}

// System runs the agents of one node. It owns the engine, the dispatcher, the supervisors
// and the event stream. All methods may be called from any goroutine.
type System struct {
	// Events is the event stream of the system.
	Events events.Stream

	opts    Options
	engine  *actor.ActorSystem
	pool    *Pool           // nil when Options.Dispatcher is set
	sim     *Sim            // Options.Dispatcher, when it is a simulation
	turns   turns           // of the conversations
	express bool            // the dispatcher has an express queue
	gate    *admission.Gate // of the handlers; nil in a simulation
	mailbox *mailboxConfig  // for conversations, and agents without Spec.Capacity

	protocols     []protocol
	guarding      []GuardProtocol // those of protocols that implement it
	registrations registry        // by folded id and also by registered id if that differs
	capabilities  capabilityIndex // of the registered agents
	sealing       atomic.Bool     // an agent had a Sealer
	stoppedAgents stoppedAgents
	outliving     sync.Map // *Caller → struct{}: see Outlive
	requestIDs    requestIDs
	losses        atomic.Uint64 // how many losses have begun: see BeginLoss
	groups        map[string]*actor.PID
	roles         sync.Map // reflect.Type of an agent → roles
	draining      atomic.Bool
	stopping      atomic.Bool   // the engine has been shut down
	ended         atomic.Bool   // Stop has returned nil
	open          gauge         // open conversations that are not long-lived
	longLived     gauge         // open conversations that are long-lived
	running       gauge         // running agents of this process
	remote        gauge         // registered agents of other processes
	work          gauge         // running handlers
	busy          atomic.Uint64 // how often an actor had not come back for BusyTime
	busyNow       int           // of these, those that have not come back yet; accessed by watchBusy only
	loops         loops
	looped        atomic.Uint64
	dead          atomic.Uint64
	refused       atomic.Uint64
}

// Remote routes messages that are for no agent of this process.
type Remote interface {
	// RouteTo is that of [Router] for a receiver that was found a moment ago; nil: it is not in the
	// directory. from is the sender; nil: it is to be looked up.
	RouteTo(from, r *Registration, m *performatives.Message) error
}

// NewSystem starts a system without agents. Its owner must call [System.Stop].
func NewSystem(o Options) (*System, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	s := &System{opts: o, groups: make(map[string]*actor.PID), requestIDs: newRequestIDs(o.RequestIDs)}
	for _, p := range s.opts.Protocols {
		s.protocols = append(s.protocols, newProtocol(p))
		if g, ok := p.(GuardProtocol); ok {
			s.guarding = append(s.guarding, g)
		}
	}
	switch {
	case s.opts.Dispatcher != nil:
	case enginedispatcher.Enabled:
		s.opts.Dispatcher = actor.NewDefaultDispatcher(DefaultThroughput)
	default:
		s.pool = NewPool(PoolOptions{})
		s.pool.watch = s.watchBusy
		s.opts.Dispatcher = s.pool
	}
	s.turns, s.express = turnsOn(s.opts.Dispatcher)
	s.sim, _ = s.opts.Dispatcher.(*Sim)
	if s.sim == nil {
		s.gate = admission.New(s.overloadChanged)
	}
	s.mailbox = s.mailboxConfig(o.Capacity)
	s.engine = newEngine(s)
	for name, sup := range s.opts.Groups {
		if err := s.startGroup(name, sup); err != nil {
			return nil, err // nothing is running yet
		}
	}
	return s, nil
}

// Node returns the name of the system's node.
func (s *System) Node() string { return s.opts.Node }

// Engine returns the actor system of the engine. It gives access to engine features that
// this package does not wrap.
func (s *System) Engine() *actor.ActorSystem { return s.engine }

// Capacity returns the largest number of messages per band of the mailbox of a conversation:
// [Options.Capacity], or its default. Safe for concurrent use.
func (s *System) Capacity() int { return int(s.mailbox.capacity) }

// Tracing returns [Options].Tracing, nil without spans.
func (s *System) Tracing() *Tracing { return s.opts.Tracing }

// Stamp returns the id and time of a new message.
func (s *System) Stamp() performatives.Stamp { return s.opts.Stamper.Stamp() }

// Spawn starts an agent and returns when the agent accepts messages: after its Start
// hook, if it has one. The error names an invalid field of spec, is [ErrExists], is
// [ErrStopped] when the system or the agent's group has stopped, or wraps the error of
// Start. After an error there is no such agent. When ctx ends before Start returns, Spawn
// fails, and the agent keeps its id until Start has returned, and then stops.
//
// A hook of an agent may call Spawn, but must not spawn an agent whose Start waits for
// the calling agent.
func (s *System) Spawn(ctx context.Context, spec Spec) (Self, error) {
	c, started, err := s.prepare(spec)
	if err != nil {
		return Self{}, err
	}
	if err := s.register(ctx, c); err != nil {
		return Self{}, fmt.Errorf("actors: spawn %q: %w", spec.ID, err)
	}
	if started == nil {
		return Self{c}, nil
	}
	return s.awaitStart(ctx, c, started)
}

// prepare makes an agent that has no actor yet. started receives the result of its start, and is
// nil when there is none.
func (s *System) prepare(spec Spec) (c *cell, started <-chan error, err error) {
	if err := s.checkSpec(spec); err != nil {
		return nil, nil, err
	}
	agent, describes, err := construct(spec)
	if err != nil {
		return nil, nil, err
	}
	roles := s.rolesOf(agent)
	if roles.err != nil {
		return nil, nil, fmt.Errorf("actors: spawn %q: %w", spec.ID, roles.err)
	}
	c = s.newCell(spec, agent, describes)
	c.roles = roles
	started = c.waitForStart()
	return c, started, nil
}

func (s *System) checkSpec(spec Spec) error {
	if err := performatives.CheckID(spec.ID); err != nil {
		return fmt.Errorf("actors: spawn %.32q: Spec.ID: %w", spec.ID, err)
	}
	switch {
	case spec.New == nil:
		return fmt.Errorf("actors: spawn %q: Spec.New is nil", spec.ID)
	case s.groups[spec.Group] == nil:
		return fmt.Errorf("actors: spawn %q: there is no group %q in Options.Groups", spec.ID, spec.Group)
	case s.draining.Load():
		return fmt.Errorf("actors: spawn %q: %w", spec.ID, ErrStopped)
	}
	if err := spec.checkSealer(); err != nil {
		return err
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
	c := &cell{spec: optionsOf(spec), create: spec.New, agent: agent, firstValue: true, mailbox: newMailbox(config)}
	if spec.Sealer != nil {
		s.sealing.Store(true)
	}
	c.sys, c.id, c.folded, c.local, c.unannounced = s, spec.ID, spec.ID.Fold(), c, spec.Hidden
	if describes.Topics != nil || describes.Actions != nil || describes.Ontologies != nil || describes.Languages != nil || describes.Resources != nil || describes.Extra != nil {
		own := describes
		c.describes = &own
	}
	return c
}

// plainSpec has the options of an agent without any. Most agents share it.
var plainSpec Spec

// optionsOf returns a spec without the id and the constructor.
func optionsOf(spec Spec) *Spec {
	if spec.Group == "" && spec.Capacity == 0 && spec.State == nil && spec.Activation == 0 && spec.Sealer == nil {
		return &plainSpec
	}
	own := spec // only here, so that others need no allocation
	own.New = nil
	return &own
}

// mailboxConfig returns the configuration that mailboxes of that capacity share.
func (s *System) mailboxConfig(capacity int) *mailboxConfig {
	config := newMailboxConfig(MailboxOptions{Capacity: capacity, LongBytes: s.opts.LongBytes, OnRefuse: s.handleUndeliverable})
	config.onDrained = mailboxDrained
	return config
}

// construct creates the first value of an agent on the caller's goroutine, so that a
// failure of New, Describe or the Sealer's Entry is the caller's error.
func construct(spec Spec) (agent Agent, describes performatives.Capabilities, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("actors: spawn %q: New, Describe or Sealer.Entry panicked: %v", spec.ID, v)
		}
	}()
	agent = spec.New()
	if agent == nil {
		return nil, describes, fmt.Errorf("actors: spawn %q: New returned nil", spec.ID)
	}
	describes = agent.Describe()
	if spec.Sealer != nil {
		describes = spec.Sealer.Entry(describes)
	}
	return agent, describes, nil
}

// waitForStart creates the channel for the result of the first Start or Restore. It returns
// nil for an agent without such a hook.
func (c *cell) waitForStart() chan error {
	_, starts := c.agent.(Starter)
	_, moves := c.agent.(Movable)
	if starts || moves && c.spec.State != nil {
		c.started = make(chan error, 1)
	}
	return c.started
}

// register registers c under its id and spawns its actor. lookup ignores a cell without
// an actor.
func (s *System) register(ctx context.Context, c *cell) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !s.takeID(nil, &c.Registration) {
		return ErrExists
	}
	s.running.add(1)
	if err := s.spawnIn(s.groups[c.spec.Group], c); err != nil {
		s.removeRegistration(&c.Registration)
		s.running.add(-1)
		return err
	}
	s.opts.OnList(c.id)
	return nil
}

// awaitStart waits for the agent's Start. When Start fails, it also waits for the end of
// the agent, so that the id is free again.
func (s *System) awaitStart(ctx context.Context, c *cell, started <-chan error) (Self, error) {
	ctx, cancel := context.WithTimeout(ctx, MaxStartTime)
	defer cancel()
	turn := s.stepSimulation(func() bool { return len(started) > 0 })
	select {
	case err := <-started:
		turn()
		if err == nil {
			return Self{c}, nil
		}
		_ = s.stopActor(ctx, c) // the agent stops by itself; err is the error to return
		return Self{}, fmt.Errorf("actors: spawn %q: %w", c.id, err)
	case <-ctx.Done():
		turn()
		s.engine.Root.Stop(c.pid.Load())
		return Self{}, fmt.Errorf("actors: spawn %q: Start has not returned: %w", c.id, context.Cause(ctx))
	}
}

// stepSimulation prepares the wait of its caller. It runs the simulation of the system, if there is
// one and no goroutine runs it. The caller must call turn after the wait: see [System.Turn].
func (s *System) stepSimulation(until func() bool) (turn func()) {
	if s.sim != nil && s.sim.stepUntil(until) {
		return atOnce
	}
	return s.Turn()
}

// Registered yields the entries of the directory, hidden ones too, in no particular order.
func (s *System) Registered() iter.Seq[*Registration] {
	return func(yield func(*Registration) bool) {
		for id, r := range s.registrations.all() {
			if id == r.folded && !yield(r) { // it is stored under its id as written, too
				return
			}
		}
	}
}

// Agents yields the visible agents of the directory in no particular order.
func (s *System) Agents() iter.Seq[*Registration] {
	return func(yield func(*Registration) bool) {
		for r := range s.Registered() {
			if r.Visible() && r.current() && !yield(r) {
				return
			}
		}
	}
}

// Lookup returns the running agent of this process with that id, also if it is hidden.
// [System.Find] finds agents of other processes, too.
func (s *System) Lookup(id performatives.AgentID) (Self, bool) {
	c, ok := s.lookup(id)
	if !ok {
		return Self{}, false
	}
	return Self{c}, true
}

// Deliver passes m to the destination of the agent with that id. The error is a
// [*performatives.Refusal]: there is no such agent, it has stopped, or its mailbox or outbox is
// full. For a message with InReplyTo, each band has room for one message more for each
// conversation of the agent, so that all of them can be answered or cancelled at once.
func (s *System) Deliver(id performatives.AgentID, m *performatives.Message) error {
	r, ok := s.Find(id)
	switch {
	case ok:
		return r.Deliver(m)
	case s.draining.Load() || s.stoppedAgents.has(id):
		return refusal(m, id, performatives.CodeStopped, "")
	}
	return refusal(m, "", performatives.CodeUnknownAgent, fmt.Sprintf("there is no agent %q", id))
}

// HasRun reports whether an agent with that id runs in this process, or has stopped. It
// remembers the last 1024 stopped agents.
func (s *System) HasRun(id performatives.AgentID) bool {
	_, ok := s.lookup(id)
	return ok || s.stoppedAgents.has(id)
}

// protocolFor returns the index of the protocol that m opens a conversation of, or -1. A
// message with a Protocol field opens only that protocol.
func (s *System) protocolFor(m *performatives.Message) int {
	for i := range s.protocols {
		if p := &s.protocols[i]; (m.Protocol() == "" || m.Protocol() == p.name) && p.Opens(m) {
			return i
		}
	}
	return -1
}

// Send routes a message as the sender that it names, for messages that were received or
// created outside of any agent. Agents use [Self.Send], which documents the error. The message
// of an agent with a [Sealer] is refused.
func (s *System) Send(m *performatives.Message) error {
	_, err := s.send(m, nil, nil, s.opts.Entrance)
	return err
}

// Pass is [System.Send] for a message that has passed [Options].Entrance before, or is to pass it
// by.
func (s *System) Pass(m *performatives.Message) error { return s.PassTo(nil, m) }

// PassTo is [System.Pass] for a message to an agent that was found a moment ago.
func (s *System) PassTo(r *Registration, m *performatives.Message) error {
	_, err := s.send(m, nil, r, nil)
	return err
}

// send publishes a message, seals it and routes it, by the entrance if that is not nil. from is its
// sender where that sends it, else nil. to and at are as those of route.
func (s *System) send(m *performatives.Message, from *cell, to *Registration, entrance Router) (at *Registration, err error) {
	if events.Wants[events.MessageSent](&s.Events) {
		events.Publish(&s.Events, events.MessageSent{At: s.at(), Message: m})
	}
	sealed := m
	switch {
	case from == nil && s.sealing.Load() && s.seals(m):
		err = errUnsealed(m)
	case from != nil && from.spec.Sealer != nil:
		sealed, err = from.seal(m)
	}
	switch {
	case err != nil:
	case entrance != nil:
		err = entrance.Route(sealed)
	default:
		at, err = s.route(sealed, from, to)
	}
	if err == nil {
		return at, nil
	}
	refused := asRefusal(m, err)
	s.RecordRefusal(m, refused)
	return at, refused
}

func (s *System) at() events.At { return events.At{Time: time.Now()} }

// Route delivers m to its receiver as [Options].Router or Remote, without [Options].Entrance and
// without an event. It implements [Router]. The error is a [*performatives.Refusal].
func (s *System) Route(m *performatives.Message) error {
	_, err := s.route(m, nil, nil)
	return err
}

// route is Route for a message of the agent from; nil for another sender. to is the entry that the
// receiver had before, which is looked up only if it is not the present one. at is that.
func (s *System) route(m *performatives.Message, from *cell, to *Registration) (at *Registration, err error) {
	if s.opts.Router != nil {
		return nil, s.opts.Router.Route(m)
	}
	if at = to; !to.leadsTo(m.Receiver()) {
		at, _ = s.Find(m.Receiver())
	}
	if at != nil && at.local != nil {
		if err = at.local.take(m); !errors.Is(err, performatives.CodeStopped) {
			return at, err
		}
	}
	switch {
	case s.opts.Remote == nil:
		return at, s.Deliver(m.Receiver(), m)
	case from == nil:
		return at, s.opts.Remote.RouteTo(nil, at, m)
	}
	return at, s.opts.Remote.RouteTo(&from.Registration, at, m)
}

// StopAgent stops one agent and waits until it has stopped. Messages queued for it are refused to
// their senders, and its conversations end in a terminal state of their tables. StopAgent does
// nothing for an id that no agent of this process has. It returns an error when ctx ends first,
// because a hook has not returned. It must not be called on the agent's own actor: with the ctx of
// a decision there, the error is [ErrSelfWait]. A handler may stop its own agent, which ends the
// handler's ctx.
func (s *System) StopAgent(ctx context.Context, id performatives.AgentID) error {
	c, ok := s.lookup(id)
	if !ok {
		return nil
	}
	return s.stopActor(ctx, c)
}

// Logger returns the system's logger.
func (s *System) Logger() *slog.Logger { return s.opts.Logger }

// systemStamper stamps messages with random UUIDs of version 4 and the system clock.
type systemStamper struct{}

// Stamp returns the id and time of a new message.
func (systemStamper) Stamp() performatives.Stamp {
	return performatives.Stamp{ID: performatives.NewID(), Time: time.Now()}
}

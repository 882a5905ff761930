package actors

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/performatives"
)

// cell is the actor of one agent. A restart replaces the agent's value and its
// conversations, but neither the cell nor its mailbox. The fields from agent to
// guards are accessed only on the actor; the others are safe for concurrent use or
// immutable.
type cell struct {
	Registration // its local is the cell

	spec      *Spec // plainSpec for an agent without options
	create    func() Agent
	pid       atomic.Pointer[actor.PID] // nil until the actor exists
	mailbox   *Mailbox
	done      latch                                 // open once the agent has stopped
	requests  atomic.Pointer[pendingRequests]       // nil before the first request
	afterStop atomic.Pointer[stopCalls]             // nil before the first AfterStop
	handling  atomic.Pointer[performatives.Message] // what the agent's code handles; nil for none, and for a command

	inCall     atomic.Pointer[inCall] // nil while the actor is not known to be busy; stored by probe
	timers     timers
	removals   map[string]func()          // cancel the watches of agents of other processes, by their names in watchers; accessed only on the actor
	stopSignal atomic.Pointer[stopSignal] // nil before the first Stopping
	started    chan error                 // receives the result of the first start; nil when Spawn does not wait for it

	roles *roles

	agent          Agent
	firstValue     bool          // agent is the value that Spawn created
	running        bool          // Start of agent has succeeded, and Stop was not called since
	startPublished bool          // AgentStarted has been published
	stopping       bool          // the agent is stopping for good, and starts nothing new
	used           bool          // a message has come since the last [Self.Quiet]
	refused        atomic.Uint32 // when the agent has refused a request as busy, by nowMillis
	finite         int32         // open conversations that are not long-lived
	conversations  conversations
	tombstones     *tombstones
	responders     *[]Responder             // by index of the protocol, nil where the agent does not play the role; nil before the first request
	watchers       map[string][]func(Agent) // by the name of the actor, or of the removed agent
	guards         *[]Guard                 // results of Guarding.Guard; nil before they are asked for

	taken    *takenOn                   // nil for an agent that was not spawned by a [Reservation]
	retiring atomic.Pointer[retirement] // nil before [System.Retire]

	losses  *peersLost                // the first of those whose marks have not all been received
	live    atomic.Int32              // conversations whose last turn is not over
	working atomic.Int32              // handlers that run, also those that have outlived a restart
	stops   atomic.Pointer[actor.PID] // the child for which the engine waits; nil where it waits for no conversation

	knownPeers atomic.Pointer[knownPeers] // nil before the first; outlives restarts
	locals     atomic.Pointer[sync.Map]   // nil before the first; outlives restarts
}

// receive opens a message, publishes its receipt and handles it.
func (c *cell) receive(ctx actor.Context, m *performatives.Message) {
	c.used = true
	if c.spec.Sealer != nil || m.Sealed() {
		if m = c.unseal(m); m == nil {
			return
		}
	}
	if events.Wants[events.MessageReceived](&c.sys.Events) {
		events.Publish(&c.sys.Events, events.MessageReceived{At: c.sys.at(), Agent: c.id, Message: m})
	}
	c.handle(ctx, m)
}

// handle handles one message. When the agent's code panics, the sender gets a refusal
// before the supervisor gets the failure, so that the sender does not wait for a lost
// message. The same applies to runtime.Goexit, which recover cannot detect.
func (c *cell) handle(ctx actor.Context, m *performatives.Message) {
	handled := false
	defer func() {
		if handled {
			return
		}
		v := recover()
		c.sys.Refuse(c.id, m, performatives.CodeInternal, "")
		if v != nil {
			panic(panicError(v))
		}
	}()
	c.dispatch(ctx, m)
	handled = true
}

// dispatch passes m to the first of these that accepts it: the pending request of the reply m, the
// conversation of m, the tombstone of an ended conversation, a codon that m opens, or the agent's
// Receive. The guards decide before the last two. A request whose ReplyBy has passed is refused
// before; a CANCEL does not expire with the request that it cancels.
func (c *cell) dispatch(ctx actor.Context, m *performatives.Message) {
	if pending := c.requests.Load(); pending != nil && pending.resolve(m) {
		return
	}
	if e := forMessage(&c.conversations, m); e != nil {
		e.conversation.Actor().deliver(m)
		return
	}
	if c.tombstones != nil {
		if g := forMessage(c.tombstones, m); g != nil && g.tombstone.Receive(Self{c}, m) {
			return
		}
	}
	if t := c.retiring.Load(); t != nil && m.Receiver() != "" { // a broadcast does not follow an agent
		t.reservation.giveBack(m)
		return
	}
	act := m.Performative()
	if !m.ReplyBy().IsZero() && act.ExpectsReply() && act != performatives.ActCancel && m.Expired(time.Now()) {
		c.sys.RefuseCopy(c.id, m, &performatives.Refusal{Code: performatives.CodeExpired})
		return
	}
	p := c.sys.protocolFor(m)
	if r := c.checkGuards(m, p); r != nil {
		c.sys.Refuse(c.id, m, r.Code, r.Text)
		return
	}
	c.handling.Store(m)
	defer c.handling.Store(nil)
	if p >= 0 && c.openConversation(p, m) {
		return
	}
	if r, ok := c.agent.(Receiver); ok {
		r.Receive(&Context{Self{c}, ctx}, m)
		return
	}
	code, text := unhandled(m)
	c.sys.Refuse(c.id, m, code, text)
}

// unhandled returns the code and the text for a message that an agent without Receive does
// not handle. The text names the missing role by what the sender knows of it.
func unhandled(m *performatives.Message) (performatives.Code, string) {
	if m.Performative() == performatives.ActCancel || !m.Performative().ExpectsReply() {
		return performatives.CodeConversationEnded, ""
	}
	what := m.Performative().String()
	if name := m.MessageType(); name != "" {
		what += " " + name
	}
	code := performatives.CodeIncapable
	switch m.Performative() { //nolint:exhaustive // the acts with a code of their own (addenda §9)
	case performatives.ActQueryIf:
		code = performatives.CodeCannotDecide
	case performatives.ActQueryRef:
		code = performatives.CodeUnknownReference
	}
	if m.Protocol() == "" {
		return code, "the agent has no role that answers " + what + " without a protocol"
	}
	return code, fmt.Sprintf("the agent has no role that answers %s of the protocol %.64q", what, m.Protocol())
}

// openConversation opens a conversation of protocol p with m as its first message. It
// reports false when the agent does not play the role.
func (c *cell) openConversation(p int, m *performatives.Message) bool {
	if c.responders == nil {
		all := make([]Responder, len(c.sys.protocols))
		for i, protocol := range c.sys.protocols {
			all[i] = protocol.Bind(Self{c}, c.agent)
		}
		c.responders = &all
	}
	role := (*c.responders)[p]
	if role == nil {
		return false
	}
	if t, ok := role.(NoticeResponder); ok {
		t.Take(m)
		return true
	}
	if c.sys.draining.Load() {
		c.sys.RefuseCopy(c.id, m, agentStopped)
		return true
	}
	peer, _ := c.sys.Find(m.Sender())
	if r := c.takeOn(role, m, peer); r != nil {
		c.refuseOpening(role, m, r)
		return true
	}
	begun := false
	defer func() { // when the role panics, the tombstone refuses duplicates of m, so that they do not open the conversation again
		if !begun {
			c.addTombstone(&entry{key: Key{ID: m.ConversationID(), Peer: m.Sender()}}, failedOpening(m.ID()))
		}
	}()
	conversation := role.Open(m)
	begun = true
	conversation.Actor().peer = peer
	c.open(conversation, m, m.Priority())
	return true
}

// takeOn records the request m, which opens a conversation. A CANCEL that opens one has
// overtaken its request, which must not run any more. It is not refused itself. peer is the entry
// of the sender, or nil.
func (c *cell) takeOn(role Responder, m *performatives.Message, peer *Registration) *performatives.Refusal {
	otherwise := MaxRequestAge
	if t, ok := role.(TimedResponder); ok {
		if otherwise = t.Deadline(); otherwise == 0 {
			return nil
		}
	}
	if m.Performative() != performatives.ActCancel {
		return c.sys.requestIDs.takeOn(c, m, peer, string(m.ID()), otherwise)
	}
	if m.InReplyTo() != "" {
		_ = c.sys.requestIDs.takeOn(c, m, peer, m.InReplyTo(), otherwise) // without room, the tombstone alone remembers it
	}
	return nil
}

// failedOpening is the tombstone of a conversation that failed to open. It refuses the copies of
// its opening message, and its CANCEL.
type failedOpening performatives.MessageID

func (f failedOpening) Receive(self Self, late *performatives.Message) bool {
	if late.ID() != performatives.MessageID(f) && late.Performative() != performatives.ActCancel {
		return false
	}
	self.c.sys.Refuse(self.ID(), late, performatives.CodeInternal, "")
	return true
}

func (failedOpening) Size() int { return 0 }

func (failedOpening) Shed() {}

// addTombstone keeps the tombstone of the ended conversation e.
func (c *cell) addTombstone(e *entry, t Tombstone) {
	if c.tombstones == nil {
		c.tombstones = newTombstones()
	}
	c.tombstones.add(e, t)
}

// open opens a conversation. first is the message that opens it, nil at the initiator. priority is
// that of first, or of the command that begins the conversation. The conversation is counted and
// listed first, because it may have sent its opening act before its actor's open returns.
func (c *cell) open(conversation Conversation, first *performatives.Message, priority performatives.Priority) {
	key := conversation.Key()
	a := conversation.Actor()
	e := &a.entry
	*e = entry{key: key, conversation: conversation, withSelf: key.Peer.Is(c.id)}
	if l, ok := conversation.(interface{ LongLived() bool }); ok {
		e.longLived = l.LongLived()
	}
	if first == nil {
		e.losses = c.sys.losses.Load()
	}
	if c.sys.remote.value() > 0 { // else the peer is of this process
		if !a.peer.leadsTo(key.Peer) {
			a.peer, _ = c.sys.Find(key.Peer)
		}
		if a.peer != nil && a.peer.local == nil {
			e.load = a.peer.destination.Load()
		}
		if e.load != nil && first != nil {
			e.weight = first.Weight()
		}
	}
	c.conversations.add(e)
	for l := c.losses; l != nil; l = l.next {
		l.opened(e, priority.Band())
	}
	if !e.longLived {
		c.finite++
	}
	c.sys.count(e, 1)
	a.open(c, conversation, first, priority)
}

func (c *cell) untrack(k Key) *entry {
	e := c.conversations.remove(k)
	if e != nil {
		if !e.longLived {
			c.finite--
		}
		c.sys.count(e, -1)
		if t := c.retiring.Load(); t != nil {
			t.check(c)
		}
	}
	return e
}

// start runs the agent's Start hook. After a restart it first creates a new value.
func (c *cell) start(ctx actor.Context) {
	if c.stopping { // the agent was stopped during a restart
		ctx.Stop(ctx.Self())
		return
	}
	again := !c.firstValue
	if again {
		c.agent = c.newAgent()
	}
	c.firstValue = false
	err := c.startAgent(ctx)
	c.running = err == nil
	if c.started != nil {
		c.started <- err
		c.started = nil
		if err != nil {
			ctx.Stop(ctx.Self())
			return
		}
	}
	if err != nil {
		panic(&PanicError{Value: err})
	}
	c.startPublished = true
	c.sys.opts.OnChange(c.id)
	if events.Wants[events.AgentStarted](&c.sys.Events) {
		c.sys.Events.Publish(events.AgentStarted{At: c.sys.at(), Agent: c.id, Again: again, Roles: c.roles.names})
	}
}

// newAgent creates the agent's value for a restart.
func (c *cell) newAgent() Agent {
	agent := c.create()
	if agent == nil {
		panic(&PanicError{Value: errors.New("Spec.New returned nil")})
	}
	return agent
}

// startAgent calls the Start hook. A panic of the first start is returned as an error,
// for Spawn. A later panic goes to the supervisor.
func (c *cell) startAgent(ctx actor.Context) (err error) {
	if c.started != nil {
		returned := false
		defer func() {
			if !returned {
				err = fmt.Errorf("actors: agent %q panicked in Start: %w", c.id, panicError(recover()))
			}
		}()
		if err = c.restore(); err == nil {
			err = c.callStart(ctx)
		}
		returned = true
		return err
	}
	return c.callStart(ctx)
}

// restore passes the state of an earlier run to the agent.
func (c *cell) restore() error {
	m, ok := c.agent.(Movable)
	if !ok || c.spec.State == nil {
		return nil
	}
	if err := m.Restore(c.spec.State); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	c.spec.State = nil // c.spec is its own, because it has a state
	return nil
}

func (c *cell) callStart(ctx actor.Context) error {
	if s, ok := c.agent.(Starter); ok {
		return s.Start(&Context{Self{c}, ctx})
	}
	return nil
}

// stop begins the end of the agent. The engine would deliver messages until the last
// conversation has ended. The suspended mailbox holds them instead, and refuses them when
// the actor has stopped.
func (c *cell) stop(ctx actor.Context) {
	if c.stopping {
		return
	}
	c.stopping = true
	c.signalStop()
	c.timers.end()
	c.mailbox.PostSystemMessage(&actor.SuspendMailbox{})
	c.retiring.Load().snapshot(c)
	c.stopAgent(ctx)
	c.unwatch(ctx)
	if !c.requests.CompareAndSwap(nil, closedRequests) {
		c.requests.Load().close()
	}
	c.stopConversations(ctx)
}

// stopAgent calls the Stop hook if the agent has started. A panic is logged and not
// propagated, because the agent stops anyway.
func (c *cell) stopAgent(ctx actor.Context) {
	s, ok := c.agent.(Stopper)
	if !ok || !c.running {
		return
	}
	c.running = false
	defer func() {
		if v := recover(); v != nil {
			Self{c}.Logger().Error("agent panicked in Stop", "err", fmt.Sprint(v))
		}
	}()
	s.Stop(&Context{Self{c}, ctx})
}

// reset clears the state of the former value. Its conversations are being stopped: each of
// them ends in a terminal state of its table and leaves a tombstone as usual.
func (c *cell) reset() {
	c.uncountConversations()
	c.conversations.clear()
	c.agent, c.running, c.responders, c.watchers, c.removals = nil, false, nil, nil, nil
	c.finite = 0
	c.guards = nil
}

// uncountConversations subtracts all open conversations from the gauges.
func (c *cell) uncountConversations() {
	for e := range c.conversations.all {
		c.sys.count(e, -1)
	}
}

// terminated handles the stop of a child or of a watched actor.
func (c *cell) terminated(t *actor.Terminated) {
	c.runWatchers(t.Who.GetId())
}

// runWatchers calls the functions of [Self.Watch] for a stopped actor, or for a removed agent.
func (c *cell) runWatchers(name string) {
	fns := c.watchers[name]
	delete(c.watchers, name)
	delete(c.removals, name)
	if c.stopping {
		return
	}
	for _, fn := range fns {
		fn(c.agent)
	}
}

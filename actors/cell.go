package actors

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/performatives"
)

// cell is the actor that an agent lives in. It outlives restarts: the agent's
// value and conversations are made anew, the cell and its mailbox stay. Its
// fields below agent are touched only on its actor.
type cell struct {
	sys       *System
	spec      Spec
	folded    performatives.AgentID     // of spec.ID
	pid       atomic.Pointer[actor.PID] // nil until the actor exists
	mailbox   *Mailbox
	done      latch                                      // open once the agent has stopped for good
	asks      atomic.Pointer[asks]                       // nil until the first
	started   chan error                                 // takes the result of the first start; nil when nobody waits
	describes performatives.Capabilities                 // what the agent said before it started; never changes
	announced atomic.Pointer[performatives.Capabilities] // what it has said since; nil before, and then Spec.Hidden holds. Stored by skills
	skilled   []string                                   // where skills has it; guarded by skills.mu
	left      bool                                       // it has given its place up; guarded by skills.mu

	agent    Agent
	fresh    bool         // agent is the value that Spawn made
	up       bool         // agent has started
	known    bool         // AgentStarted has been published
	stopping bool         // agent stops for good, and takes nothing on any more
	props    *actor.Props // of its conversations; nil before the first
	opening  *guarded     // the conversation that is being spawned
	convs    conversations
	ended    *ended
	bound    []Responding // per protocol; nil where the agent does not play the role
	watching map[string][]func(Agent)
	guards   []Guard // that the agent has; see guarding
	guarding bool    // guards have been looked for

	acquaintances atomic.Pointer[acquaintances] // nil before the first; outlives restarts
	locals        atomic.Pointer[sync.Map]      // nil before the first; outlives restarts
}

// Receive is the engine's entry: one message at a time.
func (c *cell) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *performatives.Message:
		c.receive(ctx, m)
	case command:
		m.run(c, ctx)
	case *actor.Started:
		c.start(ctx)
	case *actor.Restarting:
		c.stopAgent(ctx)
		c.reset()
	case *actor.Stopping:
		c.stop(ctx)
	case *actor.Stopped:
		c.sys.stopped(c)
	case *actor.Terminated:
		c.terminated(m)
	default:
		c.sys.deadLetter(string(c.spec.ID), m, performatives.CodeUnexpectedAct)
	}
}

// receive takes one message out of the mailbox.
func (c *cell) receive(ctx actor.Context, m *performatives.Message) {
	if Wants[MessageReceived](&c.sys.Events) {
		c.sys.Events.Publish(MessageReceived{c.sys.at(), c.spec.ID, m})
	}
	c.handle(ctx, m)
}

// handle handles one message. A panic of the agent's code is told to the sender
// before the supervisor hears of it, so that nobody waits for a lost message. So
// is runtime.Goexit, of which nothing can be recovered.
func (c *cell) handle(ctx actor.Context, m *performatives.Message) {
	handled := false
	defer func() {
		if handled {
			return
		}
		v := recover()
		c.sys.refuse(c.spec.ID, m, performatives.CodeInternal, "")
		if v != nil {
			panic(panicError(v))
		}
	}()
	c.dispatch(ctx, m)
	handled = true
}

// dispatch finds who handles m: the question that it answers, its conversation,
// the memory of an ended one, a codon that it opens, or the agent's own Receive. The
// agent's guards are asked before the last two.
func (c *cell) dispatch(ctx actor.Context, m *performatives.Message) {
	if as := c.asks.Load(); as != nil && as.take(m) {
		return
	}
	if e := c.convs.of(m); e != nil {
		ctx.Send(e.pid, m)
		return
	}
	if c.ended.answer(m) {
		return
	}
	if expired(m) {
		c.sys.refuse(c.spec.ID, m, performatives.CodeExpired, "")
		return
	}
	p := c.sys.opened(m)
	if r := c.forbidden(m, p >= 0); r != nil {
		c.sys.refuse(c.spec.ID, m, r.Code, r.Text)
		return
	}
	if p >= 0 && c.answers(p, m) && c.openFor(ctx, p, m) {
		return
	}
	if r, ok := c.agent.(Receiver); ok {
		r.Receive(&Context{Self{c}, ctx}, m)
		return
	}
	c.sys.refuse(c.spec.ID, m, c.unhandled(m), "")
}

// unhandled says why an agent without Receive has no use for m.
func (c *cell) unhandled(m *performatives.Message) performatives.Code {
	switch {
	case m.Performative() == performatives.ActCancel, !m.Performative().ExpectsReply():
		return performatives.CodeConversationEnded
	default:
		return performatives.CodeIncapable
	}
}

// expired reports whether m asks for something that nobody waits for any more. A
// CANCEL does not expire with the request that it is about.
func expired(m *performatives.Message) bool {
	return !m.ReplyBy().IsZero() && m.Performative().ExpectsReply() &&
		m.Performative() != performatives.ActCancel && m.Expired(time.Now())
}

// openFor begins a conversation of protocol p with m as its first message. It
// reports whether the agent plays that role.
func (c *cell) openFor(ctx actor.Context, p int, m *performatives.Message) bool {
	if c.bound == nil {
		c.bound = make([]Responding, len(c.sys.opts.Protocols))
		for i, protocol := range c.sys.opts.Protocols {
			c.bound[i] = protocol.Bind(Self{c}, c.agent)
		}
	}
	role := c.bound[p]
	if role == nil {
		return false
	}
	if t, ok := role.(Taking); ok {
		t.Take(m)
		return true
	}
	if c.sys.draining.Load() {
		c.sys.refuse(c.spec.ID, m, performatives.CodeStopped, "")
		return true
	}
	ctx.Send(c.open(ctx, c.respond(role, m)).pid, m)
	return true
}

// respond asks the agent's role for the conversation that m begins. When the agent
// fails on it, the sender is told so, and the same message, should it come again,
// must not begin what has failed already.
func (c *cell) respond(role Responding, m *performatives.Message) Conversation {
	begun := false
	defer func() {
		if !begun {
			c.remember(&entry{key: Key{ID: m.ConversationID(), Peer: m.Sender()}}, c.failedOn(m))
		}
	}()
	conversation := role.Open(m)
	begun = true
	return conversation
}

// failedOn answers m, and the CANCEL of what it was to begin, like the first time.
func (c *cell) failedOn(m *performatives.Message) func(*performatives.Message) bool {
	return func(late *performatives.Message) bool {
		if late.ID() != m.ID() && late.Performative() != performatives.ActCancel {
			return false
		}
		c.sys.refuse(c.spec.ID, late, performatives.CodeInternal, "")
		return true
	}
}

// remember keeps the epilogue of a conversation that is over.
func (c *cell) remember(e *entry, late func(*performatives.Message) bool) {
	if c.ended == nil {
		c.ended = newEnded()
	}
	c.ended.remember(e, late)
}

// open starts the actor of a conversation as a child of this one.
func (c *cell) open(ctx actor.Context, conv Conversation) *entry {
	key := conv.Key()
	e := &entry{
		key: key, conv: conv, own: key.Peer.Is(c.spec.ID),
		pid: c.spawnConversation(ctx, &guarded{conversation: conv, cell: c}),
	}
	if c.convs == nil {
		c.convs = make(conversations)
	}
	if st, ok := conv.(interface{ Standing() bool }); ok {
		e.stands = st.Standing()
	}
	c.convs.add(e)
	c.sys.openOf(e).add(1)
	return e
}

func (c *cell) untrack(k Key) *entry {
	e := c.convs.remove(k)
	if e != nil {
		c.sys.openOf(e).add(-1)
	}
	return e
}

// start runs the agent's Start hook, on a fresh value after a restart.
func (c *cell) start(ctx actor.Context) {
	if c.stopping { // a restart that was under way when the agent was stopped
		ctx.Stop(ctx.Self())
		return
	}
	again := !c.fresh
	if again {
		c.agent = c.renew()
	}
	c.fresh = false
	err := c.startAgent(ctx)
	c.up = err == nil
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
	c.known = true
	if Wants[AgentStarted](&c.sys.Events) {
		c.sys.Events.Publish(AgentStarted{c.sys.at(), c.spec.ID, again})
	}
}

// renew makes the agent's next value.
func (c *cell) renew() Agent {
	agent := c.spec.New()
	if agent == nil {
		panic(&PanicError{Value: errors.New("Spec.New returned nil")})
	}
	return agent
}

// startAgent calls the hook. The panic of a first start is an error, which Spawn
// returns; a later one goes to the supervisor.
func (c *cell) startAgent(ctx actor.Context) (err error) {
	s, ok := c.agent.(Starter)
	if !ok {
		return nil
	}
	if c.started != nil {
		returned := false
		defer func() {
			if !returned {
				err = fmt.Errorf("actors: agent %q panicked as it started: %w", c.spec.ID, panicError(recover()))
			}
		}()
		err, returned = s.Start(&Context{Self{c}, ctx}), true
		return err
	}
	return s.Start(&Context{Self{c}, ctx})
}

// stop is the beginning of the agent's end. The engine would go on delivering
// until the last conversation has ended; the mailbox keeps what comes instead, and
// refuses it then.
func (c *cell) stop(ctx actor.Context) {
	if c.stopping {
		return
	}
	c.stopping = true
	c.mailbox.PostSystemMessage(&actor.SuspendMailbox{})
	c.stopAgent(ctx)
	if !c.asks.CompareAndSwap(nil, closedAsks) {
		c.asks.Load().close()
	}
}

// stopAgent calls the Stop hook of an agent that has started. A panic is logged
// and ends there, because the agent stops anyway.
func (c *cell) stopAgent(ctx actor.Context) {
	s, ok := c.agent.(Stopper)
	if !ok || !c.up {
		return
	}
	c.up = false
	defer func() {
		if v := recover(); v != nil {
			Self{c}.Logger().Error("agent panicked as it stopped", "err", fmt.Sprint(v))
		}
	}()
	s.Stop(&Context{Self{c}, ctx})
}

// reset forgets what belonged to the agent's former value. The conversations,
// being children, are stopped by the engine; each ends in a state of its table and
// is remembered like any other.
func (c *cell) reset() {
	c.forgetOpen()
	c.agent, c.up, c.convs, c.bound, c.watching = nil, false, nil, nil, nil
	c.guards, c.guarding = nil, false
}

// forgetOpen counts no conversation as open any more.
func (c *cell) forgetOpen() {
	for id, e := range c.convs {
		for ; e != nil; e = e.next {
			if e.key.ID == id { // and is no alias
				c.sys.openOf(e).add(-1)
			}
		}
	}
}

// terminated is told of every child that stopped and every actor watched.
func (c *cell) terminated(t *actor.Terminated) {
	fns := c.watching[t.Who.GetId()]
	delete(c.watching, t.Who.GetId())
	if c.stopping {
		return
	}
	for _, fn := range fns {
		fn(c.agent)
	}
}

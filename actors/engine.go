package actors

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/eventstream"

	"github.com/ribosome-agents/ribosome/performatives"
)

// newEngine starts the engine. It logs nothing itself: what it would say is
// published as events. Its stream of events is replaced, because what listens
// there counts dead letters for its log on goroutines that nobody joins.
func newEngine(s *System) *actor.ActorSystem {
	e := actor.NewActorSystem(
		actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) }),
	)
	e.EventStream = eventstream.NewEventStream()
	e.EventStream.Subscribe(func(ev any) {
		if d, ok := ev.(*actor.DeadLetterEvent); ok {
			answerDeadLetter(e, d)
			s.engineDeadLetter(d)
		}
	})
	return e
}

// answerDeadLetter does what the engine's own listeners do: it tells who asked, and
// who watches, that there is no such actor.
func answerDeadLetter(e *actor.ActorSystem, d *actor.DeadLetterEvent) {
	if d.Sender != nil {
		e.Root.Send(d.Sender, &actor.DeadLetterResponse{})
	}
	if w, ok := d.Message.(*actor.Watch); ok {
		if watcher, there := e.ProcessRegistry.Get(w.Watcher); there {
			watcher.SendSystemMessage(w.Watcher, &actor.Terminated{Who: d.PID, Why: actor.TerminatedReason_NotFound})
		}
	}
}

// engineDeadLetter takes what was sent to an actor that is not there any more.
func (s *System) engineDeadLetter(d *actor.DeadLetterEvent) {
	switch m := d.Message.(type) {
	case *performatives.Message:
		s.refuse(m.Receiver(), m, performatives.CodeConversationEnded, "")
	case *spawn: // its group has stopped
		m.reply <- ErrStopped
	case actor.SystemMessage, *actor.PoisonPill, command, Control, *actor.DeadLetterResponse: // nobody misses it
	default:
		s.deadLetter(d.PID.GetId(), m, performatives.CodeStopped)
	}
}

// group is the actor that supervises the agents of one group. It runs on the
// goroutine of whoever sends to it, so that spawning costs no switch.
type group struct {
	agent    *actor.Props // of every agent
	next     *cell        // whose actor is being made
	stopping bool
}

type spawn struct {
	c     *cell
	reply chan error // has room for one
}

// Receive spawns agents; all else is the engine's. A group that stops waits for
// its agents, and takes on none that it would not stop.
func (g *group) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Stopping:
		g.stopping = true
	case *spawn:
		if g.stopping {
			m.reply <- ErrStopped
			return
		}
		err := ErrStopped // when the engine panics, the group stops
		defer func() { m.reply <- err }()
		err = g.spawn(ctx, m.c)
	}
}

// spawn makes the actor of c. Its name is one of its own, so that a message to a
// former agent of that id, or the word of its end, cannot be taken for its own.
func (g *group) spawn(ctx actor.Context, c *cell) error {
	g.next = c
	_, err := ctx.SpawnNamed(g.agent, string(c.folded)+ctx.ActorSystem().ProcessRegistry.NextId())
	g.next = nil
	return err
}

func (s *System) newGroup() *group {
	g := new(group)
	g.agent = actor.PropsFromProducer(func() actor.Actor { return &incarnation{sys: s} },
		actor.WithDispatcher(s.opts.Dispatcher),
		actor.WithMailbox(func() actor.Mailbox { return g.next.mailbox }),
		actor.WithSupervisor(s.conversationFailure),
		actor.WithOnInit(func(ctx actor.Context) {
			ctx.Actor().(*incarnation).cell = g.next
			g.next.pid.Store(ctx.Self())
		}),
	)
	return g
}

// incarnation is what the engine makes anew when it restarts an agent: the way to
// the cell. Without it, each agent would need Props of its own, whose producer
// knows the cell.
type incarnation struct {
	sys  *System
	cell *cell // nil until the first message after a restart
}

// Receive is the engine's entry.
func (i *incarnation) Receive(ctx actor.Context) {
	if i.cell == nil {
		i.cell = i.sys.cellOf(ctx.Self())
	}
	i.cell.Receive(ctx)
}

// stop is the decision about what cannot go on.
func stop(error) actor.Directive { return actor.StopDirective }

func (s *System) startGroup(name string, sup Supervision) error {
	g := s.newGroup()
	props := actor.PropsFromProducer(func() actor.Actor { return g },
		actor.WithDispatcher(actor.NewSynchronizedDispatcher(1<<30)),
		actor.WithMailbox(MailboxProducer(MailboxOptions{OnRefuse: s.undelivered})),
		actor.WithSupervisor(s.supervise(sup, s.agentOf)),
		// What a group escalates, stops the group.
		actor.WithGuardian(s.supervise(Supervision{Decider: stop}, noAgent)),
	)
	id := "agents"
	if name != "" {
		id += "-" + name
	}
	pid, err := s.engine.Root.SpawnNamed(props, id)
	if err != nil {
		return fmt.Errorf("actors: group %q: %w", name, err)
	}
	s.groups[name] = pid
	return nil
}

// supervise is a supervision that also tells the stream of events. agentOf says
// which agent a child is, or belongs to.
func (s *System) supervise(sup Supervision, agentOf func(*actor.PID) performatives.AgentID) actor.SupervisorStrategy {
	own := sup.OnEvent
	sup.OnEvent = func(ev SupervisionEvent) {
		if Wants[Supervised](&s.Events) {
			s.Events.Publish(Supervised{s.at(), agentOf(ev.Child), ev})
		}
		if own != nil {
			own(ev)
		}
	}
	return sup.Strategy()
}

func noAgent(*actor.PID) performatives.AgentID { return "" }

// cellOf returns the cell of an agent's actor, whose name tells its group and its
// id: see [group.spawn]. It is nil when the agent has stopped.
func (s *System) cellOf(pid *actor.PID) *cell {
	for _, g := range s.groups {
		id, ok := strings.CutPrefix(pid.GetId(), g.GetId()+"/")
		if !ok {
			continue
		}
		if i := strings.LastIndexByte(id, '$'); i >= 0 {
			id = id[:i]
		}
		if c, ok := s.lookup(performatives.AgentID(id)); ok && c.pid.Load().Equal(pid) {
			return c
		}
	}
	return nil
}

// agentOf returns the id of an agent's actor.
func (s *System) agentOf(pid *actor.PID) performatives.AgentID {
	if c := s.cellOf(pid); c != nil {
		return c.spec.ID
	}
	return ""
}

// agentOfConversation returns the id of the agent that a conversation's actor
// belongs to, whose actor is its parent.
func (s *System) agentOfConversation(pid *actor.PID) performatives.AgentID {
	name := pid.GetId()
	return s.agentOf(actor.NewPID(pid.GetAddress(), name[:max(0, strings.LastIndexByte(name, '/'))]))
}

// spawnIn starts c's actor as a child of its group.
func (s *System) spawnIn(pid *actor.PID, c *cell) error {
	sp := &spawn{c: c, reply: make(chan error, 1)}
	s.engine.Root.Send(pid, sp)
	return <-sp.reply
}

// spawnConversation starts the actor of a conversation. All conversations of an
// agent share their props: the engine asks for the actor before Spawn returns, and
// never again, because a conversation is not restarted.
func (c *cell) spawnConversation(ctx actor.Context, g *guarded) *actor.PID {
	if c.props == nil {
		c.props = actor.PropsFromProducer(func() actor.Actor { return c.opening },
			actor.WithDispatcher(c.sys.opts.Dispatcher),
			actor.WithMailbox(c.sys.newConversationMailbox),
		)
	}
	c.opening = g
	defer func() { c.opening = nil }()
	return ctx.Spawn(c.props)
}

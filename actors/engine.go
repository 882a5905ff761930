package actors

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/eventstream"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/performatives"
)

// newEngine starts the engine. The engine's log is discarded: the system logs and publishes
// failures itself. Its event stream is replaced, because the default subscriber counts
// dead letters for the log on goroutines that are never joined.
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

// answerDeadLetter does the work of the replaced subscribers of the engine: it tells the
// sender of a request, and the watcher of an actor, that there is no such actor.
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

// engineDeadLetter handles a message to an actor that has stopped.
func (s *System) engineDeadLetter(d *actor.DeadLetterEvent) {
	switch m := d.Message.(type) {
	case *performatives.Message:
		s.RefuseCopy(m.Receiver(), m, agentStopped)
	case *spawn: // its group has stopped
		m.reply <- ErrStopped
	case actor.SystemMessage, *actor.PoisonPill, command, Control, *actor.DeadLetterResponse: // has no meaning without its actor
	default:
		s.deadLetter(d.PID.GetId(), m, performatives.CodeStopped)
	}
}

// group is the actor that supervises the agents of one group. It runs on the sender's
// goroutine, so that spawning needs no goroutine switch.
type group struct {
	agent    *actor.Props // shared by all agents of the group
	next     *cell        // the cell whose actor is being spawned
	stopping bool
}

type spawn struct {
	c     *cell
	reply chan error // capacity 1
}

// Receive spawns agents, and ignores other messages, which the engine handles. A stopping
// group waits for its agents, and spawns no more: it would not stop them.
func (g *group) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Stopping:
		g.stopping = true
	case *spawn:
		if g.stopping {
			m.reply <- ErrStopped
			return
		}
		err := ErrStopped // the result if the engine panics, which stops the group
		defer func() { m.reply <- err }()
		err = g.spawn(ctx, m.c)
	}
}

// spawn creates the actor of c. Its name is unique, so that messages and Terminated
// notices for an earlier agent of the same id do not reach it.
func (g *group) spawn(ctx actor.Context, c *cell) error {
	g.next = c
	_, err := ctx.SpawnNamed(g.agent, string(c.id)+ctx.ActorSystem().ProcessRegistry.NextId())
	g.next = nil
	return err
}

func (s *System) newGroup() *group {
	g := new(group)
	g.agent = actor.PropsFromProducer(func() actor.Actor { return &agentActor{sys: s} },
		actor.WithDispatcher(s.opts.Dispatcher),
		actor.WithMailbox(func() actor.Mailbox { return g.next.mailbox }),
		actor.WithOnInit(func(ctx actor.Context) {
			ctx.Actor().(*agentActor).cell = g.next
			g.next.pid.Store(ctx.Self())
		}),
	)
	return g
}

// agentActor is the engine's actor of an agent. The engine creates a new one at each
// restart; it delegates to the agent's cell. Because it finds the cell by its PID, all
// agents of a group share their Props.
type agentActor struct {
	sys  *System
	cell *cell // nil between a restart and the next message
}

// Receive handles one message of the engine.
func (i *agentActor) Receive(ctx actor.Context) {
	if i.cell == nil {
		i.cell = i.sys.cellOf(ctx.Self())
	}
	c := i.cell
	switch m := ctx.Message().(type) {
	case *performatives.Message:
		c.receive(ctx, m)
	case command:
		m.run(c, ctx)
	case *actor.Started:
		c.start(ctx)
	case *actor.Restarting:
		c.stopAgent(ctx)
		c.unwatch(ctx)
		c.stopConversations(ctx)
		c.reset()
	case *actor.Stopping:
		c.stop(ctx)
	case *actor.Stopped:
		c.sys.agentStopped(c)
	case *actor.Terminated:
		c.terminated(m)
	default:
		c.sys.deadLetter(string(c.id), m, performatives.CodeUnexpectedAct)
	}
}

// stopDirective is a [Decider] that always stops the child.
func stopDirective(error) actor.Directive { return actor.StopDirective }

func (s *System) startGroup(name string, sup Supervision) error {
	g := s.newGroup()
	props := actor.PropsFromProducer(func() actor.Actor { return g },
		actor.WithDispatcher(actor.NewSynchronizedDispatcher(1<<30)),
		actor.WithMailbox(MailboxProducer(MailboxOptions{OnRefuse: s.handleUndeliverable})),
		actor.WithSupervisor(s.supervise(sup, s.agentOf)),
		// A failure that a group escalates stops the group.
		actor.WithGuardian(s.supervise(Supervision{Decider: stopDirective}, noAgent)),
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

// supervise returns the strategy of sup, extended to log and publish its decisions.
// agentOf returns the id of the agent that a failed child is or belongs to.
func (s *System) supervise(sup Supervision, agentOf func(*actor.PID) performatives.AgentID) actor.SupervisorStrategy {
	own := sup.OnEvent
	sup.OnEvent = func(ev events.Decision) {
		s.supervised(events.Supervised{At: s.at(), Agent: agentOf(ev.Child), Conversation: "", Decision: ev})
		if own != nil {
			own(ev)
		}
	}
	return sup.Strategy()
}

// supervised logs and publishes a decision about a failure. The log of an agent's failure does not
// depend on a queue of events, which may lose it.
func (s *System) supervised(e events.Supervised) {
	level, args := slog.LevelWarn, []any{"agent", string(e.Agent), "child", e.Child.GetId(), "directive", e.Directive.String()}
	if e.Directive == actor.RestartDirective {
		args = append(args, "effect", "the agent starts again with fresh state", "restarts", e.Restarts, "delay", e.Delay)
	}
	if e.Conversation != "" {
		args = append(args, "conversation", string(e.Conversation))
	}
	args = append(args, "err", e.Reason)
	if len(e.Stack) > 0 { // a panic
		level, args = slog.LevelError, append(args, "stack", string(e.Stack))
	}
	s.opts.Logger.Log(context.Background(), level, "supervised", args...) //nolint:forbidigo // slog asks for one; nothing is cancelled by it
	if events.Wants[events.Supervised](&s.Events) {
		s.Events.Publish(e)
	}
}

func noAgent(*actor.PID) performatives.AgentID { return "" }

// agentOf returns the id of the agent with that actor, also after the agent has stopped, or an
// empty id when it is no agent's. The actor's name contains its group and its id: see
// [group.spawn].
func (s *System) agentOf(pid *actor.PID) performatives.AgentID {
	for _, g := range s.groups {
		if id, ok := strings.CutPrefix(pid.GetId(), g.GetId()+"/"); ok {
			return performatives.AgentID(id[:max(0, strings.LastIndexByte(id, '$'))])
		}
	}
	return ""
}

// cellOf returns the cell of an agent's actor, or nil when the agent has stopped.
func (s *System) cellOf(pid *actor.PID) *cell {
	if c, ok := s.cellAt(s.agentOf(pid)); ok && c.pid.Load().Equal(pid) {
		return c
	}
	return nil
}

// spawnIn starts c's actor as a child of the group pid.
func (s *System) spawnIn(pid *actor.PID, c *cell) error {
	sp := &spawn{c: c, reply: make(chan error, 1)}
	s.engine.Root.Send(pid, sp)
	return <-sp.reply
}

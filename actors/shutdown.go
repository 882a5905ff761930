package actors

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Stop ends the system in order: no agent, conversation or task begins any more;
// those under way may finish, but for conversations that stand until someone ends
// them; what is then still queued is refused to its sender
// and what still runs is told to stop; the actors end and their goroutines are
// joined. It keeps a quarter of ctx's time, at most a second, for that ending.
// Without a deadline it waits for the conversations, each of which has its own.
//
// The error says what had not stopped when ctx ended: handlers that ignore their
// context. Stopping again waits for the same end.
func (s *System) Stop(ctx context.Context) error {
	if s.ended.Load() {
		return nil
	}
	s.draining.Store(true)
	drain, cancel := drainTime(ctx)
	_ = s.open.wait(drain) // what is left is ended below
	cancel()
	for _, name := range slices.Sorted(maps.Keys(s.groups)) {
		s.engine.Root.Stop(s.groups[name])
	}
	errs := []error{
		s.awaitZero(ctx, &s.running, "agents"),
		s.awaitZero(ctx, &s.work, "handlers"),
	}
	if s.pool != nil {
		errs = append(errs, s.pool.Close(ctx))
	}
	if s.stopping.CompareAndSwap(false, true) {
		s.engine.Shutdown()
	}
	err := errors.Join(errs...)
	if err == nil {
		s.ended.Store(true)
	}
	return err
}

// drainTime is the part of ctx's time in which conversations may finish.
func drainTime(ctx context.Context) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, end.Add(-min(time.Until(end)/4, time.Second)))
}

// openOf is where a conversation counts.
func (s *System) openOf(e *entry) *gauge {
	if e.stands {
		return &s.standing
	}
	return &s.open
}

func (s *System) awaitZero(ctx context.Context, g *gauge, what string) error {
	if err := g.wait(ctx); err != nil {
		return fmt.Errorf("actors: %d %s have not stopped: %w", g.value(), what, err)
	}
	return nil
}

// stopped is the end of an agent.
func (s *System) stopped(c *cell) {
	c.reset()
	c.ended = nil
	if c.known {
		s.departed.add(c.spec.ID)
	}
	s.unregister(c)
	if !c.known {
		return
	}
	if Wants[AgentStopped](&s.Events) {
		s.Events.Publish(AgentStopped{s.at(), c.spec.ID})
	}
	if s.opts.OnStopped != nil {
		s.opts.OnStopped(c.spec.ID)
	}
}

// drained is called when nothing is left in the mailbox of a stopped actor.
func drained(invoker actor.MessageInvoker) {
	ctx, ok := invoker.(actor.Context)
	if !ok {
		return
	}
	if in, ok := ctx.Actor().(*incarnation); ok {
		in.cell.sys.running.add(-1)
		in.cell.done.open()
	}
}

// Work runs fn, the long part of a conversation, on a goroutine that the system
// joins when it stops.
func (s *System) Work(fn func()) {
	s.work.add(1)
	work := func() {
		defer s.work.add(-1)
		fn()
	}
	if s.sim != nil {
		s.sim.Go(work)
		return
	}
	go work()
}

// AfterFunc calls fn, which must not block, once d has passed, unless stop is
// called before; stop reports whether it was. What may be due at the same time as
// others takes its timers from here, for the sake of simulations.
func (s *System) AfterFunc(d time.Duration, fn func()) (stop func() bool) {
	if s.sim != nil {
		return s.sim.AfterFunc(d, fn)
	}
	return time.AfterFunc(d, fn).Stop
}

// Turn is for a goroutine that is about to wait for others: it calls what Turn
// returns when it goes on, each time. That does nothing, save in a simulation, where
// it returns once it is the goroutine's turn.
func (s *System) Turn() func() {
	if s.sim != nil && s.sim.settle != nil {
		return s.sim.Turn()
	}
	return atOnce
}

func atOnce() {}

// stopActor stops an agent and waits until it has.
func (s *System) stopActor(ctx context.Context, c *cell) error {
	s.engine.Root.Stop(c.pid.Load())
	s.help(c.done.isOpen)
	select {
	case <-c.done.done():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("actors: agent %q has not stopped: %w", c.spec.ID, context.Cause(ctx))
	}
}

var _ actor.Actor = (*cell)(nil)

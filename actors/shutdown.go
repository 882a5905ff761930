package actors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/actors/events"
)

// Stop stops the system in these steps. It accepts no new agents, conversations or tasks.
// It waits for the open conversations, except long-lived ones. It stops the agents,
// refuses the messages that are still queued, cancels the remaining conversations and
// handlers, and joins their goroutines. The steps after the wait get a quarter of ctx's
// remaining time, at most a second. Without a deadline, the wait is bounded only by the
// conversations' own deadlines, and the steps after it by [MaxStopTime].
//
// A stop that takes longer than a second logs what it waits for, by name. The error says what had
// not stopped in time, because a handler ignores its context, and the log has the names. A further
// call waits for the same end. The error is [ErrSelfWait], at once, if ctx is that of a handler or
// a decision of an agent of the system.
func (s *System) Stop(ctx context.Context) error {
	if err := s.CheckWait(ctx); err != nil {
		return fmt.Errorf("actors: stop: %w", err)
	}
	if s.ended.Load() {
		return nil
	}
	s.draining.Store(true)
	report := s.reportLater()
	drain, cancel := drainTime(ctx)
	_ = s.open.wait(drain) // remaining conversations are stopped below
	cancel()
	report()
	defer s.reportLater()()
	if _, ok := ctx.Deadline(); !ok {
		ctx, cancel = context.WithTimeoutCause(ctx, MaxStopTime, errStopTime)
		defer cancel()
	}
	for c := range s.registrations.locals() {
		c.signalStop()
	}
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
		s.requestIDs.known.Close()
		s.ended.Store(true)
		return nil
	}
	s.logWaiting(slog.LevelError, "a stop has not ended: it waits for")
	return err
}

// MaxStopTime is the longest time that [System.Stop], with a ctx without a deadline, waits for
// agents and handlers to return after their contexts have ended.
const MaxStopTime = 10 * time.Second

var errStopTime = fmt.Errorf("no deadline was given, and %v have passed: %w", MaxStopTime, context.DeadlineExceeded)

// A stop that waits for longer than reportTime names what it waits for, up to maxReported
// things.
const (
	reportTime  = time.Second
	maxReported = 8
)

// reportLater logs what a stop waits for after reportTime, unless cancel is called. A timer
// that was stopped may stay in memory, and must not keep the system.
func (s *System) reportLater() (cancel func()) {
	var of atomic.Pointer[System]
	of.Store(s)
	timer := time.AfterFunc(reportTime, func() {
		if waits := of.Load(); waits != nil {
			waits.logWaiting(slog.LevelWarn, "a stop waits for")
		}
	})
	return func() {
		timer.Stop()
		of.Store(nil)
	}
}

// logWaiting logs what keeps the system from stopping: agents whose actor is busy, handlers
// that ignore the end of their contexts, and open conversations.
func (s *System) logWaiting(level slog.Level, msg string) {
	n := 0
	report := func(what string, c Caller) bool {
		n++
		s.opts.Logger.With(c.args()...).Log(context.Background(), level, msg+" "+what, "open", s.open.value(), "handlers", s.work.value()) //nolint:forbidigo // for the log only
		return n < maxReported
	}
	s.outliving.Range(func(c, _ any) bool {
		return report("a handler that ignores the end of its context", *c.(*Caller)) //nolint:forcetypeassert // nothing else is stored
	})
	for r := range s.Registered() {
		if since, _ := r.busy(); !since.IsZero() && n < maxReported {
			report("an agent whose actor is busy", r.local.caller())
		}
	}
	for c := range s.Conversations() {
		d, ok := c.(interface {
			Caller() Caller
			LongLived() bool
		})
		if ok && n < maxReported && (!d.LongLived() || s.open.value() == 0) {
			report("an open conversation", d.Caller())
		}
	}
}

// drainTime returns a context for the wait for open conversations: ctx without the time
// reserved for stopping.
func drainTime(ctx context.Context) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, end.Add(-min(time.Until(end)/4, time.Second)))
}

// count adds n open conversations like e, and those of the destination of its peer.
func (s *System) count(e *entry, n int) {
	if e.load != nil {
		e.load.conversations.Add(int64(n))
		e.load.weight.Add(int64(n * e.weight))
	}
	if e.longLived {
		s.longLived.add(n)
		return
	}
	s.open.add(n)
}

func (s *System) awaitZero(ctx context.Context, g *gauge, what string) error {
	if err := g.wait(ctx); err != nil {
		return fmt.Errorf("actors: %d %s have not stopped: %w", g.value(), what, err)
	}
	return nil
}

// agentStopped clears the state of a stopped agent, releases its id and publishes the
// stop.
func (s *System) agentStopped(c *cell) {
	c.reset()
	c.tombstones = nil
	c.create = nil // a handle that is kept keeps none of the agent
	if c.spec != &plainSpec {
		c.spec.State = nil
	}
	if c.startPublished {
		s.stoppedAgents.add(c.id)
	}
	s.removeRegistration(&c.Registration)
	c.runAfterStop()
	if !c.startPublished {
		return
	}
	s.opts.OnChange(c.id)
	if events.Wants[events.AgentStopped](&s.Events) {
		s.Events.Publish(events.AgentStopped{At: s.at(), Agent: c.id})
	}
}

// mailboxDrained records the stop of an agent, when the mailbox of its stopped actor is
// empty.
func mailboxDrained(invoker actor.MessageInvoker) {
	ctx, ok := invoker.(actor.Context)
	if !ok {
		return
	}
	if in, ok := ctx.Actor().(*agentActor); ok {
		in.cell.sys.running.add(-1)
		in.cell.done.open()
	}
}

// Work runs fn, a handler of a conversation, on a goroutine that [System.Stop] joins.
func (s *System) Work(fn func()) { s.workFor(nil, fn) }

// workFor is Work for a handler of the agent c, and counts the handler. A nil c stands for no
// agent.
func (s *System) workFor(c *cell, fn func()) {
	s.countWork(c, 1)
	work := func() {
		defer s.countWork(c, -1)
		fn()
	}
	if s.sim != nil {
		s.sim.Go(work)
		return
	}
	go work()
}

func (s *System) countWork(c *cell, n int) {
	s.work.add(n)
	if c != nil {
		c.working.Add(int32(n)) //nolint:gosec // a few
	}
}

// AfterFunc calls fn after d, unless stop is called first; stop reports whether it
// prevented the call. fn must not block. Timers that may fire at the same time as others
// must use AfterFunc, so that a simulation can order them.
func (s *System) AfterFunc(d time.Duration, fn func()) (stop func() bool) {
	if s.sim != nil {
		return s.sim.AfterFunc(d, fn)
	}
	return time.AfterFunc(d, fn).Stop
}

// Turn registers a goroutine that is about to wait for other goroutines. The goroutine
// must call the returned function after each wait. In a simulation, that function blocks
// until it is the goroutine's turn. Otherwise it does nothing.
func (s *System) Turn() func() {
	if s.sim != nil && s.sim.settle != nil {
		return s.sim.Turn()
	}
	return atOnce
}

func atOnce() {}

// stopActor stops an agent and waits until it has stopped.
func (s *System) stopActor(ctx context.Context, c *cell) error {
	if err := c.checkActor(ctx); err != nil {
		return fmt.Errorf("actors: stop agent %q: %w", c.id, err)
	}
	if caller, ok := s.callerOf(ctx); ok && caller.Agent.c == c { // its own stop ends ctx
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(context.WithoutCancel(ctx), MaxStopTime, errStopTime)
		defer cancel()
	}
	c.signalStop()
	s.engine.Root.Stop(c.pid.Load())
	turn := s.stepSimulation(c.done.isOpen)
	defer turn()
	select {
	case <-c.done.done():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("actors: agent %q has not stopped: %w", c.id, context.Cause(ctx))
	}
}

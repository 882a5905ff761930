package actors

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/actors/events"
)

// The defaults of [Supervision]. With the default Backoff, a child that fails at every
// start is stopped after 26 seconds. A larger limit would never be reached, because of
// the growing delays.
const (
	DefaultMaxRestarts = 8
	DefaultWindow      = time.Minute
)

// Unlimited is the MaxRestarts value for no limit.
const Unlimited = -1

// Decider returns the directive for a child that failed for reason, which is a
// [*PanicError] when a handler panicked. It is called on the supervisor's goroutine and
// must not block. When a Decider panics, the child is stopped.
type Decider func(reason error) actor.Directive

// Supervision configures how a supervisor handles failures of its children. The zero
// value restarts the failed child after a delay, and stops it after too many restarts.
type Supervision struct {
	// Decider chooses the directive. Nil always restarts.
	//
	// actor.EscalateDirective stops the child and fails the supervisor. The child is
	// stopped because the next supervisor may resume the failed supervisor, but nothing
	// would resume the child. For a child without a supervising actor, the directive only
	// stops the child.
	Decider Decider

	// AllForOne applies a restart or stop to all children of the supervisor, for children
	// that depend on one another. They are suspended at once.
	AllForOne bool

	// MaxRestarts is the largest number of restarts of a child within Window. Zero means
	// [DefaultMaxRestarts], and [Unlimited] no limit. For no restarts, use a Decider.
	MaxRestarts int
	// Window is the period in which MaxRestarts counts. Zero means [DefaultWindow].
	Window time.Duration
	// Escalate selects the directive after MaxRestarts: false stops the child, true
	// escalates its failure.
	Escalate bool

	// Backoff is the delay before a restart. The child's mailbox is suspended during the
	// delay. The zero value has no jitter.
	Backoff Backoff
	// ResetAfter is the time without a failure after which a child's backoff starts again
	// at the shortest delay. Zero means twice Backoff.Max.
	ResetAfter time.Duration
	// Random returns numbers in [0, 1) for the jitter. It is called from many goroutines.
	// Nil means math/rand/v2. A simulation passes its own.
	Random func() float64

	// OnEvent is called with each decision before it is applied, on the supervisor's
	// goroutine. It must not block or panic. Nil means no call.
	OnEvent func(events.Decision)
}

// Strategy returns the supervision as a strategy of the engine. Any number of supervisors
// may share it. It panics on invalid options.
func (s Supervision) Strategy() actor.SupervisorStrategy {
	s = s.withDefaults()
	if err := s.validate(); err != nil {
		panic(err)
	}
	return &strategy{Supervision: s}
}

// withDefaults returns a copy with the zero values filled in.
func (s Supervision) withDefaults() Supervision {
	s.Backoff = s.Backoff.withDefaults()
	if s.Decider == nil {
		s.Decider = func(error) actor.Directive { return actor.RestartDirective }
	}
	s.MaxRestarts = cmp.Or(s.MaxRestarts, DefaultMaxRestarts)
	s.Window = cmp.Or(s.Window, DefaultWindow)
	s.ResetAfter = cmp.Or(s.ResetAfter, 2*s.Backoff.Max)
	if s.Random == nil {
		s.Random = random
	}
	if s.OnEvent == nil {
		s.OnEvent = func(events.Decision) {}
	}
	return s
}

// validate returns an error that names the first invalid field.
func (s Supervision) validate() error {
	switch {
	case s.MaxRestarts < Unlimited:
		return fmt.Errorf("actors: Supervision.MaxRestarts: want at least %d, got %d", Unlimited, s.MaxRestarts)
	case s.Window < 0:
		return fmt.Errorf("actors: Supervision.Window: want a positive duration, got %v", s.Window)
	case s.ResetAfter < 0:
		return fmt.Errorf("actors: Supervision.ResetAfter: want a positive duration, got %v", s.ResetAfter)
	}
	return s.Backoff.validate()
}

// random is the default source of jitter.
func random() float64 { return rand.Float64() }

// strategy is the [actor.SupervisorStrategy] of a [Supervision]. Many supervisors may
// share it.
type strategy struct {
	Supervision
	failures failures
}

var _ actor.SupervisorStrategy = (*strategy)(nil)

// HandleFailure decides about one failure of child and applies the decision. The engine
// calls it on the supervisor's goroutine, or on the child's when no actor supervises it.
func (s *strategy) HandleFailure(
	system *actor.ActorSystem, supervisor actor.Supervisor, child *actor.PID,
	stats *actor.RestartStatistics, reason, message any,
) {
	e := events.Decision{Child: child}
	e.Reason = failureReason(reason)
	if p, ok := errors.AsType[*PanicError](e.Reason); ok {
		e.Stack = p.Stack
	}
	e.Directive, e.Reason = s.decide(e.Reason)
	if e.Directive == actor.RestartDirective {
		s.limit(&e, stats)
	}
	s.OnEvent(e)
	d := decision{Decision: e, system: system, supervisor: supervisor, message: message}
	d.apply(s.AllForOne)
}

// failureReason returns the engine's reason as an error.
func failureReason(reason any) error {
	if err, ok := reason.(error); ok {
		return err
	}
	return &PanicError{Value: reason}
}

// decide calls the decider. A panic of the decider stops the child: without a supervising
// actor it would otherwise end the process.
func (s *strategy) decide(reason error) (directive actor.Directive, why error) {
	defer func() {
		if r := recover(); r != nil {
			directive = actor.StopDirective
			why = fmt.Errorf("%w; the decider panicked: %v", reason, r)
		}
	}()
	return s.Decider(reason), reason
}

// limit counts a restart and sets its delay. When there are too many restarts, it
// replaces the directive by a stop or an escalation.
func (s *strategy) limit(e *events.Decision, stats *actor.RestartStatistics) {
	restarts, attempt := s.failures.add(stats, s.Window, s.ResetAfter)
	if s.MaxRestarts == Unlimited || restarts <= s.MaxRestarts {
		e.Restarts = restarts
		e.Delay = s.Backoff.Delay(attempt, s.Random)
		return
	}
	e.Restarts = restarts - 1 // excludes this one
	e.Directive = actor.StopDirective
	if s.Escalate {
		e.Directive = actor.EscalateDirective
	}
}

// decision is a supervisor's decision about one failure, with the parameters to apply it.
type decision struct {
	events.Decision
	system     *actor.ActorSystem
	supervisor actor.Supervisor
	message    any // the message that the child was handling
}

// apply applies the directive.
func (d *decision) apply(allForOne bool) {
	switch d.Directive {
	case actor.ResumeDirective:
		d.supervisor.ResumeChildren(d.Child)
	case actor.RestartDirective:
		d.restart(d.children(allForOne))
	case actor.StopDirective:
		d.supervisor.StopChildren(d.children(allForOne)...)
	case actor.EscalateDirective:
		d.escalate()
	}
}

// children returns the actors to restart or stop. A guardian of the engine has no list of
// its children and panics when asked for it; there only the failed child is affected.
func (d *decision) children(allForOne bool) []*actor.PID {
	if _, isActor := d.supervisor.(actor.Context); !allForOne || !isActor {
		return []*actor.PID{d.Child}
	}
	return d.supervisor.Children()
}

// escalate stops the child, and fails the supervisor if it is an actor.
func (d *decision) escalate() {
	d.supervisor.StopChildren(d.Child)
	if _, isActor := d.supervisor.(actor.Context); isActor {
		d.supervisor.EscalateFailure(d.Reason, d.message)
	}
}

// restart restarts the children after the delay. The failed child is suspended already;
// the others are suspended until then.
func (d *decision) restart(children []*actor.PID) {
	targets := make([]target, 0, len(children))
	for _, pid := range children {
		if p, ok := d.system.ProcessRegistry.Get(pid); ok {
			targets = append(targets, target{pid, p})
			if !pid.Equal(d.Child) {
				p.SendSystemMessage(pid, &actor.SuspendMailbox{})
			}
		}
	}
	restart := func() {
		for _, t := range targets {
			t.restart(d.system)
		}
	}
	if d.Delay <= 0 {
		restart()
		return
	}
	time.AfterFunc(d.Delay, restart)
}

// target is an actor to restart.
type target struct {
	pid     *actor.PID
	process actor.Process
}

// restart restarts the actor unless it has stopped. The message goes to the process and
// not to the PID, because another actor may have the same PID by now.
func (t target) restart(system *actor.ActorSystem) {
	if p, _ := system.ProcessRegistry.Get(t.pid); p == t.process {
		t.process.SendSystemMessage(t.pid, &actor.Restart{})
	}
}

// Bounds of failures: keptTimes is the largest number of failure times per child,
// keptChildren the number of children from which old ones are removed.
const (
	keptTimes    = 1024
	keptChildren = 64
)

// failures records the failure times of children, for as long as the restart limits need
// them. The engine's RestartStatistics never forget a failure. They serve only as the key
// of a child, because they survive its restarts.
type failures struct {
	mu       sync.Mutex
	children map[*actor.RestartStatistics]*history
	sweepAt  int // number of children at which old ones are removed
}

// history is the record of one child.
type history struct {
	times   []time.Time // failures within the window, oldest first
	last    time.Time
	attempt int // consecutive failures with less than resetAfter between them
}

// add records a failure of a child, identified by its statistics. It returns the number
// of failures within window, and the number of consecutive failures with less than
// resetAfter between them.
func (f *failures) add(child *actor.RestartStatistics, window, resetAfter time.Duration) (recent, attempt int) {
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	h := f.children[child]
	if h == nil {
		h = new(history)
		f.rememberLocked(child, h, now.Add(-max(window, resetAfter)))
	}
	h.add(now, window, resetAfter)
	return len(h.times), h.attempt
}

// rememberLocked adds a child. It removes the children whose last failure is not after
// the given time; their history no longer affects any limit.
func (f *failures) rememberLocked(child *actor.RestartStatistics, h *history, before time.Time) {
	if f.children == nil {
		f.children = make(map[*actor.RestartStatistics]*history)
	}
	if len(f.children) >= max(keptChildren, f.sweepAt) {
		for c, old := range f.children {
			if !old.last.After(before) {
				delete(f.children, c)
			}
		}
		f.sweepAt = 2 * len(f.children)
	}
	f.children[child] = h
}

func (h *history) add(now time.Time, window, resetAfter time.Duration) {
	if now.Sub(h.last) >= resetAfter {
		h.attempt = 0
	}
	h.attempt++
	h.last = now
	h.times = append(h.times, now)
	old := 0
	for now.Sub(h.times[old]) >= window || len(h.times)-old > keptTimes {
		old++
	}
	h.times = append(h.times[:0], h.times[old:]...)
}

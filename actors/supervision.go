package actors

import (
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// The defaults of [Supervision]. With the default Backoff, a child that fails
// whenever it starts is stopped after 26 seconds; a larger limit would never be
// met, because the delays have become too long by then.
const (
	DefaultMaxRestarts = 8
	DefaultWindow      = time.Minute
)

// Unlimited is a MaxRestarts without a limit.
const Unlimited = -1

// Decider chooses what to do about a child that failed for reason, which is a
// [*PanicError] when a handler panicked. It is called on the supervisor's
// goroutine and must not block. A Decider that panics has the child stopped.
type Decider func(reason error) actor.Directive

// Supervision is how a supervisor deals with children that fail. The zero value
// works: it restarts the child that failed, after a delay, and stops it after
// too many restarts.
type Supervision struct {
	// Decider chooses the directive. Nil always restarts.
	//
	// actor.EscalateDirective fails the supervisor, and stops the child: the
	// supervisor's own supervisor may well resume it, and nobody would resume
	// the child. For a child without a supervising actor it only stops.
	Decider Decider

	// AllForOne applies a restart or stop to all children of the supervisor, for
	// children that cannot do without one another. They are suspended at once.
	AllForOne bool

	// MaxRestarts is how many restarts a child has within Window. Zero means
	// [DefaultMaxRestarts], and [Unlimited] no limit. To have none, use a Decider.
	MaxRestarts int
	// Window is the time over which MaxRestarts counts. Zero means
	// [DefaultWindow].
	Window time.Duration
	// Escalate is what happens to a child beyond MaxRestarts: false stops it,
	// true escalates the failure.
	Escalate bool

	// Backoff is the delay before a restart. The child's mailbox is suspended
	// meanwhile. Its zero value has no jitter.
	Backoff Backoff
	// ResetAfter is how long a child goes without a failure to begin with the
	// shortest delay again. Zero means twice Backoff.Max.
	ResetAfter time.Duration
	// Random is what jitter is drawn from: numbers in [0, 1). It is called by
	// many goroutines. Nil means math/rand/v2; a simulation passes its own.
	Random func() float64

	// OnEvent is told each decision, on the supervisor's goroutine, before it is
	// carried out. It must not block or panic. Nil means nobody is.
	OnEvent func(SupervisionEvent)
}

// SupervisionEvent is one decision of a supervisor.
type SupervisionEvent struct {
	Child     *actor.PID      // who failed
	Directive actor.Directive // what is done about it
	Reason    error           // why it failed
	Stack     []byte          // of the panic, nil for any other failure
	Restarts  int             // of the child within the window, this one included
	Delay     time.Duration   // until the restart
}

// Strategy returns the supervision as the engine takes it, to be shared by any
// number of supervisors. It panics on options that cannot be.
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
	if s.MaxRestarts == 0 {
		s.MaxRestarts = DefaultMaxRestarts
	}
	if s.Window == 0 {
		s.Window = DefaultWindow
	}
	if s.ResetAfter == 0 {
		s.ResetAfter = 2 * s.Backoff.Max
	}
	if s.Random == nil {
		s.Random = random
	}
	if s.OnEvent == nil {
		s.OnEvent = func(SupervisionEvent) {}
	}
	return s
}

// validate reports the field that cannot be.
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

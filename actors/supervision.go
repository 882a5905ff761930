package actors

import (
	"cmp"
	"fmt"
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

package actors

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/ribosome-agents/ribosome/actors/events"
)

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

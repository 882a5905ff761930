package codons

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// DefaultUndoTime is how long undoing one step of a saga may take.
const DefaultUndoTime = time.Minute

// Saga is several steps that belong together: all are done, in order, or those that
// were done, or may have been, are undone in the reverse order ([SagaTable]; Garcia-
// Molina and Salem 1987). It never changes, and may be run many times at once.
//
// A step mostly has another agent do something, by [Delegate], [Request] or [CallTool]
// with the ctx that it is given. Whoever runs the saga keeps it together. Agents can
// also pass it on from one to the next: each does its part as a step, and has the next
// agent do the rest as another, so that a failure comes back the same way and each
// undoes its own.
//
// Below a conversation that has a budget, undoing is paid for by that one, too: give each
// Do a part of it ([WithBudget]), since what one leaves nobody can undo with more.
//
// Not offered: forward recovery, by which a crashed saga goes on from a save-point
// instead of back; steps that run beside one another; and isolation: others see what
// was done before it is undone.
type Saga struct {
	Steps []SagaStep
	// Grace is how long a step may take to return once the saga is cancelled or out of
	// time; then it counts as one that may have been done. Zero means twice
	// [DefaultGrace], plus a second, within which a conversation ends that is cancelled.
	Grace time.Duration
	// Journal is told of each state before what is to be done in it begins; nil is not
	// told. A saga that crashed goes on, backwards, from the last one: [Saga.Resume]. An
	// error fails the step of that state before it has done anything; nothing keeps steps
	// from being undone.
	Journal func(ctx context.Context, s SagaState) error
}

// SagaStep is one of a saga.
type SagaStep struct {
	Name string // names it in results and errors
	// Do does it. earlier are the results of the steps before, by their names; the map is
	// its own. ctx ends with the saga's, and it should return soon then.
	Do func(ctx context.Context, earlier map[string]any) (any, error)
	// Undo undoes it. done is what Do returned, nil when nobody knows whether it was done:
	// then Undo must do no harm if it was not. It is tried again until it succeeds, but
	// not once p has stopped ([actors.ErrStopped]), so it must be safe to repeat. ctx does not end with the saga's, and has UndoTime. Nil is
	// for a step that leaves nothing behind.
	Undo func(ctx context.Context, done any) error
	// Unknown says whether a Do that returned an error may have been done, so that it is
	// undone too, as it is after a panic. Nil is [StepUnknown].
	Unknown  func(error) bool
	UndoTime time.Duration // for Undo, with all its tries; zero means [DefaultUndoTime]
	Retry    Retry         // how long to wait before Undo is tried again; the zero value begins with [DefaultRetry]
}

// SagaState is where a saga stands: plain data, if the results of its steps are.
type SagaState struct {
	At      machine.State  `json:"at"`
	Results map[string]any `json:"results"` // of the steps that were done, by their names
	Lost    []string       `json:"lost"`    // steps that could not be undone
}

// SagaError is a saga that did not succeed. errors.Is and errors.As find the reasons.
type SagaError struct {
	Step   string // that did not succeed; empty for a saga that was resumed
	Cause  error  // why
	Undone []string
	Lost   []LostStep // what could not be undone: someone has to look after it
}

// LostStep is a step that could not be undone.
type LostStep struct {
	Step string
	Err  error
}

// Error says which step failed, what was undone and what could not be.
func (e *SagaError) Error() string {
	var b strings.Builder
	b.WriteString("codons: saga: ")
	if e.Step != "" {
		fmt.Fprintf(&b, "step %s: ", e.Step)
	}
	b.WriteString(e.Cause.Error())
	if len(e.Undone) > 0 {
		fmt.Fprintf(&b, "; undone: %s", strings.Join(e.Undone, ", "))
	}
	for _, l := range e.Lost {
		fmt.Fprintf(&b, "; NOT undone: %s: %v", l.Step, l.Err)
	}
	return b.String()
}

// Unwrap returns the cause, and why steps were lost.
func (e *SagaError) Unwrap() []error {
	errs := []error{e.Cause}
	for _, l := range e.Lost {
		errs = append(errs, l.Err)
	}
	return errs
}

// ErrResumed is the cause of the end of a saga that goes on after a crash.
var ErrResumed = errors.New("codons: the saga was interrupted, and is undone")

// Validate says what is wrong with the steps.
func (s Saga) Validate() error {
	if len(s.Steps) == 0 {
		return errors.New("codons: a saga has at least one step")
	}
	names := map[string]bool{}
	for i, step := range s.Steps {
		if step.Name == "" || step.Do == nil || names[step.Name] {
			return fmt.Errorf("codons: step %d of a saga: want a name of its own, and Do", i+1)
		}
		names[step.Name] = true
	}
	return nil
}

// Run does the steps, and returns their results by their names. The error is a
// [*SagaError], or says what is wrong with the saga. The end of ctx stops the step at
// hand, and what was done is undone all the same. Run returns when nothing is left to
// do: after ctx's end that takes at most the grace and the UndoTimes. It must not be
// called on an agent's own actor.
func (s Saga) Run(ctx context.Context, p Party) (map[string]any, error) {
	return s.run(ctx, p, commandStart, SagaState{})
}

// Resume undoes what a saga that crashed in that state has done. The error is a
// [*SagaError] with [ErrResumed] as its cause.
func (s Saga) Resume(ctx context.Context, p Party, from SagaState) error {
	_, err := s.run(ctx, p, sagaResume(from.At), from)
	return err
}

func (s Saga) run(ctx context.Context, p Party, first string, from SagaState) (map[string]any, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	r := newSagaRun(ctx, s, p, from)
	defer r.stop()
	if !r.machine.Takes(r.at, machine.Command(first)) {
		return nil, fmt.Errorf("codons: a saga of %d steps cannot go on from %q", len(s.Steps), from.At)
	}
	r.step(machine.Command(first))
	for !r.machine.Terminal(r.at.State) {
		r.step(r.next())
	}
	if err := s.tell(Detach(ctx), r.snapshot()); err != nil {
		p.Self().Logger().Error("the end of a saga is not known", "err", err)
	}
	if r.at.State == stateCompleted {
		return r.results, nil
	}
	return nil, &r.failure
}

// StepUnknown reports whether a step that failed with err may have been done, so that
// it is undone too. It was not if a peer says that it never took it on, or could not
// carry it out, or if the error has nothing to do with a conversation or its time. Where
// there were several peers, it may have been as soon as one of them may have done it; of
// a [*SagaError], if something could not be undone.
func StepUnknown(err error) bool {
	switch e := err.(type) { //nolint:errorlint // what it wraps is looked at below
	case *EndError:
		return e.unknown()
	case *SagaError:
		return len(e.Lost) > 0
	case *panickedError:
		return true
	case *QuorumError:
		if e.Got > 0 {
			return true
		}
	}
	if err == context.Canceled || err == context.DeadlineExceeded { //nolint:errorlint // the same
		return true
	}
	switch e := err.(type) { //nolint:errorlint // the same
	case interface{ Unwrap() error }:
		return StepUnknown(e.Unwrap())
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(e.Unwrap(), StepUnknown)
	}
	return false
}

// unknown reports whether the peer may have done what it was asked to.
func (e *EndError) unknown() bool {
	switch e.State { //nolint:exhaustive // in any other state it may have
	case stateRejected, stateRefused, stateNotUnderstood:
		return false
	case stateFailed:
		switch e.Refusal.Code { //nolint:exhaustive // of the codes, those that end work from outside
		case performatives.CodeStillRunning, performatives.CodeTimeout, performatives.CodeStopped, performatives.CodeInternal,
			performatives.CodeDisconnected, performatives.CodeBudget: // it is told of, whatever the work came to
			return true
		}
		return false
	}
	return true
}

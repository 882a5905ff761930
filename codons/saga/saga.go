package saga

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
)

// DefaultUndoTime is the time for undoing one step, with all its tries.
const DefaultUndoTime = time.Minute

// Saga is a sequence of steps. It is never modified, and may be run many times at once.
//
// Inside a conversation that has a budget, Undo is paid from the same budget: give each Do
// a part of it ([codons.WithBudget]), so that some is left for Undo.
type Saga struct {
	Steps []Step // at least one
	// Grace is the time in which a step has to return after the saga is cancelled or out
	// of time. A step that does not return counts as one that may have been done. Zero
	// or less means twice [codons.DefaultGrace] and a second, in which a cancelled conversation
	// ends.
	Grace time.Duration
	// Journal is called with each state before the work of that state begins; nil is not
	// called. [Saga.Resume] undoes a crashed saga from its last state. An error fails the
	// step of that state before its Do is called. An error in a state of undoing is
	// logged, and the step is undone. It is called on a goroutine of the step.
	Journal func(ctx context.Context, s State) error
}

// Step is one step of a saga. Its functions run on goroutines of their own.
type Step struct {
	Name string // unique in the saga; the key of the step's result
	// Do does the step. earlier holds the results of the steps before, by their names; the
	// map belongs to Do. ctx ends with the saga's, and Do should return soon after it.
	Do func(ctx context.Context, earlier map[string]any) (any, error)
	// Undo undoes the step. done is the result of Do, or nil when it is not known whether
	// the step was done: then Undo must do no harm if it was not. Undo is called again
	// until it succeeds or UndoTime is over, so it must be safe to repeat; not after
	// [actors.ErrStopped], the end of the agent that runs the saga. ctx does not end with
	// the saga's. Nil is for a step that has nothing to undo.
	Undo func(ctx context.Context, done any) error
	// Unknown reports whether a step whose Do returned an error may have been done, so
	// that it is undone, too. It is not called after a panic: then the step is undone.
	// Nil means [StepUnknown].
	Unknown  func(error) bool
	UndoTime time.Duration // for Undo, with all its tries; zero or less means [DefaultUndoTime]
	Retry    codons.Retry  // the waits between tries of Undo; the zero value begins with [codons.DefaultRetry]
}

// State is the progress of a saga. It is plain data when the results of the steps are.
type State struct {
	At      machine.State  `json:"at"`
	Results map[string]any `json:"results"` // of the steps that were done, by their names
	Lost    []string       `json:"lost"`    // the steps that could not be undone
}

// Validate checks that there is a step, and that each has a name of its own and a Do.
func (s Saga) Validate() error {
	if len(s.Steps) == 0 {
		return errors.New("saga: want at least one step")
	}
	names := map[string]bool{}
	for i, step := range s.Steps {
		if step.Name == "" || step.Do == nil || names[step.Name] {
			return fmt.Errorf("saga: step %d: want a Name that no other step has, and a Do", i+1)
		}
		names[step.Name] = true
	}
	return nil
}

// Run does the steps, and returns their results by their names. The error is an [*Error],
// or one of [Saga.Validate]. The end of ctx stops the current step, and the steps done so
// far are undone. Run returns when no more is to be done: after the end of ctx within the
// grace and the undo times. Run blocks and must not be called on an agent's own actor.
func (s Saga) Run(ctx context.Context, p codons.Party) (map[string]any, error) {
	return s.run(ctx, p, codons.CommandStart, State{})
}

// Resume undoes the steps that a saga had done when it crashed in a state. The error is an
// [*Error] with [ErrResumed] as its cause, also when everything was undone; or it says that
// the saga is invalid or that from is not a live state of it. Resume blocks as [Saga.Run]
// does.
func (s Saga) Resume(ctx context.Context, p codons.Party, from State) error {
	_, err := s.run(ctx, p, resume(from.At), from)
	return err
}

func (s Saga) run(ctx context.Context, p codons.Party, first string, from State) (map[string]any, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	r := newRun(ctx, s, p, from)
	defer r.stop()
	if !r.machine.Takes(r.at, machine.Command(first)) {
		return nil, fmt.Errorf("saga: a saga of %d steps cannot resume from state %q", len(s.Steps), from.At)
	}
	r.step(machine.Command(first))
	for !r.machine.Terminal(r.at.State) {
		r.step(r.next())
	}
	if err := s.tell(codons.Detach(ctx), r.snapshot()); err != nil {
		p.Self().Logger().Error("saga: the end was not journalled", "err", err)
	}
	if r.at.State == codons.StateCompleted {
		return r.results, nil
	}
	return nil, &r.failure
}

// tell calls the journal with a state.
func (s Saga) tell(ctx context.Context, state State) error {
	if s.Journal == nil {
		return nil
	}
	if _, err := caught(func() (any, error) { return nil, s.Journal(ctx, state) }); err != nil {
		return fmt.Errorf("saga: journal: %w", err)
	}
	return nil
}

func (s Saga) grace() time.Duration {
	if s.Grace > 0 {
		return s.Grace
	}
	return 2*codons.DefaultGrace + time.Second
}

func (s Step) undoTime() time.Duration {
	if s.UndoTime > 0 {
		return s.UndoTime
	}
	return DefaultUndoTime
}

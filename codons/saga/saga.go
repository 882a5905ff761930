package saga

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	// Journal is called with the record of the saga before the work that follows from its
	// last event begins, and at the end; nil is not called. [Saga.Resume] undoes a crashed
	// saga from the latest record, which holds the events of those before it. An error
	// fails the step before its Do is called. An error while the saga is undone is
	// logged, and the step is undone. It is called on a goroutine of the step. It must not
	// change the record, and may keep it. The record has a JSON form when the results of
	// the steps have one.
	Journal func(ctx context.Context, r codons.Record) error
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
	// Result is a value of the type that Do returns. [Saga.Resume] gives Undo a result of
	// this type when the record was JSON. A result of another type counts as a step that
	// may have been done. Nil means any type, which is [performatives.Raw] when it was JSON.
	Result any
	// Unknown reports whether a step whose Do returned an error may have been done, so
	// that it is undone, too. It is not called after a panic: then the step is undone.
	// Nil means [StepUnknown].
	Unknown  func(error) bool
	UndoTime time.Duration // for Undo, with all its tries; zero or less means [DefaultUndoTime]
	Retry    codons.Retry  // the waits between tries of Undo; the zero value begins with [codons.DefaultRetry]
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
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if _, err := codons.SelfOf(p); err != nil {
		return nil, err
	}
	return newRun(ctx, s, p, "").finish(machine.CommandStart, progress{Steps: s.names()})
}

// Resume undoes the steps that a saga had done when it crashed, by its record, which may come from
// another process ([codons.ReadRecord]). The error is an [*Error] whose cause is or wraps
// [ErrResumed], also when everything was undone; or it says that the saga is invalid, or that the
// record is of other steps or of an ended saga. The saga keeps its id, and its new record begins
// with what the given one came to: a Resume that crashes is resumed from it. Resume blocks as
// [Saga.Run] does.
func (s Saga) Resume(ctx context.Context, p codons.Party, r codons.Record) error {
	if err := s.Validate(); err != nil {
		return err
	}
	if _, err := codons.SelfOf(p); err != nil {
		return err
	}
	at, from, err := s.rebuild(r)
	if err != nil {
		return err
	}
	again := newRun(ctx, s, p, r.ID)
	again.resume(from)
	_, err = again.finish(resume(at), from)
	return err
}

// rebuild returns the state and the progress that a record came to.
func (s Saga) rebuild(r codons.Record) (machine.State, progress, error) {
	v, _, err := codons.Rebuild(Codon, r)
	if err != nil {
		return "", progress{}, fmt.Errorf("saga: %w", err)
	}
	from := v.Data().(progress)
	if names := s.names(); !slices.Equal(from.Steps, names) {
		return "", progress{}, fmt.Errorf("saga: the record is of a saga of the steps %q, not %q", from.Steps, names)
	}
	if v.Ended() {
		return "", progress{}, fmt.Errorf("saga: the saga of the record has ended: it is %s", v.State())
	}
	for _, step := range s.Steps {
		if done, ok := from.Results[step.Name]; ok {
			if from.Results[step.Name], err = step.read(done); err != nil {
				return "", progress{}, err
			}
		}
	}
	return v.State(), from, nil
}

func (s Saga) names() []string {
	names := make([]string, len(s.Steps))
	for i, step := range s.Steps {
		names[i] = step.Name
	}
	return names
}

// tell calls the journal.
func (s Saga) tell(ctx context.Context, r codons.Record) error {
	if s.Journal == nil {
		return nil
	}
	if _, err := caught(func() (any, error) { return nil, s.Journal(ctx, r) }); err != nil {
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

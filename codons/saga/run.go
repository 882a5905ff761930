package saga

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// run is one run of a saga. All but the jobs runs on the goroutine of the caller.
type run struct {
	saga  Saga
	party codons.Party
	solo  *codons.Solo
	side  *side
	ctx   context.Context //nolint:containedctx // the run is within the call that has it
	cause error           // of the failure
	lost  []error         // of side.Lost, in its order

	outcomes chan outcome // has room for the outcome of each job
	cancels  map[string]context.CancelFunc
	over     <-chan struct{} // ctx.Done() until its end was handled; then nil
	grace    *time.Timer
	bound    *time.Timer
	turn     func() // see actors.System.Turn
}

// outcome is the end of a job: its last command, with the result or the error.
type outcome struct {
	command string
	step    int // from 1
	data    any
	err     error
}

// event returns the arguments of run.step.
func (o outcome) event() (machine.Symbol, any, error) {
	if o.err != nil {
		return machine.Commanded(o.command), o.err.Error(), o.err
	}
	return machine.Commanded(o.command), o.data, nil
}

func newRun(ctx context.Context, s Saga, p codons.Party, id performatives.ConversationID) *run {
	solo := codons.NewSolo(codonOf(len(s.Steps)), p.Self(), id)
	r := &run{
		saga: s, party: p, solo: solo, side: solo.Side().(*side), ctx: ctx,
		outcomes: make(chan outcome, 2*len(s.Steps)), cancels: map[string]context.CancelFunc{}, over: ctx.Done(),
		grace: time.NewTimer(0), bound: time.NewTimer(0), turn: p.Self().System().Turn(),
	}
	r.grace.Stop()
	r.bound.Stop()
	return r
}

// resume has the run undo what a saga had come to when it crashed, also after the end of ctx.
func (r *run) resume(from progress) {
	r.cause, r.over = ErrResumed, nil
	if from.Failed != nil {
		r.cause = fmt.Errorf("%w; it had failed with: %s", ErrResumed, from.Failed.Text)
	}
	for _, l := range from.Lost {
		r.lost = append(r.lost, errors.New(l.Text))
	}
}

// finish takes the first event and those that follow, until the saga has ended.
func (r *run) finish(first string, from progress) (map[string]any, error) {
	defer r.stop()
	for r.step(machine.Commanded(first), from, nil); !r.solo.Ended(); {
		r.step(r.next())
	}
	if err := r.saga.tell(codons.Detach(r.ctx), r.solo.Record()); err != nil {
		r.party.Self().Logger().Error("saga: the end was not journalled", "err", err)
	}
	if r.solo.State() == standard.StateCompleted {
		return r.results(), nil
	}
	return nil, r.failure()
}

// results returns a copy of the results so far.
func (r *run) results() map[string]any {
	results := make(map[string]any, len(r.side.Results))
	maps.Copy(results, r.side.Results)
	return results
}

// failure returns the error of a saga that did not complete.
func (r *run) failure() *Error {
	e := &Error{Cause: r.cause, Undone: r.side.Undone}
	if r.side.Failed != nil {
		e.Step = r.side.Failed.Step
	}
	for i, l := range r.side.Lost {
		e.Lost = append(e.Lost, LostStep{l.Step, r.lost[i]})
	}
	return e
}

// stop cancels the contexts of all jobs. A job that still runs was cancelled before.
func (r *run) stop() {
	for _, cancel := range r.cancels {
		cancel()
	}
	r.grace.Stop()
	r.bound.Stop()
}

// next waits for the next event. It returns the arguments of step. Outcomes take precedence over
// timers and the end of ctx.
func (r *run) next() (on machine.Symbol, data any, err error) {
	select {
	case o := <-r.outcomes:
		return o.event()
	default:
		defer r.turn()
	}
	select {
	case o := <-r.outcomes:
		return o.event()
	case <-r.over:
		r.over = nil
		if errors.Is(r.ctx.Err(), context.DeadlineExceeded) {
			return machine.Timeout(machine.TimerDeadline), nil, actors.EndOf(r.ctx)
		}
		return machine.Commanded(standard.CommandCancel), nil, actors.EndOf(r.ctx)
	case <-r.grace.C:
		return machine.Timeout(machine.TimerGrace), nil, nil
	case <-r.bound.C:
		return machine.Timeout(timerBound), nil, fmt.Errorf("saga: not undone in time: %w", context.DeadlineExceeded)
	}
}

// number returns the number of the step that the state is about, 0 when there is none.
func (r *run) number() int {
	_, i := numbered(string(r.solo.State()))
	return i
}

// step takes an event and carries out its effects. err is the error of the step's job, or the
// end of ctx. The table has a row for each event of a run, so an error of Take is a mistake of
// this package.
func (r *run) step(on machine.Symbol, data any, err error) {
	effects, unexpected := r.solo.Take(on, data)
	if unexpected != nil {
		panic(unexpected)
	}
	if r.side.Failed != nil && r.cause == nil {
		r.cause = err
	}
	if i := len(r.lost); i < len(r.side.Lost) {
		r.lost = append(r.lost, err)
		r.party.Self().Logger().Error("saga: a step could not be undone", "step", r.side.Lost[i].Step, "err", err)
	}
	for _, e := range effects {
		switch e.Kind { //nolint:exhaustive // a saga sends no messages
		case machine.EffectRun:
			r.begin(e.Name)
		case machine.EffectStop:
			r.cancels[e.Name]()
		case machine.EffectArm:
			r.arm(e.Name)
		case machine.EffectDisarm:
			r.disarm(e.Name)
		}
	}
}

// arm starts a timer. The bound is longer than the context of Undo, so that an Undo that
// returns at the end of its context is not lost.
func (r *run) arm(timer string) {
	switch timer {
	case machine.TimerGrace:
		r.grace.Reset(r.saga.grace())
	case timerBound:
		r.bound.Reset(r.saga.Steps[r.number()-1].undoTime() + r.saga.grace())
	}
}

func (r *run) disarm(timer string) {
	switch timer {
	case machine.TimerDeadline:
		r.over = nil
	case machine.TimerGrace:
		r.grace.Stop()
	case timerBound:
		r.bound.Stop()
	}
}

package codons

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// sagas are the machines of sagas, by their numbers of steps.
var sagas sync.Map

func sagaMachine(steps int) *machine.Machine {
	if m, ok := sagas.Load(steps); ok {
		return m.(*machine.Machine)
	}
	m, _ := sagas.LoadOrStore(steps, SagaTable(steps).MustCompile())
	return m.(*machine.Machine)
}

// sagaRun is the shell of one run of a saga. All but the jobs is on the goroutine of
// its caller.
type sagaRun struct {
	saga    Saga
	party   Party
	machine *machine.Machine
	at      machine.Conversation
	ctx     context.Context //nolint:containedctx // the run is within the call that has it
	results map[string]any
	failure SagaError

	words chan sagaWord // has room for each job's
	ends  map[string]context.CancelFunc
	over  <-chan struct{} // of ctx, until it was heard
	grace *time.Timer
	bound *time.Timer
	turn  func() // see actors.System.Turn
}

// sagaWord is a job's last.
type sagaWord struct {
	name string
	step int
	data any
	err  error
}

func newSagaRun(ctx context.Context, s Saga, p Party, from SagaState) *sagaRun {
	r := &sagaRun{
		saga: s, party: p, machine: sagaMachine(len(s.Steps)), ctx: ctx, results: map[string]any{},
		words: make(chan sagaWord, 2*len(s.Steps)), ends: map[string]context.CancelFunc{}, over: ctx.Done(),
		grace: time.NewTimer(0), bound: time.NewTimer(0), turn: p.Self().System().Turn(),
	}
	r.grace.Stop()
	r.bound.Stop()
	r.at = r.machine.Start(machine.Initiator, time.Now())
	if from.At != "" {
		r.failure.Cause, r.over = ErrResumed, nil // it only goes back, whatever ctx does
		maps.Copy(r.results, from.Results)
		for _, name := range from.Lost {
			r.failure.Lost = append(r.failure.Lost, LostStep{name, ErrResumed})
		}
	}
	return r
}

// stop ends what jobs are left, which were asked to already.
func (r *sagaRun) stop() {
	for _, end := range r.ends {
		end()
	}
	r.grace.Stop()
	r.bound.Stop()
}

// next waits for what happens. A job's last word comes before what ends its time.
func (r *sagaRun) next() machine.Symbol {
	select {
	case w := <-r.words:
		return r.heard(w)
	default:
		defer r.turn()
	}
	select {
	case w := <-r.words:
		return r.heard(w)
	case <-r.over:
		r.over = nil
		r.blame(r.saga.Steps[r.number()-1].Name, endOf(r.ctx))
		if errors.Is(r.ctx.Err(), context.DeadlineExceeded) {
			return machine.Timeout(timerDeadline)
		}
		return machine.Command(commandCancel)
	case <-r.grace.C:
		return machine.Timeout(timerGrace)
	case <-r.bound.C:
		i := r.number()
		r.lose(i, fmt.Errorf("codons: not undone in its time: %w", context.DeadlineExceeded))
		return machine.Timeout(timerBound)
	}
}

func (r *sagaRun) heard(w sagaWord) machine.Symbol {
	r.note(w)
	return machine.Command(w.name)
}

// number is the step that the state is about.
func (r *sagaRun) number() int {
	_, rest, _ := strings.Cut(string(r.at.State), "_")
	digits, _, _ := strings.Cut(rest, "_")
	i, _ := strconv.Atoi(digits) // 0 in the states that are about none
	return i
}

// note keeps what a job says, unless it says so too late.
func (r *sagaRun) note(w sagaWord) {
	name := r.saga.Steps[w.step-1].Name
	doing, undoing := r.at.State == sagaDoing(w.step) || r.at.State == sagaStopping(w.step), r.undoing(w.step)
	switch {
	case w.name == sagaDone(w.step) && doing:
		r.results[name] = w.data
	case (w.name == sagaFailed(w.step) || w.name == sagaUnknown(w.step)) && doing:
		r.blame(name, w.err)
	case w.name == sagaUndid(w.step) && undoing:
		r.failure.Undone = append(r.failure.Undone, name)
	case w.name == sagaLost(w.step) && undoing:
		r.lose(w.step, w.err)
	}
}

func (r *sagaRun) undoing(i int) bool {
	return r.at.State == sagaUndoing(i, false) || r.at.State == sagaUndoing(i, true)
}

// blame keeps the first reason.
func (r *sagaRun) blame(step string, err error) {
	if r.failure.Cause == nil {
		r.failure.Step, r.failure.Cause = step, err
	}
}

func (r *sagaRun) lose(i int, err error) {
	name := r.saga.Steps[i-1].Name
	r.failure.Lost = append(r.failure.Lost, LostStep{name, err})
	r.party.Self().Logger().Error("a step of a saga could not be undone", "step", name, "err", err)
}

// step takes an event, and does what comes of it.
func (r *sagaRun) step(on machine.Symbol) {
	next, effects, err := r.machine.Step(r.at, machine.Event{On: on, At: time.Now()})
	if err != nil {
		panic(err) // the table has a row for all that happens here
	}
	r.at = next
	for _, e := range effects {
		switch e.Kind { //nolint:exhaustive // a saga sends nothing
		case machine.EffectRun:
			r.begin(e.Name)
		case machine.EffectStop:
			r.ends[e.Name]()
		case machine.EffectArm:
			r.arm(e.Name)
		case machine.EffectDisarm:
			r.disarm(e.Name)
		}
	}
}

func (r *sagaRun) arm(timer string) {
	switch timer {
	case timerGrace:
		r.grace.Reset(r.saga.grace())
	case timerBound:
		r.bound.Reset(r.saga.Steps[r.number()-1].undoTime() + r.saga.grace()) // it has the last word if it keeps its time
	}
}

func (r *sagaRun) disarm(timer string) {
	switch timer {
	case timerDeadline:
		r.over = nil
	case timerGrace:
		r.grace.Stop()
	case timerBound:
		r.bound.Stop()
	}
}

func (s Saga) grace() time.Duration {
	if s.Grace > 0 {
		return s.Grace
	}
	return 2*DefaultGrace + time.Second
}

func (s SagaStep) undoTime() time.Duration {
	if s.UndoTime > 0 {
		return s.UndoTime
	}
	return DefaultUndoTime
}

// begin starts a job, on a goroutine of its own. The journal hears of it first.
func (r *sagaRun) begin(job string) {
	i := r.number()
	step, do := r.saga.Steps[i-1], job == sagaDo(i)
	var ctx context.Context
	if do {
		ctx, r.ends[job] = context.WithCancel(r.ctx)
	} else {
		ctx, r.ends[job] = context.WithTimeout(Detach(r.ctx), step.undoTime())
	}
	work, word := r.doing(ctx, step, i), sagaWord{name: sagaUnknown(i), step: i, err: errGoexit}
	if !do {
		work, word.name = r.undo(ctx, step, i), sagaLost(i)
	}
	state := r.snapshot()
	r.party.Self().System().Work(func() {
		defer func() { r.words <- word }() // also when the step calls runtime.Goexit
		err := r.saga.tell(ctx, state)
		switch {
		case err == nil && do && ctx.Err() != nil:
			err = endOf(r.ctx) // nobody wants it any more, and it has done nothing yet
		case err != nil && !do:
			r.party.Self().Logger().Error("a state of a saga is not known", "step", step.Name, "err", err)
		}
		if err != nil && do {
			word = sagaWord{name: sagaFailed(i), step: i, err: err}
			return
		}
		word = work()
	})
}

var errGoexit = errors.New("codons: the step ended its goroutine")

// tell has the journal know a state.
func (s Saga) tell(ctx context.Context, state SagaState) error {
	if s.Journal == nil {
		return nil
	}
	if _, err := caught(func() (any, error) { return nil, s.Journal(ctx, state) }); err != nil {
		return fmt.Errorf("codons: the journal of a saga: %w", err)
	}
	return nil
}

func (r *sagaRun) snapshot() SagaState {
	s := SagaState{At: r.at.State, Results: maps.Clone(r.results)}
	for _, l := range r.failure.Lost {
		s.Lost = append(s.Lost, l.Step)
	}
	return s
}

// doing is the job that does a step.
func (r *sagaRun) doing(ctx context.Context, step SagaStep, i int) func() sagaWord {
	earlier := maps.Clone(r.results)
	return func() sagaWord {
		done, err := caught(func() (any, error) { return step.Do(ctx, earlier) })
		switch {
		case err == nil:
			return sagaWord{name: sagaDone(i), step: i, data: done}
		case step.unknown(err):
			return sagaWord{name: sagaUnknown(i), step: i, err: err}
		}
		return sagaWord{name: sagaFailed(i), step: i, err: err}
	}
}

// unknown reports whether a step that failed with err may have been done, as one that
// panicked may, and one of which the caller's code cannot say.
func (s SagaStep) unknown(err error) bool {
	var panicked *panickedError
	if s.Unknown == nil || errors.As(err, &panicked) {
		return StepUnknown(err)
	}
	unknown, failed := caught(func() (any, error) { return s.Unknown(err), nil })
	return failed != nil || unknown == true
}

// undo is the job that undoes a step: it tries until it succeeds, or until ctx ends, or
// until there is no agent any more that could.
func (r *sagaRun) undo(ctx context.Context, step SagaStep, i int) func() sagaWord {
	done := r.results[step.Name]
	return func() sagaWord {
		turn := r.party.Self().System().Turn()
		for n := 1; ; n++ {
			if step.Undo == nil {
				return sagaWord{name: sagaUndid(i), step: i}
			}
			_, err := caught(func() (any, error) { return nil, step.Undo(ctx, done) })
			if err == nil {
				return sagaWord{name: sagaUndid(i), step: i}
			}
			waited := !errors.Is(err, actors.ErrStopped) && await(ctx, step.Retry.wait(performatives.MessageID(step.Name), n))
			turn()
			if !waited {
				return sagaWord{name: sagaLost(i), step: i, err: err}
			}
		}
	}
}

// await waits, and reports whether it could: a wait beyond ctx's deadline is none.
func await(ctx context.Context, d time.Duration) bool {
	if by, ok := ctx.Deadline(); d == never || ok && time.Until(by) <= d {
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// panickedError is a panic of a step, or of other code of the caller's: nobody knows what it had done by then.
type panickedError struct {
	value any
	stack []byte
}

func (e *panickedError) Error() string { return fmt.Sprintf("codons: it panicked: %v", e.value) }

// caught calls a step, and returns an error also when it panics or ends its goroutine.
func caught(call func() (any, error)) (v any, err error) {
	returned := false
	defer func() {
		if p := recover(); !returned {
			v, err = nil, &panickedError{p, debug.Stack()}
		}
	}()
	v, err = call()
	returned = true
	return v, err
}

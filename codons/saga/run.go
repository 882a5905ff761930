package saga

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
)

// machines are the compiled tables, by their numbers of steps.
var machines sync.Map

func machineOf(steps int) *machine.Machine {
	if m, ok := machines.Load(steps); ok {
		return m.(*machine.Machine)
	}
	m, _ := machines.LoadOrStore(steps, Table(steps).MustCompile())
	return m.(*machine.Machine)
}

// run is one run of a saga. All but the jobs runs on the goroutine of the caller.
type run struct {
	saga    Saga
	party   codons.Party
	machine *machine.Machine
	at      machine.Conversation
	ctx     context.Context //nolint:containedctx // the run is within the call that has it
	results map[string]any
	failure Error

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

func newRun(ctx context.Context, s Saga, p codons.Party, from State) *run {
	r := &run{
		saga: s, party: p, machine: machineOf(len(s.Steps)), ctx: ctx, results: map[string]any{},
		outcomes: make(chan outcome, 2*len(s.Steps)), cancels: map[string]context.CancelFunc{}, over: ctx.Done(),
		grace: time.NewTimer(0), bound: time.NewTimer(0), turn: p.Self().System().Turn(),
	}
	r.grace.Stop()
	r.bound.Stop()
	r.at = r.machine.Start(machine.Initiator, time.Now())
	if from.At != "" { // a resumed saga is undone, also after the end of ctx
		r.failure.Cause, r.over = ErrResumed, nil
		maps.Copy(r.results, from.Results)
		for _, name := range from.Lost {
			r.failure.Lost = append(r.failure.Lost, LostStep{name, ErrResumed})
		}
	}
	return r
}

// stop cancels the contexts of all jobs. A job that still runs was cancelled before.
func (r *run) stop() {
	for _, cancel := range r.cancels {
		cancel()
	}
	r.grace.Stop()
	r.bound.Stop()
}

// next waits for the next event. Outcomes take precedence over timers and the end of ctx.
func (r *run) next() machine.Symbol {
	select {
	case o := <-r.outcomes:
		return r.received(o)
	default:
		defer r.turn()
	}
	select {
	case o := <-r.outcomes:
		return r.received(o)
	case <-r.over:
		r.over = nil
		r.blame(r.saga.Steps[r.number()-1].Name, codons.EndOf(r.ctx))
		if errors.Is(r.ctx.Err(), context.DeadlineExceeded) {
			return machine.Timeout(codons.TimerDeadline)
		}
		return machine.Command(codons.CommandCancel)
	case <-r.grace.C:
		return machine.Timeout(codons.TimerGrace)
	case <-r.bound.C:
		r.lose(r.number(), fmt.Errorf("saga: not undone in time: %w", context.DeadlineExceeded))
		return machine.Timeout(timerBound)
	}
}

func (r *run) received(o outcome) machine.Symbol {
	r.keep(o)
	return machine.Command(o.command)
}

// number returns the number of the step that the state is about, 0 when there is none.
func (r *run) number() int {
	_, rest, _ := strings.Cut(string(r.at.State), "_")
	digits, _, _ := strings.Cut(rest, "_")
	i, _ := strconv.Atoi(digits)
	return i
}

// keep stores the outcome of a job, unless the saga has left the state of that job.
func (r *run) keep(o outcome) {
	name := r.saga.Steps[o.step-1].Name
	inDo := r.at.State == doing(o.step) || r.at.State == stopping(o.step)
	inUndo := r.at.State == undoing(o.step, false) || r.at.State == undoing(o.step, true)
	switch {
	case o.command == commandDone(o.step) && inDo:
		r.results[name] = o.data
	case (o.command == commandFailed(o.step) || o.command == commandUnknown(o.step)) && inDo:
		r.blame(name, o.err)
	case o.command == commandUndone(o.step) && inUndo:
		r.failure.Undone = append(r.failure.Undone, name)
	case o.command == commandLost(o.step) && inUndo:
		r.lose(o.step, o.err)
	}
}

// blame sets the cause of the failure. The first cause stays.
func (r *run) blame(step string, err error) {
	if r.failure.Cause == nil {
		r.failure.Step, r.failure.Cause = step, err
	}
}

func (r *run) lose(i int, err error) {
	name := r.saga.Steps[i-1].Name
	r.failure.Lost = append(r.failure.Lost, LostStep{name, err})
	r.party.Self().Logger().Error("saga: a step could not be undone", "step", name, "err", err)
}

// step takes an event and carries out its effects. The table has a row for each event of a
// run, so an error is a mistake of this package.
func (r *run) step(on machine.Symbol) {
	next, effects, err := r.machine.Step(r.at, machine.Event{On: on, At: time.Now()})
	if err != nil {
		panic(err)
	}
	r.at = next
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
	case codons.TimerGrace:
		r.grace.Reset(r.saga.grace())
	case timerBound:
		r.bound.Reset(r.saga.Steps[r.number()-1].undoTime() + r.saga.grace())
	}
}

func (r *run) disarm(timer string) {
	switch timer {
	case codons.TimerDeadline:
		r.over = nil
	case codons.TimerGrace:
		r.grace.Stop()
	case timerBound:
		r.bound.Stop()
	}
}

func (r *run) snapshot() State {
	s := State{At: r.at.State, Results: maps.Clone(r.results)}
	for _, l := range r.failure.Lost {
		s.Lost = append(s.Lost, l.Step)
	}
	return s
}

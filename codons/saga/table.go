package saga

import (
	"fmt"
	"slices"
	"sync"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// States and the timer of a saga that other tables do not have. The states, jobs and
// commands of one step have its number, from 1.
const (
	stateUndone     machine.State = "undone"     // a step did not succeed, and all other steps are undone
	stateIncomplete machine.State = "incomplete" // a step did not succeed, and a step could not be undone

	timerBound = "bound" // the time for undoing one step, with all its retries
)

func doing(i int) machine.State    { return machine.State(fmt.Sprintf("doing_%d", i)) }
func stopping(i int) machine.State { return machine.State(fmt.Sprintf("stopping_%d", i)) }

// undoing is the state in which a step is undone. lossy says that a later step could not be
// undone.
func undoing(i int, lossy bool) machine.State {
	if lossy {
		return machine.State(fmt.Sprintf("undoing_%d_lossy", i))
	}
	return machine.State(fmt.Sprintf("undoing_%d", i))
}

func jobDo(i int) string   { return fmt.Sprintf("do_%d", i) }
func jobUndo(i int) string { return fmt.Sprintf("undo_%d", i) }

// The last commands of the jobs. Each has the number of its step, as a job that did not
// return in time may send its command in a later state.
func commandDone(i int) string    { return fmt.Sprintf("done_%d", i) }
func commandFailed(i int) string  { return fmt.Sprintf("failed_%d", i) }
func commandUnknown(i int) string { return fmt.Sprintf("unknown_%d", i) }
func commandUndone(i int) string  { return fmt.Sprintf("undone_%d", i) }
func commandLost(i int) string    { return fmt.Sprintf("lost_%d", i) }

// resume is the command that resumes a saga which crashed in a state.
func resume(s machine.State) string { return "resume_" + string(s) }

// Table returns the table of a saga of n steps, at least 1: all steps are done, in order,
// or the steps that were done, or may have been, are undone in the reverse order
// (Garcia-Molina and Salem, Sagas, SIGMOD 1987, backward recovery). It has one role: the
// messages of a step to other agents belong to conversations of their own.
func Table(n int) machine.Table {
	s := steps{n: n}
	return standard.Rows(0).MustComplete(machine.Table{
		Name: "saga", Title: "Saga",
		Purpose: "Several steps that belong together, mostly done by other agents, each with an action that undoes it. " +
			"When a step fails, is cancelled, or takes too long, the steps before it are undone in the reverse order.",
		Source:   "H. Garcia-Molina, K. Salem: Sagas, SIGMOD 1987",
		Terminal: []machine.State{standard.StateCompleted, stateUndone, stateIncomplete},
		Jobs:     s.jobs(),
		Timers: []machine.Timer{
			{Role: machine.Initiator, Name: machine.TimerDeadline, Doc: "until the steps must be done"},
			{Role: machine.Initiator, Name: machine.TimerGrace, Doc: "the time in which a cancelled step has to return"},
			{Role: machine.Initiator, Name: timerBound, Doc: "the time for undoing one step, with all its retries"},
		},
		Rows: slices.Concat(s.begin(), s.doing(), s.stopping(), s.undoing(false), s.undoing(true), s.resume()),
		Agree: []machine.Pair{
			{Initiator: standard.StateCompleted, Responder: machine.Idle, Note: "all steps are done"},
			{Initiator: stateUndone, Responder: machine.Idle, Note: "all steps are undone"},
			{Initiator: stateIncomplete, Responder: machine.Idle, Note: "the result names the steps that could not be undone"},
			{Initiator: standard.StateAbandoned, Responder: machine.Idle, After: []machine.Cause{machine.At(machine.Initiator, machine.Commanded(standard.CommandStop))}, Note: "it crashed; it can be resumed from its last state"},
		},
		Declarations: machine.Declarations{Renewals: []machine.Renewal{{Role: machine.Initiator, Timer: timerBound, On: s.undoes()}}},
	})
}

// steps is a saga of n steps.
type steps struct{ n int }

func (s steps) jobs() []machine.Job {
	var jobs []machine.Job
	for i := 1; i <= s.n; i++ {
		jobs = append(jobs,
			machine.Job{
				Role: machine.Initiator, Name: jobDo(i), Ends: []string{commandDone(i), commandFailed(i), commandUnknown(i)},
				Doc: fmt.Sprintf("step %d; unknown says that it may have been done", i),
			},
			machine.Job{
				Role: machine.Initiator, Name: jobUndo(i), Ends: []string{commandUndone(i), commandLost(i)},
				Doc: fmt.Sprintf("undoes step %d, with retries until it succeeds or its time is over", i),
			})
	}
	return jobs
}

// begins goes to the beginning of step i, or to the end after the last step. The effects
// before come first.
func (s steps) begins(r machine.Row, i int, before ...machine.Effect) machine.Row {
	if i > s.n {
		return r.Goto(standard.StateCompleted)
	}
	return r.Goto(doing(i), append(before, machine.Run(jobDo(i)))...)
}

// backTo goes to the undoing of step i, or to the end before the first step. The effects
// before come first.
func (s steps) backTo(r machine.Row, i int, lossy bool, before ...machine.Effect) machine.Row {
	switch {
	case i > 0:
		return r.Goto(undoing(i, lossy), append(before, machine.Run(jobUndo(i)), machine.Arm(timerBound))...)
	case lossy:
		return r.Goto(stateIncomplete, before...)
	}
	return r.Goto(stateUndone, before...)
}

// undoes returns the last commands of the jobs that undo a step. Each step has the whole time for
// it.
func (s steps) undoes() []machine.Symbol {
	var on []machine.Symbol
	for i := 1; i <= s.n; i++ {
		on = append(on, machine.Commanded(commandUndone(i)), machine.Commanded(commandLost(i)))
	}
	return on
}

func (s steps) begin() []machine.Row {
	start := machine.Asks(machine.Idle).When(machine.Commanded(machine.CommandStart))
	return []machine.Row{s.begins(start, 1, machine.Arm(machine.TimerDeadline)).Because("the first step")}
}

func (s steps) doing() []machine.Row {
	var rows []machine.Row
	for i := 1; i <= s.n; i++ {
		doing := machine.Asks(doing(i))
		rows = append(rows,
			s.begins(doing.When(machine.Commanded(commandDone(i))), i+1).
				Because("the step is done, and the next step begins, if there is one"),
			s.backTo(doing.When(machine.Commanded(commandFailed(i))), i-1, false, machine.Disarm(machine.TimerDeadline)).
				Because("the step did nothing, so the steps before it are undone"),
			s.backTo(doing.When(machine.Commanded(commandUnknown(i))), i, false, machine.Disarm(machine.TimerDeadline)).
				Because("the step may have been done, so it is undone, too"),
			doing.When(machine.Timeout(machine.TimerDeadline), machine.Commanded(standard.CommandCancel)).
				Goto(stopping(i), machine.Stop(jobDo(i)), machine.Disarm(machine.TimerDeadline), machine.Arm(machine.TimerGrace)).
				Because("the step is stopped, and then says whether it was done"))
	}
	return rows
}

func (s steps) stopping() []machine.Row {
	var rows []machine.Row
	for i := 1; i <= s.n; i++ {
		stopping := machine.Asks(stopping(i))
		rows = append(rows,
			s.backTo(stopping.When(machine.Commanded(commandFailed(i))), i-1, false, machine.Disarm(machine.TimerGrace)).
				Because("the step did nothing"),
			s.backTo(stopping.When(machine.Commanded(commandDone(i)), machine.Commanded(commandUnknown(i))), i, false, machine.Disarm(machine.TimerGrace)).
				Because("the step was done after all, or may have been"),
			s.backTo(stopping.When(machine.Timeout(machine.TimerGrace)), i, false).
				Because("the step has not returned, so it may have been done"),
			stopping.When(machine.Commanded(standard.CommandCancel)).
				Stay(machine.Drop(machine.DropDuplicate)).
				Because("the step is stopped already"))
	}
	return rows
}

func (s steps) undoing(lossy bool) []machine.Row {
	var rows []machine.Row
	for i := 1; i <= s.n; i++ {
		if lossy && i == s.n {
			break // the last step has no later one
		}
		undoing := machine.Asks(undoing(i, lossy))
		rows = append(rows,
			s.backTo(undoing.When(machine.Commanded(commandUndone(i))), i-1, lossy).
				Because("the step before is undone next"),
			s.backTo(undoing.When(machine.Commanded(commandLost(i))), i-1, true).
				Because("the step cannot be undone; the steps before it can"),
			s.backTo(undoing.When(machine.Timeout(timerBound)), i-1, true, machine.Stop(jobUndo(i))).
				Because("the step was not undone in time"),
			undoing.When(machine.Commanded(standard.CommandCancel)).
				Stay(machine.Drop(machine.DropLate)).
				Because("a cancelled saga is undone, and this one is being undone"))
	}
	return rows
}

// resume has the rows of a saga that crashed. It is only undone: it is not known whether
// the step at which it crashed was done.
func (s steps) resume() []machine.Row {
	idle := machine.Asks(machine.Idle)
	var rows []machine.Row
	for i := 1; i <= s.n; i++ {
		from := []machine.Symbol{
			machine.Commanded(resume(doing(i))), machine.Commanded(resume(stopping(i))), machine.Commanded(resume(undoing(i, false))),
		}
		rows = append(rows, s.backTo(idle.When(from...), i, false).
			Because("the saga crashed at this step: the step may have been done, and undoing it twice does no harm"))
		if i < s.n {
			rows = append(rows, s.backTo(idle.When(machine.Commanded(resume(undoing(i, true)))), i, true).
				Because("the same, and a later step was lost before the crash"))
		}
	}
	return rows
}

// Codon reads and rebuilds the record of any saga ([codons.ReadRecord], [codons.Rebuild]). It
// documents sagas by the table of a saga of three steps.
var Codon = codons.MustDefine(definition(3))

// definition returns the codon of a saga of n steps.
func definition(n int) codons.Definition {
	return codons.Definition{
		Table:    Table(n),
		Complete: true,
		Commands: commands(n),
		Outcomes: map[machine.State]string{
			standard.StateCompleted: "the results of all steps",
			stateUndone:             "a *saga.Error: the failed step, its error, and the steps that were undone",
			stateIncomplete:         "a *saga.Error that also names the steps that could not be undone",
		},
		Example:       "ExampleSaga",
		InitiatorSide: func() codons.Side { return &side{} },
		Variant:       variant,
	}
}

// commands returns the contents of the commands of [Table]. The result of a step, the content of
// its done command, has the type that Do returns.
func commands(n int) map[string]any {
	all := map[string]any{machine.CommandStart: progress{}}
	for i := 1; i <= n; i++ {
		all[commandUndone(i)] = nil
		for _, failed := range []string{commandFailed(i), commandUnknown(i), commandLost(i)} {
			all[failed] = "" // the text of the error
		}
		for _, s := range []machine.State{doing(i), stopping(i), undoing(i, false)} {
			all[resume(s)] = progress{}
		}
		if i < n {
			all[resume(undoing(i, true))] = progress{}
		}
	}
	return all
}

// variants are the codons of sagas, by their numbers of steps.
var variants sync.Map

// codonOf returns the codon of a saga of n steps.
func codonOf(n int) *codons.Codon {
	if c, ok := variants.Load(n); ok {
		return c.(*codons.Codon)
	}
	c, _ := variants.LoadOrStore(n, codons.MustDefine(definition(n)))
	return c.(*codons.Codon)
}

// variant returns the codon of a record by its first event, nil for an event that begins no
// saga.
func variant(first codons.Input) *codons.Codon {
	p, ok := first.Data.(progress)
	if raw, isRaw := first.Data.(performatives.Raw); isRaw { // a command of a longer saga
		ok = performatives.Unmarshal(raw, &p) == nil
	}
	if !ok || len(p.Steps) == 0 {
		return nil
	}
	return codonOf(len(p.Steps))
}

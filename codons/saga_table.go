package codons

import (
	"fmt"

	"github.com/ribosome-agents/ribosome/codons/machine"
)

// What a saga has besides what all tables share. What is of a step has its number, from
// 1.
const (
	stateUndone     machine.State = "undone"     // a step did not succeed, and nothing of the others is left
	stateIncomplete machine.State = "incomplete" // the same, but something could not be undone

	timerBound = "bound" // how long undoing one step may take, with all its retries
)

func sagaDoing(i int) machine.State    { return machine.State(fmt.Sprintf("doing_%d", i)) }
func sagaStopping(i int) machine.State { return machine.State(fmt.Sprintf("stopping_%d", i)) }

// sagaUndoing is the state in which a step is undone; lossy says that a later one could
// not be.
func sagaUndoing(i int, lossy bool) machine.State {
	if lossy {
		return machine.State(fmt.Sprintf("undoing_%d_lossy", i))
	}
	return machine.State(fmt.Sprintf("undoing_%d", i))
}

func sagaDo(i int) string   { return fmt.Sprintf("do_%d", i) }
func sagaUndo(i int) string { return fmt.Sprintf("undo_%d", i) }

// The words of the jobs, each of its own step: those of one that has not returned in
// time may come at any moment later.
func sagaDone(i int) string    { return fmt.Sprintf("done_%d", i) }
func sagaFailed(i int) string  { return fmt.Sprintf("failed_%d", i) }
func sagaUnknown(i int) string { return fmt.Sprintf("unknown_%d", i) }
func sagaUndid(i int) string   { return fmt.Sprintf("undone_%d", i) }
func sagaLost(i int) string    { return fmt.Sprintf("lost_%d", i) }

// sagaResume is the command by which a saga goes on that crashed in a state.
func sagaResume(s machine.State) string { return "resume_" + string(s) }

// SagaTable returns the codon of a saga of that many steps, at least one: all of them
// are done, in order, or those that were, or may have been, are undone in the reverse
// order (Garcia-Molina and Salem, Sagas, SIGMOD 1987, backward recovery). It has one
// side: what a step says to other agents are conversations of their own.
func SagaTable(steps int) machine.Table {
	s := sagaTable{n: steps}
	return machine.Table{
		Name: "saga", Title: "Saga",
		Purpose: "Several steps that belong together, each by other agents, and each with one that undoes it. " +
			"When a step fails, or is cancelled, or takes too long, what was done before it is undone in the reverse order.",
		Source:   "H. Garcia-Molina, K. Salem: Sagas, SIGMOD 1987",
		Live:     s.live(),
		Terminal: sagaEnds(),
		Jobs:     s.jobs(),
		Timers: []machine.Timer{
			{Role: machine.Initiator, Name: timerDeadline, Doc: "until the steps must be done"},
			{Role: machine.Initiator, Name: timerGrace, Doc: "how long a cancelled step may take to return"},
			{Role: machine.Initiator, Name: timerBound, Doc: "how long undoing one step may take, with all its retries"},
		},
		Rows: concat(s.begin(), s.doing(), s.stopping(), s.undoing(false), s.undoing(true), s.resume(), s.ended(),
			others(machine.Initiator, s.live(), sagaEnds())),
		Agree: []machine.Pair{
			{Initiator: stateCompleted, Responder: machine.Idle, Note: "all steps are done"},
			{Initiator: stateUndone, Responder: machine.Idle, Note: "nothing of the steps is left"},
			{Initiator: stateIncomplete, Responder: machine.Idle, Note: "what could not be undone is named"},
			{Initiator: stateAbandoned, Responder: machine.Idle, Rough: true, Note: "it crashed; it can go on from its last state"},
		},
	}
}

func sagaEnds() []machine.State {
	return []machine.State{stateCompleted, stateUndone, stateIncomplete, stateAbandoned}
}

type sagaTable struct{ n int }

func (s sagaTable) live() []machine.State {
	var live []machine.State
	for i := 1; i <= s.n; i++ {
		live = append(live, sagaDoing(i), sagaStopping(i), sagaUndoing(i, false))
		if i < s.n {
			live = append(live, sagaUndoing(i, true))
		}
	}
	return live
}

func (s sagaTable) jobs() []machine.Job {
	var jobs []machine.Job
	for i := 1; i <= s.n; i++ {
		jobs = append(jobs,
			machine.Job{
				Role: machine.Initiator, Name: sagaDo(i), Ends: []string{sagaDone(i), sagaFailed(i), sagaUnknown(i)},
				Doc: fmt.Sprintf("step %d; what may or may not have happened is unknown", i),
			},
			machine.Job{
				Role: machine.Initiator, Name: sagaUndo(i), Ends: []string{sagaUndid(i), sagaLost(i)},
				Doc: fmt.Sprintf("what undoes step %d, tried until it succeeds or its time is over", i),
			})
	}
	return jobs
}

// begins is where a step begins, or the end after the last, with the effects before.
func (s sagaTable) begins(r machine.Row, i int, before ...machine.Effect) machine.Row {
	if i > s.n {
		return r.Goto(stateCompleted)
	}
	return r.Goto(sagaDoing(i), append(before, machine.Run(sagaDo(i)))...)
}

// backTo is where a step is undone, or the end where none is left.
func (s sagaTable) backTo(r machine.Row, i int, lossy bool, before ...machine.Effect) machine.Row {
	switch {
	case i > 0:
		return r.Goto(sagaUndoing(i, lossy), append(before, machine.Run(sagaUndo(i)), machine.Arm(timerBound))...)
	case lossy:
		return r.Goto(stateIncomplete, before...)
	}
	return r.Goto(stateUndone, before...)
}

func (s sagaTable) begin() []machine.Row {
	start := asks(machine.Idle).When(machine.Command(commandStart))
	return []machine.Row{s.begins(start, 1, machine.Arm(timerDeadline)).Because("the first step")}
}

func (s sagaTable) doing() []machine.Row {
	var rows []machine.Row
	for i := 1; i <= s.n; i++ {
		doing := asks(sagaDoing(i))
		rows = append(rows,
			s.begins(doing.When(machine.Command(sagaDone(i))), i+1).
				Because("it is done, and the next step begins, if there is one"),
			s.backTo(doing.When(machine.Command(sagaFailed(i))), i-1, false, machine.Disarm(timerDeadline)).
				Because("it has done nothing, so it is what came before that is undone"),
			s.backTo(doing.When(machine.Command(sagaUnknown(i))), i, false, machine.Disarm(timerDeadline)).
				Because("it may have been done, so it is undone too"),
			doing.When(machine.Timeout(timerDeadline), machine.Command(commandCancel)).
				Goto(sagaStopping(i), machine.Stop(sagaDo(i)), machine.Disarm(timerDeadline), machine.Arm(timerGrace)).
				Because("the step is stopped, and has the last word about what it has done"),
			doing.When(machine.Command(commandStop)).
				Goto(stateAbandoned, machine.Stop(sagaDo(i))).
				Because("a crash"))
	}
	return rows
}

func (s sagaTable) stopping() []machine.Row {
	var rows []machine.Row
	for i := 1; i <= s.n; i++ {
		stopping := asks(sagaStopping(i))
		rows = append(rows,
			s.backTo(stopping.When(machine.Command(sagaFailed(i))), i-1, false, machine.Disarm(timerGrace)).
				Because("it has done nothing"),
			s.backTo(stopping.When(machine.Command(sagaDone(i)), machine.Command(sagaUnknown(i))), i, false, machine.Disarm(timerGrace)).
				Because("it was done after all, or may have been"),
			s.backTo(stopping.When(machine.Timeout(timerGrace)), i, false).
				Because("it has not returned, so nobody knows what it has done"),
			stopping.When(machine.Command(commandCancel)).
				Stay(machine.Drop(dropDuplicate)).
				Because("it is stopped already"),
			stopping.When(machine.Command(commandStop)).
				Goto(stateAbandoned).
				Because("a crash"))
	}
	return rows
}

func (s sagaTable) undoing(lossy bool) []machine.Row {
	var rows []machine.Row
	for i := 1; i <= s.n; i++ {
		if lossy && i == s.n {
			break // there is no later step that could be lost
		}
		undoing := asks(sagaUndoing(i, lossy))
		rows = append(rows,
			s.backTo(undoing.When(machine.Command(sagaUndid(i))), i-1, lossy, machine.Disarm(timerBound)).
				Because("the step before is undone next"),
			s.backTo(undoing.When(machine.Command(sagaLost(i))), i-1, true, machine.Disarm(timerBound)).
				Because("it cannot be undone; the others still can"),
			s.backTo(undoing.When(machine.Timeout(timerBound)), i-1, true, machine.Stop(sagaUndo(i))).
				Because("it cannot be undone in its time"),
			undoing.When(s.late(i, lossy)...).
				Stay(machine.Drop(dropLate)).
				Because("what has not returned in time has no say any more"),
			undoing.When(machine.Command(commandCancel)).
				Stay(machine.Drop(dropLate)).
				Because("undoing is what a cancelled saga does"),
			undoing.When(machine.Command(commandStop)).
				Goto(stateAbandoned, machine.Stop(sagaUndo(i))).
				Because("a crash"))
	}
	return rows
}

// lateDo are the words of steps that have not returned in time, from a step on.
func (s sagaTable) lateDo(from int) []machine.Symbol {
	var words []machine.Symbol
	for i := from; i <= s.n; i++ {
		words = append(words, machine.Command(sagaDone(i)), machine.Command(sagaFailed(i)), machine.Command(sagaUnknown(i)))
	}
	return words
}

// lateUndo are the words of what should have undone steps in time, from a step on.
func (s sagaTable) lateUndo(from int) []machine.Symbol {
	var words []machine.Symbol
	for i := from; i <= s.n; i++ {
		words = append(words, machine.Command(sagaUndid(i)), machine.Command(sagaLost(i)))
	}
	return words
}

// late are the words that may still come while a step is undone. Where no step was
// lost, whatever undid one has returned.
func (s sagaTable) late(undoing int, lossy bool) []machine.Symbol {
	if !lossy {
		return s.lateDo(undoing)
	}
	return append(s.lateDo(undoing+1), s.lateUndo(undoing+1)...)
}

// resume is how a crashed saga goes on: only backwards, since nobody knows what became
// of the step at which it crashed.
func (s sagaTable) resume() []machine.Row {
	idle := asks(machine.Idle)
	var rows []machine.Row
	for i := 1; i <= s.n; i++ {
		from := []machine.Symbol{
			machine.Command(sagaResume(sagaDoing(i))), machine.Command(sagaResume(sagaStopping(i))), machine.Command(sagaResume(sagaUndoing(i, false))),
		}
		rows = append(rows, s.backTo(idle.When(from...), i, false).
			Because("it crashed at this step: what it has done is unknown, and undoing it again does no harm"))
		if i < s.n {
			rows = append(rows, s.backTo(idle.When(machine.Command(sagaResume(sagaUndoing(i, true)))), i, true).
				Because("the same, and a later step was lost before"))
		}
	}
	return rows
}

func (s sagaTable) ended() []machine.Row {
	return []machine.Row{
		asks(stateUndone, stateIncomplete, stateAbandoned).When(s.lateDo(1)...).
			Stay(machine.Drop(dropLate)).
			Because("it has not returned in time, and has no say any more"),
		asks(stateIncomplete, stateAbandoned).When(s.lateUndo(1)...).
			Stay(machine.Drop(dropLate)).
			Because("it has not returned in time, and has no say any more"),
		asks(sagaEnds()...).When(machine.Command(commandCancel), machine.Command(commandStop)).
			Stay(machine.Drop(dropLate)).
			Because("the end came first"),
	}
}

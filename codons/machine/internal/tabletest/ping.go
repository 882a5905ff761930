package tabletest

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// Ping returns a small table with both roles, a timer, a job and rows of terminal
// states: one question and one answer.
func Ping() machine.Table {
	const asked, answering, done, lost machine.State = "asked", "answering", "done", "lost"
	return machine.Table{
		Name: "ping", Title: "Ping", Purpose: "One question, one answer.", Source: "none",
		Live: []machine.State{asked, answering}, Terminal: []machine.State{done, lost},
		Jobs: []machine.Job{{Role: machine.Responder, Name: "answer", Ends: []string{"answer"}}},
		Timers: []machine.Timer{
			{Role: machine.Initiator, Name: "deadline"},
			{Role: machine.Responder, Name: "deadline"},
		},
		Rows: []machine.Row{
			machine.For(machine.Initiator, machine.Idle).When(machine.Commanded("start")).Goto(asked, machine.Send(p.ActQueryRef), machine.Arm("deadline")),
			machine.For(machine.Initiator, asked).When(machine.Receive(p.ActInformRef)).Goto(done).Because("the answer"),
			machine.For(machine.Initiator, asked).When(machine.Timeout("deadline")).Goto(lost),
			machine.For(machine.Initiator, done, lost).When(machine.Receive(p.ActInformRef)).Stay(machine.Drop("late")),
			machine.For(machine.Initiator, done, lost).When(machine.OtherDuplicates()).Stay(machine.Drop("duplicate")),

			machine.For(machine.Responder, machine.Idle).When(machine.Receive(p.ActQueryRef)).Goto(answering, machine.Run("answer"), machine.Arm("deadline")),
			machine.For(machine.Responder, answering).When(machine.Commanded("answer")).Goto(done, machine.Send(p.ActInformRef)),
			machine.For(machine.Responder, answering).When(machine.Duplicate(p.ActQueryRef)).Stay(machine.Drop("duplicate")),
			machine.For(machine.Responder, answering).When(machine.Timeout("deadline")).Goto(lost, machine.Stop("answer")),
			machine.For(machine.Responder, done).When(machine.Duplicate(p.ActQueryRef)).Stay(machine.Resend(p.ActInformRef)),
			machine.For(machine.Responder, lost).When(machine.Duplicate(p.ActQueryRef)).Stay(machine.Drop("duplicate")),
			machine.For(machine.Responder, lost).When(machine.Commanded("answer")).Stay(machine.Drop("late")),
		},
		Agree: []machine.Pair{
			{Initiator: "done", Responder: "done"},
			{Initiator: "lost", Responder: "lost"},
			{Initiator: "lost", Responder: "done", Note: "the answer was lost or late"},
			{Initiator: "lost", Responder: machine.Idle, Note: "the question was lost"},
		},
	}
}

package tabletest

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// Query returns the table of the examples: one question, one answer.
func Query() machine.Table {
	initiator := func(in ...machine.State) machine.Row { return machine.For(machine.Initiator, in...) }
	responder := func(in ...machine.State) machine.Row { return machine.For(machine.Responder, in...) }
	return machine.Table{
		Name: "query", Title: "Query", Purpose: "One question, one answer.", Source: "acl §4.4",
		Live: []machine.State{"asked"}, Terminal: []machine.State{"answered", "timed_out"},
		Timers: []machine.Timer{{Role: machine.Initiator, Name: "deadline"}},
		Rows: []machine.Row{
			initiator(machine.Idle).When(machine.Commanded("start")).
				Goto("asked", machine.Send(p.ActQueryIf), machine.Arm("deadline")),
			initiator("asked").When(machine.Receive(p.ActInformIf)).Goto("answered"),
			initiator("asked").When(machine.Timeout("deadline")).Goto("timed_out"),
			initiator("answered", "timed_out").When(machine.OtherNotices(), machine.OtherDuplicates()).Stay(machine.Drop("late")),
			responder(machine.Idle).When(machine.Receive(p.ActQueryIf)).
				Goto("answered", machine.Send(p.ActInformIf)),
			responder("answered").When(machine.Duplicate(p.ActQueryIf)).
				Stay(machine.Resend(p.ActInformIf)),
		},
		Agree: []machine.Pair{
			{Initiator: "answered", Responder: "answered"},
			{Initiator: "timed_out", Responder: "answered", After: []machine.Cause{machine.At(machine.Initiator, machine.Timeout("deadline"))}, Note: "the answer was lost or late"},
			{Initiator: "timed_out", Responder: machine.Idle, After: []machine.Cause{machine.Lost()}, Note: "the question was lost"},
		},
	}
}

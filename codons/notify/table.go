package notify

import (
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Codon is the codon of a notice, to one agent or to all (addenda §2; FIPA inform, SC00037J).
var Codon = codons.MustDefine(codons.Definition{
	Table:    table(),
	Complete: true,
	Example:  "ExampleNotify",
	Payloads: []codons.Payload{
		{Act: performatives.ActInform, Type: performatives.Raw{}, Doc: "the notice, in a type of the application's"},
	},
	Outcomes: map[machine.State]string{
		stateNotified: "only that the notice was sent",
	},
})

// stateNotified ends both sides of a notice.
const stateNotified machine.State = "notified"

// reportNotice hands the notice to the responder's agent.
const reportNotice = "notice"

func table() machine.Table {
	return standard.Rows(0).MustComplete(machine.Table{
		Name: "notify", Title: "Notify and broadcast",
		Purpose: "One agent informs another, or all others, and expects no answer. " +
			"The notice is sent once: if it is lost, its sender does not learn of it.",
		Source:   "addenda §2 (a notification is an INFORM; without a receiver it is a broadcast); FIPA inform (SC00037J)",
		Terminal: []machine.State{stateNotified},
		Rows: []machine.Row{
			machine.Asks(machine.Idle).When(machine.Commanded(machine.CommandStart)).
				Goto(stateNotified, machine.Send(performatives.ActInform)).
				Because("the notice is sent once, and no answer is expected"),
			machine.Answers(machine.Idle).When(machine.Receive(performatives.ActInform)).
				Goto(stateNotified, machine.Report(reportNotice)).
				Because("the agent handles the notice"),
		},
		Agree: []machine.Pair{
			{Initiator: stateNotified, Responder: machine.Idle, After: []machine.Cause{machine.Loss()}, Note: "the notice was lost, and no answer to it is expected"},
		},
	})
}

package discovery

import (
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// WhisperName is the Protocol of messages of the Whispering Wind.
const WhisperName = "whispering-wind"

// WhisperCodon is the codon of the Whispering Wind: the query for an agent's capabilities
// (acl §4.8, §4.9 and §9; addenda §3). One
// conversation is one query; [WhisperAll] holds many such conversations.
var WhisperCodon = codons.MustDefine(codons.Definition{
	Table: machine.Table{
		Name:  WhisperName,
		Title: "Whispering Wind",
		Purpose: "One agent asks another what it can do: a summary, whether it has certain capabilities, " +
			"or the details of one action.",
		Source:   "acl §4.8, §4.9 and §9; addenda §3 and §6; FIPA Query Interaction Protocol (SC00027H)",
		Terminal: []machine.State{standard.StateAnswered},
		Jobs:     []machine.Job{{Role: machine.Responder, Name: standard.JobAnswer, Ends: []string{standard.CommandAnswer}, Doc: "the agent describes itself", ReceiptNeedNotWait: true}},
		Rows:     append(whisperAsk(), whisperAnswer()...),
		Agree:    whisperPairs(),
		Declarations: machine.Declarations{Rest: []machine.Rest{{
			Initiator: []machine.State{standard.StateAbandoned}, Responder: []machine.State{machine.Idle}, ToldOnce: true,
			Why: "both the query and its CANCEL were lost, and the initiator waits for neither",
		}}},
	},
	Example:       "ExampleWhisperAll",
	InitiatorSide: func() codons.Side { return &whisperInitiator{} },
	ResponderSide: func(r *codons.ResponderSide) codons.Side { return whisperResponder{r} },
	Payloads: []codons.Payload{
		{Act: performatives.ActQueryCapabilities, Type: performatives.QueryCapabilities{}, Doc: "the query: a summary, certain capabilities, or one action"},
		{Act: performatives.ActInformCapabilities, Type: performatives.InformCapabilities{}, Commands: []string{standard.CommandAnswer}, Doc: "the answer, which may be that nothing matches"},
	},
})

// whisperAsk returns the rows of the initiator. It does not wait for the receipt of its CANCEL.
func whisperAsk() []machine.Row {
	asked := machine.Asks(standard.StateAsked)
	return []machine.Row{
		machine.Asks(machine.Idle).When(machine.Commanded(machine.CommandStart)).
			Goto(standard.StateAsked, machine.Send(performatives.ActQueryCapabilities)).
			Because("the agent asks for capabilities"),
		asked.When(machine.Receive(performatives.ActInformCapabilities)).
			Goto(standard.StateAnswered).
			Because("also an answer that nothing matches"),
		asked.When(machine.Commanded(standard.CommandCancel), machine.Commanded(standard.CommandStop)).
			Goto(standard.StateAbandoned, machine.Send(performatives.ActCancel)).
			Because("a query has no effects, so its receipt is not awaited"),
		machine.Asks(standard.StateAbandoned).When(machine.Receive(performatives.ActInform)).
			Stay(machine.Drop(machine.DropLate)).
			Because("the receipt"),
	}
}

// whisperAnswer returns the rows of the responder.
func whisperAnswer() []machine.Row {
	answering := machine.Answers(standard.StateAnswering)
	return []machine.Row{
		machine.Answers(machine.Idle).When(machine.Receive(performatives.ActQueryCapabilities)).
			Goto(standard.StateAnswering, machine.Run(standard.JobAnswer)).
			Because("a query arrives"),
		answering.When(machine.Commanded(standard.CommandAnswer)).
			Goto(standard.StateAnswered, machine.Send(performatives.ActInformCapabilities)).
			Because("acl §4.9"),
		answering.When(machine.Receive(performatives.ActCancel)).
			Goto(standard.StateCancelled, machine.Stop(standard.JobAnswer), standard.SendReceipt).
			Because("a query has no effects that have to be stopped first"),
	}
}

// whisperPairs returns the pairs of end states in which the initiator has abandoned the query.
// Abandoning is part of the protocol, so a pair is rough only if a message was lost.
func whisperPairs() []machine.Pair {
	pairs := []machine.Pair{
		{Initiator: standard.StateAbandoned, Responder: standard.StateTimedOut, After: []machine.Cause{machine.At(machine.Responder, machine.Timeout(machine.TimerDeadline))}, Note: "the CANCEL was lost or late"},
		{Initiator: standard.StateAbandoned, Responder: standard.StateCancelled, Note: "the CANCEL arrived"},
		{Initiator: standard.StateAbandoned, Responder: machine.Idle, After: []machine.Cause{machine.Lost()}, Note: standard.NoteUnknown},
	}
	for _, end := range []machine.State{standard.StateAnswered, standard.StateRefused, standard.StateNotUnderstood, standard.StateFailed} {
		pairs = append(pairs, machine.Pair{Initiator: standard.StateAbandoned, Responder: end, Note: standard.NoteGone})
	}
	return pairs
}

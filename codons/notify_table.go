package codons

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// stateNotified is the end of both sides of a notice: it was given, it was taken.
const stateNotified machine.State = "notified"

// reportNotice tells the agent what it was told.
const reportNotice = "notice"

// NotifyTable returns the codon of a notice, to one or to everybody (addenda §2).
func NotifyTable() machine.Table {
	return machine.Table{
		Name: "notify", Title: "Notify and broadcast",
		Purpose: "One agent tells another, or everybody, something and expects no answer. " +
			"What was said has no second act: a notice that is lost stays lost, and its sender never learns of it.",
		Source:   "addenda §2 (a notification is an INFORM; without a receiver it is for everybody); FIPA inform (SC00037J)",
		Terminal: []machine.State{stateNotified},
		Rows:     append(notifyTell(), notifyHear()...),
		Agree: []machine.Pair{
			{Initiator: stateNotified, Responder: stateNotified},
			{Initiator: stateNotified, Responder: machine.Idle, Rough: true, Note: "the notice was lost, and nobody waits for an answer to it"},
		},
	}
}

// notifyTell is who gives the notice, and hears nothing of it any more.
func notifyTell() []machine.Row {
	return append([]machine.Row{
		asks(machine.Idle).When(machine.Command(commandStart)).
			Goto(stateNotified, machine.Send(performatives.ActInform)).
			Because("it is said once, and nothing is awaited"),
	}, afterNotice(machine.Initiator)...)
}

// notifyHear is who takes it.
func notifyHear() []machine.Row {
	return append([]machine.Row{
		answers(machine.Idle).When(machine.Receive(performatives.ActInform)).
			Goto(stateNotified, machine.Report(reportNotice)).
			Because("the agent is told"),
	}, afterNotice(machine.Responder)...)
}

// afterNotice is what either side does with all that comes later.
func afterNotice(role machine.Role) []machine.Row {
	after := machine.For(role, stateNotified)
	return []machine.Row{
		after.When(machine.OtherDuplicates()).Stay(machine.Drop(dropDuplicate)).
			Because("it had its effect when it came first"),
		after.When(machine.OtherRequests()).Stay(machine.Refuse(performatives.CodeConversationEnded)).
			Because("its sender waits for an answer"),
		after.When(machine.OtherNotices()).Stay(machine.Drop(dropLate)).
			Because("the notice was all there was to say"),
	}
}

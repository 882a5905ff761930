package codons

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// askReports is the initiator that hears how far the responder is.
func (x exchange) askReports() []machine.Row {
	asked, agreed := asks(stateAsked), asks(stateAgreed)
	return []machine.Row{
		asked.When(machine.Receive(performatives.ActStatusUpdate)).
			Goto(stateAgreed, machine.Report(reportProgress)).
			Because("it overtook the agreement, which it implies"),
		agreed.When(machine.Receive(performatives.ActStatusUpdate)).
			Stay(machine.Report(reportProgress)).
			Because("as often as there is news; the last answer says all of it once more, so that a lost one does no harm"),
		agreed.When(machine.Receive(performatives.ActAgree)).
			Stay(machine.Drop(dropLate)).
			Because("progress overtook it, and said more"),
	}
}

// serveReports is the responder that says how far it is.
func (x exchange) serveReports() []machine.Row {
	return []machine.Row{
		answers(stateAnswering).When(machine.Command(commandReport)).
			Goto(stateAgreed, machine.Send(performatives.ActAgree)).
			Because("who reports has agreed, and a repeated act is answered with that; the last answer says the news again"),
		answers(stateAgreed).When(machine.Command(commandReport)).
			Stay(machine.Send(performatives.ActStatusUpdate)).
			Because("as often as there is news"),
	}
}

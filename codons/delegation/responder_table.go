package delegation

import (
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// responderConsider returns the responder's rows until it has taken on the task, or a further
// round of it.
func responderConsider() []machine.Row {
	considering := machine.Answers(codons.StateConsidering)
	return []machine.Row{
		machine.Answers(machine.Idle).When(machine.Receive(performatives.ActTaskRequest)).
			Goto(codons.StateConsidering, machine.Run(codons.JobConsider)).
			Because("a task arrives"),
		machine.Answers(StateInputNeeded).When(machine.Receive(performatives.ActTaskRequest)).
			Goto(codons.StateConsidering, machine.Arm(machine.TimerDeadline), machine.Run(codons.JobConsider)).
			Because("the further round, with the input that the worker asked for"),
		considering.When(machine.Commanded(codons.CommandAccept)).
			Goto(codons.StateWorking, machine.Send(performatives.ActTaskAccept), machine.Run(codons.JobPerform)).
			Because("the agent takes the task on (acl §4.2)"),
		considering.When(machine.Commanded(codons.CommandReject)).
			Goto(codons.StateRejected, machine.Send(performatives.ActTaskReject)).
			Because("busy, incapable, unauthorized (acl §4.5)"),
		considering.When(machine.Receive(performatives.ActCancel)).
			Goto(codons.StateSettling, machine.Stop(codons.JobConsider), machine.Run(codons.JobChildren)).
			Because("no handler runs, and the receipt speaks for the conversations of earlier handlers, too"),
	}
}

// responderWork returns the responder's rows from the acceptance to the result.
func responderWork() []machine.Row {
	working := machine.Answers(codons.StateWorking)
	return []machine.Row{
		working.When(machine.Commanded(codons.CommandReport)).
			Stay(machine.Send(performatives.ActStatusUpdate)).
			Because("the handler may report any number of times (rossnet §5.1)"),
		working.When(machine.Commanded(codons.CommandFinish)).
			Goto(codons.StateCompleted, machine.Send(performatives.ActInformResult)).
			Because("the work is done, and the result says success or failure (addenda §2)"),
		working.When(machine.Commanded(CommandNeedInput)).
			Goto(StateInputNeeded, machine.SendTagged(performatives.ActInformResult, TagInput)).
			Because("a partial result asks for more (addenda §3)"),
		machine.Answers(codons.StateSettling, codons.StateCancelling).When(machine.Receive(performatives.ActTaskRequest)).
			Stay(machine.Drop(machine.DropLate)).
			Because("CANCEL overtook the further round"),
		machine.Answers(codons.StateCompleted).When(machine.Receive(performatives.ActTaskRequest)).
			Stay(machine.Resend(performatives.ActInformResult)).
			Because("a further round crossed with the result; a new task needs a conversation of its own"),
	}
}

// responderAwait returns the responder's rows while its handler waits for input.
func responderAwait() []machine.Row {
	working, awaiting := machine.Answers(codons.StateWorking), machine.Answers(StateAwaiting)
	return []machine.Row{
		working.When(machine.Commanded(commandAsk)).
			Goto(StateAwaiting, machine.SendTagged(performatives.ActInformResult, TagInput)).
			Because("the handler asks for input and waits for it (addenda §3)"),
		awaiting.When(machine.Receive(performatives.ActTaskRequest)).
			Goto(codons.StateWorking, machine.Send(performatives.ActTaskAccept), machine.Arm(machine.TimerDeadline), machine.Report(reportAnswer)).
			Because("the further round is the answer, and the same handler continues"),
		awaiting.When(machine.Commanded(codons.CommandFinish)).
			Goto(codons.StateCompleted, machine.Send(performatives.ActInformResult)).
			Because("the handler stopped waiting and finished without the answer"),
		awaiting.When(machine.Commanded(CommandNeedInput)).
			Goto(codons.StateFailed, machine.Send(performatives.ActFailure)).
			Because("the handler asks for more before it has its answer"),
		awaiting.When(machine.Commanded(commandAsk)).
			Stay(machine.Drop(machine.DropLate)).
			Because("one question at a time"),
		awaiting.When(machine.Commanded(codons.CommandReport)).
			Stay(machine.Drop(machine.DropLate)).
			Because("the initiator accepts no progress until it has answered"),
	}
}

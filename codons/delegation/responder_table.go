package delegation

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// responderConsider returns the responder's rows until it has taken on the task, or a further
// round of it.
func responderConsider() []machine.Row {
	considering := machine.Answers(standard.StateConsidering)
	return []machine.Row{
		machine.Answers(machine.Idle).When(machine.Receive(performatives.ActTaskRequest)).
			Goto(standard.StateConsidering, machine.Run(standard.JobConsider)).
			Because("a task arrives"),
		machine.Answers(StateInputNeeded).When(machine.Receive(performatives.ActTaskRequest)).
			Goto(standard.StateConsidering, machine.Arm(machine.TimerDeadline), machine.Run(standard.JobConsider)).
			Because("the further round, with the input that the worker asked for"),
		considering.When(machine.Commanded(standard.CommandAccept)).
			Goto(standard.StateWorking, machine.Send(performatives.ActTaskAccept), machine.Run(standard.JobPerform)).
			Because("the agent takes the task on (acl §4.2)"),
		considering.When(machine.Commanded(standard.CommandReject)).
			Goto(standard.StateRejected, machine.Send(performatives.ActTaskReject)).
			Because("busy, incapable, unauthorized (acl §4.5)"),
		considering.When(machine.Receive(performatives.ActCancel)).
			Goto(standard.StateSettling, machine.Stop(standard.JobConsider), machine.Run(standard.JobChildren)).
			Because("no handler runs, and the receipt speaks for the conversations of earlier handlers, too"),
	}
}

// responderWork returns the responder's rows from the acceptance to the result.
func responderWork() []machine.Row {
	working := machine.Answers(standard.StateWorking)
	return []machine.Row{
		working.When(machine.Commanded(standard.CommandReport)).
			Stay(machine.Send(performatives.ActStatusUpdate)).
			Because("the handler may report any number of times (rossnet §5.1)"),
		working.When(machine.Commanded(standard.CommandFinish)).
			Goto(standard.StateCompleted, machine.Send(performatives.ActInformResult)).
			Because("the work is done, and the result says success or failure (addenda §2)"),
		working.When(machine.Commanded(CommandNeedInput)).
			Goto(StateInputNeeded, machine.SendTagged(performatives.ActInformResult, TagInput)).
			Because("a partial result asks for more (addenda §3)"),
		machine.Answers(standard.StateSettling, standard.StateCancelling).When(machine.Receive(performatives.ActTaskRequest)).
			Stay(machine.Drop(machine.DropLate)).
			Because("CANCEL overtook the further round"),
		machine.Answers(standard.StateCompleted).When(machine.Receive(performatives.ActTaskRequest)).
			Stay(machine.Resend(performatives.ActInformResult)).
			Because("a further round crossed with the result; a new task needs a conversation of its own"),
	}
}

// responderAwait returns the responder's rows while its handler waits for input.
func responderAwait() []machine.Row {
	working, awaiting := machine.Answers(standard.StateWorking), machine.Answers(StateAwaiting)
	return []machine.Row{
		working.When(machine.Commanded(commandAsk)).
			Goto(StateAwaiting, machine.SendTagged(performatives.ActInformResult, TagInput)).
			Because("the handler asks for input and waits for it (addenda §3)"),
		awaiting.When(machine.Receive(performatives.ActTaskRequest)).
			Goto(standard.StateWorking, machine.Send(performatives.ActTaskAccept), machine.Arm(machine.TimerDeadline), machine.Report(reportAnswer)).
			Because("the further round is the answer, and the same handler continues"),
		awaiting.When(machine.Commanded(standard.CommandFinish)).
			Goto(standard.StateCompleted, machine.Send(performatives.ActInformResult)).
			Because("the handler stopped waiting and finished without the answer"),
		awaiting.When(machine.Commanded(CommandNeedInput)).
			Goto(standard.StateFailed, machine.Send(performatives.ActFailure)).
			Because("the handler asks for more before it has its answer"),
		awaiting.When(machine.Commanded(commandAsk)).
			Stay(machine.Drop(machine.DropLate)).
			Because("one question at a time"),
		awaiting.When(machine.Commanded(standard.CommandReport)).
			Stay(machine.Drop(machine.DropLate)).
			Because("the initiator accepts no progress until it has answered"),
	}
}

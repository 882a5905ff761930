package delegation

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// initiatorRequest returns the initiator's rows from the request until the work is under way.
func initiatorRequest() []machine.Row {
	requested, working := machine.Asks(StateRequested, StateInputGiven), machine.Asks(standard.StateWorking)
	return []machine.Row{
		machine.Asks(machine.Idle).When(machine.Commanded(machine.CommandStart)).
			Goto(StateRequested, machine.Send(performatives.ActTaskRequest)).
			Because("the agent delegates a task"),
		requested.When(machine.Receive(performatives.ActTaskAccept)).
			Goto(standard.StateWorking, machine.Arm(machine.TimerRetry), machine.Report(ReportAccepted)).
			Because("the worker has taken the task on"),
		requested.When(machine.Receive(performatives.ActStatusUpdate)).
			Goto(standard.StateWorking, machine.Arm(machine.TimerRetry), machine.Report(standard.ReportProgress)).
			Because("progress overtook the acceptance, which it implies"),
		machine.Asks(StateInputGiven, standard.StateWorking).When(machine.Stale(performatives.ActTaskAccept), machine.Stale(performatives.ActStatusUpdate)).
			Stay(machine.Drop(machine.DropStale)).
			Because("a late message of an earlier round is no answer to this one; only these two acts can be late, " +
				"because the partial result ended their round"),
		working.When(machine.Receive(performatives.ActStatusUpdate)).
			Stay(machine.Report(standard.ReportProgress)).
			Because("the worker may report any number of times (rossnet §5.1)"),
		working.When(machine.Receive(performatives.ActTaskAccept)).
			Stay(machine.Report(ReportAccepted)).
			Because("progress overtook the acceptance; its estimate is still new"),
	}
}

// initiatorResult returns the initiator's rows for the end of a round.
func initiatorResult() []machine.Row {
	waiting := machine.Asks(StateRequested, StateInputGiven, standard.StateWorking)
	return []machine.Row{
		waiting.When(machine.Receive(performatives.ActInformResult)).
			Goto(standard.StateCompleted).
			Because("the result; an acceptance may be skipped, lost or overtaken (addenda §6)"),
		waiting.When(machine.ReceiveTagged(performatives.ActInformResult, TagInput)).
			Goto(StateInputNeeded, machine.Disarm(machine.TimerRetry), machine.Report(ReportInput)).
			Because("a partial result asks for more (addenda §3)"),
		machine.Asks(StateRequested, standard.StateWorking).When(machine.Receive(performatives.ActTaskReject)).
			Goto(standard.StateRejected).
			Because("the task was not taken on; a rejection after an acceptance counts as well"),
		machine.Asks(StateInputGiven, StateInputNeeded, StateDeclining).When(machine.Commanded(standard.CommandMisread)).
			Goto(standard.StateCompleted, machine.Send(performatives.ActNotUnderstood)).
			Because("the worker sent what cannot be read, and the partial result is final"),
		machine.Asks(StateInputGiven).When(
			machine.Receive(performatives.ActTaskReject), machine.Receive(performatives.ActNotUnderstood), machine.Receive(performatives.ActFailure),
			machine.Timeout(machine.TimerDeadline),
		).
			Goto(standard.StateCompleted).
			Because("the further round was turned down, or not answered in time, and the partial result is final"),
	}
}

// initiatorInput returns the initiator's rows after a partial result that asks for more.
func initiatorInput() []machine.Row {
	input := machine.Asks(StateInputNeeded)
	return []machine.Row{
		input.When(machine.Commanded(standard.CommandAnswer)).
			Goto(StateInputGiven, machine.Send(performatives.ActTaskRequest)).
			Because("a further round in the same conversation (addenda §3); the deadline of the conversation stays"),
		input.When(machine.Commanded(standard.CommandDecline), machine.Commanded(standard.CommandCancel)).
			Goto(StateDeclining, machine.Send(performatives.ActCancel), machine.Arm(machine.TimerGrace), machine.Arm(machine.TimerRetry)).
			Because("the partial result is final; CANCEL keeps the worker from waiting until its deadline"),
		input.When(machine.Timeout(machine.TimerDeadline)).
			Goto(standard.StateCompleted).
			Because("the partial result is final; the worker's own deadline ends its side"),
		input.When(machine.Receive(performatives.ActFailure)).
			Goto(standard.StateCompleted).
			Because("the worker stopped before the further round, and the partial result is final"),
		input.When(machine.Receive(performatives.ActInformResult)).
			Goto(standard.StateCompleted).
			Because("the worker continued without an answer, and this is its result"),
		input.When(machine.Receive(performatives.ActTaskAccept), machine.Receive(performatives.ActStatusUpdate)).
			Stay(machine.Drop(machine.DropLate)).
			Because("the partial result of the same round overtook it"),
	}
}

// initiatorDecline returns the initiator's rows between the CANCEL that declines a further round
// and the end. The partial result is the outcome, unless the worker has finished before.
func initiatorDecline() []machine.Row {
	declining := machine.Asks(StateDeclining)
	return []machine.Row{
		declining.When(machine.Receive(performatives.ActInform), machine.Receive(performatives.ActFailure), machine.Receive(performatives.ActNotUnderstood)).
			Goto(standard.StateCompleted).
			Because("the worker has stopped, could not be stopped, had ended before, or does not know CANCEL; the partial result is final"),
		declining.When(machine.Receive(performatives.ActInformResult)).
			Goto(standard.StateCompleted).
			Because("the worker finished without an answer, and its result crossed with CANCEL"),
		declining.When(machine.Timeout(machine.TimerGrace), machine.Timeout(machine.TimerDeadline), machine.Commanded(standard.CommandStop)).
			Goto(standard.StateCompleted).
			Because("no answer to CANCEL came in time; the partial result is final, and the worker's own deadline ends its side"),
		declining.When(machine.Commanded(standard.CommandAnswer), machine.Commanded(standard.CommandDecline), machine.Commanded(standard.CommandCancel)).
			Stay(machine.Drop(machine.DropLate)).
			Because("the further round is declined already"),
		declining.When(machine.Receive(performatives.ActTaskAccept), machine.Receive(performatives.ActStatusUpdate)).
			Stay(machine.Drop(machine.DropLate)).
			Because("the partial result of the same round overtook it"),
	}
}

// initiatorCancel returns the initiator's rows between CANCEL and the end. They are the same
// with and without an earlier partial result.
func initiatorCancel() []machine.Row {
	cancelling := machine.Asks(standard.StateCancelling)
	return []machine.Row{
		cancelling.When(machine.Receive(performatives.ActInform)).
			Goto(standard.StateCancelled).
			Because("the receipt: the handler has returned (addenda §6); an INFORM without a reference counts as well"),
		cancelling.When(machine.Receive(performatives.ActInformResult)).
			Goto(standard.StateCompleted).
			Because("the result crossed with CANCEL, and is better than none"),
		cancelling.When(machine.ReceiveTagged(performatives.ActInformResult, TagInput)).
			Goto(StateDeclining).
			Because("a partial result is better than none, too; the worker may wait for input, so CANCEL is sent again until it is answered"),
		cancelling.When(machine.Receive(performatives.ActFailure)).
			Goto(standard.StateFailed).
			Because("the work could not be stopped, or had failed before"),
		cancelling.When(machine.Receive(performatives.ActTaskReject)).
			Goto(standard.StateRejected).
			Because("the task was not taken on"),
		cancelling.When(machine.Receive(performatives.ActNotUnderstood)).
			Goto(standard.StateNotUnderstood).
			Because("the worker did not understand the request, or does not know CANCEL"),
	}
}

package codons

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// delegationConsider is the responder until it has taken the task on.
func delegationConsider() []machine.Row {
	idle, considering := answers(machine.Idle), answers(stateConsidering)
	return []machine.Row{
		idle.When(machine.Receive(performatives.ActTaskRequest)).
			Goto(stateConsidering, machine.Arm(timerDeadline), machine.Run(jobConsider)).
			Because("a task arrives"),
		idle.When(machine.Receive(performatives.ActCancel)).
			Goto(stateCancelled, machine.SendTagged(performatives.ActInform, tagReceipt)).
			Because("it travels in a higher band and overtook its request, or the request was lost"),
		considering.When(machine.Command(commandAccept)).
			Goto(stateWorking, machine.Send(performatives.ActTaskAccept), machine.Run(jobPerform)).
			Because("the agent takes the task on (acl §4.2)"),
		considering.When(machine.Command(commandReject)).
			Goto(stateRejected, machine.Send(performatives.ActTaskReject)).
			Because("busy, incapable, unauthorized (acl §4.5)"),
		considering.When(machine.Command(commandNotUnderstood)).
			Goto(stateNotUnderstood, machine.Send(performatives.ActNotUnderstood)).
			Because("the request makes no sense to the agent (acl §4.7)"),
		considering.When(machine.Command(commandFail)).
			Goto(stateFailed, machine.Send(performatives.ActFailure)).
			Because("the agent panicked over it"),
		considering.When(machine.Receive(performatives.ActCancel)).
			Goto(stateCancelled, machine.Stop(jobConsider), machine.SendTagged(performatives.ActInform, tagReceipt)).
			Because("nothing was begun, so nothing has to stop first"),
		considering.When(machine.Timeout(timerDeadline)).
			Goto(stateTimedOut, machine.Stop(jobConsider), machine.Send(performatives.ActFailure)).
			Because("the agent did not decide in time"),
		considering.When(machine.Command(commandStop)).
			Goto(stateFailed, machine.Stop(jobConsider), machine.Send(performatives.ActFailure)).
			Because("the agent stops: the asker need not wait for its deadline"),
		considering.When(machine.Duplicate(performatives.ActTaskRequest)).
			Stay(machine.Drop(dropDuplicate)).
			Because("the answer is on its way"),
	}
}

// delegationWork is the responder from the acceptance to the result.
func delegationWork() []machine.Row {
	working := answers(stateWorking)
	return []machine.Row{
		working.When(machine.Command(commandReport)).
			Stay(machine.Send(performatives.ActStatusUpdate)).
			Because("as often as the handler likes (rossnet §5.1)"),
		working.When(machine.Command(commandFinish)).
			Goto(stateCompleted, machine.Send(performatives.ActInformResult)).
			Because("done, whether the answer is yes or no (addenda §2)"),
		working.When(machine.Command(commandNeedInput)).
			Goto(stateInputNeeded, machine.SendTagged(performatives.ActInformResult, tagInput)).
			Because("a partial result asks for more (addenda §3)"),
		working.When(machine.Command(commandFail)).
			Goto(stateFailed, machine.Send(performatives.ActFailure)).
			Because("an error or a panic of the handler (acl §4.6)"),
		working.When(machine.Receive(performatives.ActCancel)).
			Goto(stateCancelling, machine.Stop(jobPerform), machine.Arm(timerGrace)).
			Because("the receipt says that nothing runs any more, so it waits for the handler"),
		working.When(machine.Timeout(timerDeadline)).
			Goto(stateTimedOut, machine.Stop(jobPerform), machine.Send(performatives.ActFailure)).
			Because("nobody waits for the result any more"),
		working.When(machine.Command(commandStop)).
			Goto(stateFailed, machine.Stop(jobPerform), machine.Send(performatives.ActFailure)).
			Because("the agent stops: the asker need not wait for its deadline"),
		working.When(machine.Duplicate(performatives.ActTaskRequest)).
			Stay(machine.Resend(performatives.ActTaskAccept)).
			Because("the asker has not heard the acceptance"),
	}
}

// delegationWorkAwaiting is the responder whose handler has asked for something, and
// goes on where it was once it has it.
func delegationWorkAwaiting() []machine.Row {
	working, awaiting := answers(stateWorking), answers(stateAwaiting)
	return []machine.Row{
		working.When(machine.Command(commandAsk)).
			Goto(stateAwaiting, machine.SendTagged(performatives.ActInformResult, tagInput)).
			Because("the handler lacks something, and waits for it (addenda §3)"),
		awaiting.When(machine.Receive(performatives.ActTaskRequest)).
			Goto(stateWorking, machine.Send(performatives.ActTaskAccept), machine.Report(reportAnswer)).
			Because("the further round is the handler's answer, and the work goes on where it was"),
		awaiting.When(machine.Command(commandFinish)).
			Goto(stateCompleted, machine.Send(performatives.ActInformResult)).
			Because("the handler would not wait any longer, and did without"),
		awaiting.When(machine.Command(commandFail), machine.Command(commandNeedInput)).
			Goto(stateFailed, machine.Send(performatives.ActFailure)).
			Because("the handler gave up, or asks for more before it has its answer"),
		awaiting.When(machine.Command(commandAsk)).
			Stay(machine.Drop(dropLate)).
			Because("one question at a time"),
		awaiting.When(machine.Command(commandReport)).
			Stay(machine.Drop(dropLate)).
			Because("it is the asker's turn, who would not hear it"),
		awaiting.When(machine.Receive(performatives.ActCancel)).
			Goto(stateCancelling, machine.Stop(jobPerform), machine.Arm(timerGrace)).
			Because("the asker wants no further round, and the handler still runs"),
		awaiting.When(machine.Timeout(timerDeadline)).
			Goto(stateCompleted, machine.Stop(jobPerform)).
			Because("the partial result was the last word"),
		awaiting.When(machine.Command(commandStop)).
			Goto(stateFailed, machine.Stop(jobPerform), machine.Send(performatives.ActFailure)).
			Because("the agent stops, and nobody is left to get the answer"),
		awaiting.When(machine.Duplicate(performatives.ActTaskRequest)).
			Stay(machine.Resend(performatives.ActInformResult)).
			Because("the asker has not heard the partial result"),
	}
}

// delegationWorkInput is the responder after a partial result.
func delegationWorkInput() []machine.Row {
	input := answers(stateInputNeeded)
	return []machine.Row{
		input.When(machine.Receive(performatives.ActTaskRequest)).
			Goto(stateConsidering, machine.Arm(timerDeadline), machine.Run(jobConsider)).
			Because("the further round, with what was asked for"),
		input.When(machine.Receive(performatives.ActCancel)).
			Goto(stateCancelled, machine.SendTagged(performatives.ActInform, tagReceipt)).
			Because("the asker wants no further round"),
		input.When(machine.Timeout(timerDeadline)).
			Goto(stateCompleted).
			Because("the partial result was the last word"),
		input.When(machine.Command(commandStop)).
			Goto(stateFailed, machine.Send(performatives.ActFailure)).
			Because("no further round can be served"),
		input.When(machine.Duplicate(performatives.ActTaskRequest)).
			Stay(machine.Resend(performatives.ActInformResult)).
			Because("the asker has not heard the partial result"),
	}
}

// delegationWorkCancelling is the responder until the handler has returned.
func delegationWorkCancelling() []machine.Row {
	cancelling := answers(stateCancelling)
	return []machine.Row{
		cancelling.When(machine.Command(commandFinish), machine.Command(commandNeedInput), machine.Command(commandFail)).
			Goto(stateCancelled, machine.SendTagged(performatives.ActInform, tagReceipt)).
			Because("the handler has returned; what it made was withdrawn"),
		cancelling.When(machine.Receive(performatives.ActTaskRequest)).
			Stay(machine.Drop(dropLate)).
			Because("a further round that its CANCEL has overtaken"),
		cancelling.When(machine.Command(commandReport), machine.Command(commandAsk)).
			Stay(machine.Drop(dropLate)).
			Because("the asker does not care any more"),
		cancelling.When(machine.Timeout(timerGrace), machine.Timeout(timerDeadline)).
			Goto(stateFailed, machine.Send(performatives.ActFailure)).
			Because("the handler has not returned: it must not be called cancelled"),
		cancelling.When(machine.Command(commandStop)).
			Goto(stateFailed, machine.Send(performatives.ActFailure)).
			Because("the agent stops before its handler has returned"),
		cancelling.When(machine.Duplicate(performatives.ActTaskRequest), machine.Duplicate(performatives.ActCancel)).
			Stay(machine.Drop(dropDuplicate)).
			Because("the receipt goes out when the handler has returned"),
	}
}

// delegationWorkEnded is the responder's afterlife, and what it does with
// everything that no other row names.
func delegationWorkEnded() []machine.Row {
	live := []machine.State{stateConsidering, stateWorking, stateAwaiting, stateInputNeeded, stateCancelling}
	ended := []machine.State{
		stateCompleted, stateRejected, stateNotUnderstood, stateFailed, stateCancelled, stateTimedOut,
	}
	again := func(act performatives.Performative, states ...machine.State) machine.Row {
		return answers(states...).When(
			machine.Duplicate(performatives.ActTaskRequest), machine.Receive(performatives.ActCancel), machine.Duplicate(performatives.ActCancel),
		).
			Stay(machine.Resend(act)).
			Because("the asker has not heard the end; to CANCEL too the true end is the answer, not a refusal that might overtake it")
	}
	return concat(
		[]machine.Row{
			again(performatives.ActInformResult, stateCompleted),
			answers(stateCompleted).When(machine.Receive(performatives.ActTaskRequest)).
				Stay(machine.Resend(performatives.ActInformResult)).
				Because("a further round crossed with the end; a task of its own begins another conversation"),
			again(performatives.ActTaskReject, stateRejected),
			again(performatives.ActNotUnderstood, stateNotUnderstood),
			again(performatives.ActFailure, stateFailed, stateTimedOut),
			answers(stateCancelled).When(machine.Duplicate(performatives.ActCancel), machine.Receive(performatives.ActTaskRequest)).
				Stay(machine.Resend(performatives.ActInform)).
				Because("the asker has not heard the receipt, or its CANCEL overtook the request"),
			answers(stateFailed, stateCancelled, stateTimedOut).When(
				machine.Command(commandAccept), machine.Command(commandReject), machine.Command(commandNotUnderstood), machine.Command(commandFail),
			).
				Stay(machine.Drop(dropLate)).
				Because("the agent made up its mind after the end"),
			answers(stateCompleted).When(machine.Command(commandFail)).
				Stay(machine.Drop(dropLate)).
				Because("the handler was still waiting for its answer at the deadline"),
			answers(stateCompleted, stateFailed, stateTimedOut).When(
				machine.Command(commandReport), machine.Command(commandAsk), machine.Command(commandFinish), machine.Command(commandNeedInput),
			).
				Stay(machine.Drop(dropLate)).
				Because("the handler outlived the conversation"),
			answers(ended...).When(machine.Command(commandStop)).
				Stay(machine.Drop(dropLate)).
				Because("there is nothing left to stop"),
		},
		others(machine.Responder, live, ended),
	)
}

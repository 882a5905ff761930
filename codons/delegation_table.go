package codons

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// What a worker whose handler asks has besides what all tables share.
const (
	stateInputGiven machine.State = "input_given" // initiator: a further round has no answer yet
	stateAwaiting   machine.State = "awaiting"    // responder: the handler waits for what it asked for

	commandAsk = "ask" // responder: a partial result, and the handler waits for the answer

	reportAnswer = "answer" // to the handler: the further round
)

// DelegationTable returns the codon of a delegated task: request, accept, result
// (acl §4, addenda §2, §3 and §6).
func DelegationTable() machine.Table {
	return machine.Table{
		Name:  "task-delegation",
		Title: "Task delegation",
		Purpose: "One agent asks another to carry out a task. The worker accepts or rejects it, " +
			"reports progress, and ends with a result, a failure, or a partial result that asks for more input.",
		Source: "acl §4 and §7; addenda §2, §3 and §6; FIPA Request Interaction Protocol (SC00026H)",
		Live: []machine.State{
			stateRequested, stateInputGiven, stateConsidering, stateWorking, stateAwaiting, stateInputNeeded, stateCancelling,
		},
		Terminal: []machine.State{
			stateCompleted, stateRejected, stateNotUnderstood, stateFailed, stateCancelled, stateTimedOut, stateAbandoned,
		},
		Jobs:   delegationJobs(),
		Timers: delegationTimers(),
		Rows: concat(
			delegationAsk(), delegationInput(), delegationCancelling(), delegationAskEnded(),
			delegationConsider(), delegationWork(), delegationWorkAwaiting(), delegationWorkInput(), delegationWorkCancelling(), delegationWorkEnded(),
		),
		Agree: delegationPairs(),
	}
}

func delegationJobs() []machine.Job {
	return []machine.Job{
		{
			Role: machine.Responder, Name: jobConsider,
			Ends: []string{commandAccept, commandReject, commandNotUnderstood, commandFail},
			Doc:  "the agent decides whether to take the task on",
		},
		{
			Role: machine.Responder, Name: jobPerform,
			Says: []string{commandReport, commandAsk},
			Ends: []string{commandFinish, commandNeedInput, commandFail},
			Doc:  "the agent's handler does the work",
		},
	}
}

func delegationTimers() []machine.Timer {
	return []machine.Timer{
		{Role: machine.Initiator, Name: timerDeadline, Doc: "until the request's ReplyBy"},
		{Role: machine.Initiator, Name: timerRetry, Doc: "until a request or CANCEL without an answer is sent again"},
		{Role: machine.Initiator, Name: timerGrace, Doc: "how long to wait for the end after a CANCEL"},
		{Role: machine.Responder, Name: timerDeadline, Doc: "until the latest request's ReplyBy, or the agent's own limit when it has none"},
		{Role: machine.Responder, Name: timerGrace, Doc: "how long a cancelled handler may take to return"},
	}
}

// delegationAsk is the initiator from the request to its answer.
func delegationAsk() []machine.Row {
	idle, requested, working := asks(machine.Idle), asks(stateRequested, stateInputGiven), asks(stateWorking)
	both, first := asks(stateRequested, stateInputGiven, stateWorking), asks(stateRequested, stateWorking)
	return []machine.Row{
		idle.When(machine.Command(commandStart)).
			Goto(stateRequested, machine.Send(performatives.ActTaskRequest), machine.Arm(timerDeadline), machine.Arm(timerRetry)).
			Because("the agent delegates a task"),
		both.When(machine.Timeout(timerRetry)).
			Stay(machine.Resend(performatives.ActTaskRequest), machine.Arm(timerRetry)).
			Because("the request, or an answer to it, may be lost: the same id lets the worker tell a retry from a second task"),
		requested.When(machine.Receive(performatives.ActTaskAccept)).
			Goto(stateWorking, machine.Arm(timerRetry), machine.Report(reportAccepted)).
			Because("the worker has taken the task on"),
		requested.When(machine.Receive(performatives.ActStatusUpdate)).
			Goto(stateWorking, machine.Arm(timerRetry), machine.Report(reportProgress)).
			Because("progress overtook the acceptance, which it implies"),
		asks(stateInputGiven, stateWorking).When(machine.Stale(performatives.ActTaskAccept), machine.Stale(performatives.ActStatusUpdate)).
			Stay(machine.Drop(dropStale)).
			Because("a straggler of an earlier round must not pass for an answer to this one; " +
				"no other act can be one, since the partial result was the last word of its round"),
		working.When(machine.Receive(performatives.ActStatusUpdate)).
			Stay(machine.Report(reportProgress)).
			Because("as often as the worker likes (rossnet §5.1)"),
		working.When(machine.Receive(performatives.ActTaskAccept)).
			Stay(machine.Report(reportAccepted)).
			Because("progress overtook it; its estimate is news all the same"),
		both.When(machine.Receive(performatives.ActInformResult)).
			Goto(stateCompleted).
			Because("the result; an acceptance may be skipped, lost or overtaken (addenda §6)"),
		both.When(machine.ReceiveTagged(performatives.ActInformResult, tagInput)).
			Goto(stateInputNeeded, machine.Disarm(timerRetry), machine.Report(reportInput)).
			Because("a partial result asks for more (addenda §3)"),
		first.When(machine.Receive(performatives.ActTaskReject)).
			Goto(stateRejected).
			Because("never taken on; a worker that rejects what it had accepted is believed"),
		first.When(machine.Receive(performatives.ActNotUnderstood)).
			Goto(stateNotUnderstood).
			Because("it answers any act and ends the conversation (addenda §6)"),
		first.When(machine.Receive(performatives.ActFailure)).
			Goto(stateFailed).
			Because("taken on and not carried out (acl §4.6)"),
		asks(stateInputGiven).When(
			machine.Receive(performatives.ActTaskReject), machine.Receive(performatives.ActNotUnderstood), machine.Receive(performatives.ActFailure),
			machine.Timeout(timerDeadline),
		).
			Goto(stateCompleted).
			Because("the further round was turned down, or not taken on in time, and the partial result stands"),
		first.When(machine.Timeout(timerDeadline)).
			Goto(stateTimedOut).
			Because("the worker keeps the same deadline and stops by itself"),
		both.When(machine.Command(commandCancel)).
			Goto(stateCancelling, machine.Send(performatives.ActCancel), machine.Arm(timerGrace), machine.Arm(timerRetry)).
			Because("the work may have ended meanwhile, so the answer decides how it ends"),
		both.When(machine.Command(commandStop)).
			Goto(stateAbandoned, machine.Send(performatives.ActCancel)).
			Because("nobody is left to wait; the worker need not go on"),
	}
}

// delegationInput is the initiator with a partial result in hand.
func delegationInput() []machine.Row {
	input := asks(stateInputNeeded)
	return []machine.Row{
		input.When(machine.Command(commandAnswer)).
			Goto(stateInputGiven, machine.Send(performatives.ActTaskRequest), machine.Arm(timerRetry)).
			Because("a further round in the same conversation (addenda §3); the deadline stays the conversation's"),
		input.When(machine.Command(commandDecline), machine.Command(commandCancel)).
			Goto(stateCompleted, machine.Send(performatives.ActCancel)).
			Because("the partial result stands; CANCEL spares the worker from waiting until its deadline"),
		input.When(machine.Timeout(timerDeadline)).
			Goto(stateCompleted).
			Because("the partial result stands; the worker's deadline closes its side"),
		input.When(machine.Receive(performatives.ActFailure)).
			Goto(stateCompleted).
			Because("the worker stopped before the further round: the partial result stands"),
		input.When(machine.Receive(performatives.ActInformResult)).
			Goto(stateCompleted).
			Because("the worker went on without an answer, and this is the result"),
		input.When(machine.Receive(performatives.ActTaskAccept), machine.Receive(performatives.ActStatusUpdate)).
			Stay(machine.Drop(dropLate)).
			Because("the result of their round overtook them"),
		input.When(machine.Command(commandStop)).
			Goto(stateAbandoned, machine.Send(performatives.ActCancel)).
			Because("nobody is left to answer"),
	}
}

// delegationCancelling is the initiator between CANCEL and the end.
func delegationCancelling() []machine.Row {
	cancelling := asks(stateCancelling)
	return []machine.Row{
		cancelling.When(machine.Receive(performatives.ActInform)).
			Goto(stateCancelled).
			Because("the receipt: nothing runs any more (addenda §6)"),
		cancelling.When(machine.Receive(performatives.ActInformResult)).
			Goto(stateCompleted).
			Because("completion won the race; a result in hand is better than none"),
		cancelling.When(machine.Receive(performatives.ActFailure)).
			Goto(stateFailed).
			Because("the work could not be stopped, or had failed before"),
		cancelling.When(machine.Receive(performatives.ActTaskReject)).
			Goto(stateRejected).
			Because("never taken on"),
		cancelling.When(machine.Receive(performatives.ActNotUnderstood)).
			Goto(stateNotUnderstood).
			Because("of the request, or of CANCEL by a worker that does not know it"),
		cancelling.When(machine.Receive(performatives.ActTaskAccept), machine.Receive(performatives.ActStatusUpdate)).
			Stay(machine.Drop(dropLate)).
			Because("they say nothing about the end"),
		cancelling.When(machine.Timeout(timerRetry)).
			Stay(machine.Resend(performatives.ActCancel), machine.Arm(timerRetry)).
			Because("CANCEL or its answer was lost"),
		cancelling.When(machine.Timeout(timerGrace), machine.Timeout(timerDeadline)).
			Goto(stateTimedOut).
			Because("no word of the end came in time"),
		cancelling.When(machine.Command(commandStop)).
			Goto(stateAbandoned).
			Because("CANCEL is on its way"),
	}
}

// delegationAskEnded is the initiator's afterlife, and what it does with
// everything that no other row names.
func delegationAskEnded() []machine.Row {
	live := []machine.State{stateRequested, stateInputGiven, stateWorking, stateInputNeeded, stateCancelling}
	ended := []machine.State{
		stateCompleted, stateRejected, stateNotUnderstood, stateFailed, stateCancelled, stateTimedOut, stateAbandoned,
	}
	return concat(
		[]machine.Row{
			asks(stateCancelling).When(machine.Command(commandCancel)).
				Stay(machine.Drop(dropDuplicate)).
				Because("it is cancelled already"),
			asks(ended...).When(
				machine.Command(commandCancel), machine.Command(commandAnswer), machine.Command(commandDecline), machine.Command(commandStop),
			).
				Stay(machine.Drop(dropLate)).
				Because("the end came while the agent made up its mind"),
		},
		others(machine.Initiator, live, ended),
	)
}

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

// delegationPairs is every way in which a delegation may end. Both sides agree
// unless one of them ended by its own clock, by its agent's stop, or in a race
// that a lossy network does not let the two settle.
func delegationPairs() []machine.Pair {
	pair := func(initiator, responder machine.State, note string) machine.Pair {
		return machine.Pair{Initiator: initiator, Responder: responder, Note: note}
	}
	rough := func(initiator, responder machine.State, note string) machine.Pair {
		return machine.Pair{Initiator: initiator, Responder: responder, Note: note, Rough: true}
	}
	return []machine.Pair{
		pair(stateCompleted, stateCompleted, ""),
		pair(stateRejected, stateRejected, ""),
		pair(stateNotUnderstood, stateNotUnderstood, ""),
		pair(stateFailed, stateFailed, ""),
		pair(stateCancelled, stateCancelled, ""),
		rough(stateTimedOut, stateTimedOut, ""),

		rough(stateFailed, stateTimedOut, "the worker's deadline passed first, and its FAILURE says so"),
		pair(stateCompleted, stateCancelled, "the partial result stands: the asker declined the further round, or the result outran its CANCEL"),
		pair(stateCompleted, stateFailed, "the partial result stands: the worker gave up, or stopped, before a further round"),
		pair(stateCompleted, stateRejected, "the partial result stands: the worker rejected a further round"),
		pair(stateCompleted, stateNotUnderstood, "the partial result stands: the worker did not understand a further round"),
		rough(stateCompleted, stateTimedOut, "the partial result stands: a further round came too late"),

		rough(stateTimedOut, stateCompleted, "the result was lost, or came too late"),
		rough(stateTimedOut, stateRejected, "the rejection was lost, or came too late"),
		rough(stateTimedOut, stateNotUnderstood, "the answer was lost, or came too late"),
		rough(stateTimedOut, stateFailed, "the failure was lost, or came too late"),
		rough(stateTimedOut, stateCancelled, "the receipt was lost, or came too late"),
		rough(stateTimedOut, machine.Idle, unknown),

		rough(stateAbandoned, stateCompleted, gone),
		rough(stateAbandoned, stateRejected, gone),
		rough(stateAbandoned, stateNotUnderstood, gone),
		rough(stateAbandoned, stateFailed, gone),
		rough(stateAbandoned, stateCancelled, "the asker's agent stopped, and its CANCEL arrived"),
		rough(stateAbandoned, stateTimedOut, "the asker's agent stopped, and its CANCEL was lost or late"),
		rough(stateAbandoned, machine.Idle, unknown),
	}
}

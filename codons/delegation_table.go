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
			delegationAsk(), delegationAskEnds(), delegationInput(), delegationCancelling(), delegationAskEnded(),
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
	both := asks(stateRequested, stateInputGiven, stateWorking)
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
	}
}

// delegationAskEnds is the initiator at the end of a round, whichever way.
func delegationAskEnds() []machine.Row {
	both, first := asks(stateRequested, stateInputGiven, stateWorking), asks(stateRequested, stateWorking)
	return []machine.Row{
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

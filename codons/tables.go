package codons

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// States of the tables. A live state says what its side waits for, a terminal
// one how the conversation ended for it.
const (
	stateRequested   machine.State = "requested"    // delegation, initiator: no answer yet
	stateConsidering machine.State = "considering"  // delegation, responder: the agent makes up its mind
	stateWorking     machine.State = "working"      // delegation: the task was taken on
	stateInputNeeded machine.State = "input_needed" // delegation: a partial result asks for more
	stateCancelling  machine.State = "cancelling"   // withdrawn, and the work has not stopped yet
	stateAsked       machine.State = "asked"        // exchange, initiator: no answer yet
	stateAnswering   machine.State = "answering"    // exchange, responder: the agent's handler runs
	stateAgreed      machine.State = "agreed"       // exchange: the responder has agreed and works on it

	stateCompleted     machine.State = "completed"      // there is a result, perhaps a partial one
	stateAnswered      machine.State = "answered"       // the query has its answer
	stateRejected      machine.State = "rejected"       // the task was never taken on
	stateRefused       machine.State = "refused"        // the query will not be answered
	stateNotUnderstood machine.State = "not_understood" // the message itself made no sense
	stateFailed        machine.State = "failed"         // it was tried and could not be carried out
	stateCancelled     machine.State = "cancelled"      // withdrawn, and nothing runs any more
	stateTimedOut      machine.State = "timed_out"      // this side's deadline passed
	stateAbandoned     machine.State = "abandoned"      // the asker left without waiting for an end
)

// Timers of the tables.
const (
	timerDeadline = "deadline" // until ReplyBy
	timerRetry    = "retry"    // until the latest message is sent again
	timerGrace    = "grace"    // how long a cancelled task may take to stop
)

// Jobs of the tables.
const (
	jobConsider = "consider" // the agent decides about a task
	jobPerform  = "perform"  // the agent works on a task
	jobAnswer   = "answer"   // the agent answers a query
)

// Commands of the tables.
const (
	commandStart   = "start"   // initiator: open the conversation
	commandCancel  = "cancel"  // initiator: withdraw it
	commandAnswer  = "answer"  // initiator: give the input that was asked for; responder: the answer to a query
	commandDecline = "decline" // initiator: give none, the partial result will do
	commandStop    = "stop"    // either: the agent stops, or its conversation actor was restarted

	commandAccept        = "accept"         // responder: take the task on
	commandReject        = "reject"         // responder: do not
	commandRefuse        = "refuse"         // responder: do not answer the query
	commandNotUnderstood = "not_understood" // responder: the request makes no sense
	commandAgree         = "agree"          // responder: it will be done, and takes a while
	commandReport        = "report"         // responder: progress
	commandFinish        = "finish"         // responder: the result
	commandNeedInput     = "need_input"     // responder: a partial result, and a request for more
	commandFail          = "fail"           // responder: an error or a panic of the handler
)

// tagInput marks an INFORM_RESULT that asks for input: task_status
// partial_success with result_details.request_for_user (addenda §3).
const tagInput = "input"

// tagReceipt marks the INFORM that answers a CANCEL, where an INFORM may also be the
// answer to the request.
const tagReceipt = "receipt"

// What the tables report to the agent.
const (
	reportAgreed   = "agreed"   // that the responder has agreed
	reportAccepted = "accepted" // the payload of a TASK_ACCEPT
	reportProgress = "progress" // the payload of a STATUS_UPDATE
	reportInput    = "input"    // the partial result, with what the worker needs
)

// Why the tables drop what arrives.
const (
	dropDuplicate  = "duplicate"  // it was seen before and needs no answer
	dropStale      = "stale"      // it answers a round that is over
	dropLate       = "late"       // the conversation, or this part of it, has ended
	dropUnexpected = "unexpected" // it has no place in this state
)

// asks starts a row of the initiator.
func asks(in ...machine.State) machine.Row { return machine.For(machine.Initiator, in...) }

// answers starts a row of the responder.
func answers(in ...machine.State) machine.Row { return machine.For(machine.Responder, in...) }

// others is what a role does with the receptions that no other row names, during
// a conversation and after it. Only what expects a reply gets one, so that
// refusals never answer refusals.
func others(role machine.Role, live, ended []machine.State) []machine.Row {
	during, after := machine.For(role, live...), machine.For(role, ended...)
	always := machine.For(role, append(append([]machine.State(nil), live...), ended...)...)
	return []machine.Row{
		always.When(machine.OtherDuplicates()).Stay(machine.Drop(dropDuplicate)).
			Because("it had its effect when it came first"),
		during.When(machine.OtherRequests()).Stay(machine.Refuse(performatives.CodeUnexpectedAct)).
			Because("its sender waits for an answer"),
		during.When(machine.OtherNotices()).Stay(machine.Drop(dropUnexpected)).
			Because("nobody waits for an answer to it"),
		after.When(machine.OtherRequests()).Stay(machine.Refuse(performatives.CodeConversationEnded)).
			Because("its sender waits for an answer"),
		after.When(machine.OtherNotices()).Stay(machine.Drop(dropLate)).
			Because("it comes after the end"),
	}
}

// concat joins the parts of a table.
func concat(parts ...[]machine.Row) []machine.Row {
	var rows []machine.Row
	for _, part := range parts {
		rows = append(rows, part...)
	}
	return rows
}

// Notes that several pairs share.
const (
	unknown = "unknown to the other side: no message ever reached it"
	gone    = "the asker left without waiting for the end"
)

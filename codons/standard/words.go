package standard

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// States of the standard rows. [Rows.Complete] declares those that a table reaches.
const (
	StateCancelling machine.State = "cancelling" // live: CANCEL was sent or received, and the end is not known yet

	StateRefused       machine.State = "refused"        // the responder refused the request
	StateNotUnderstood machine.State = "not_understood" // the responder did not understand the request
	StateFailed        machine.State = "failed"         // the work was begun and failed
	StateCancelled     machine.State = "cancelled"      // the request was withdrawn, and nothing runs any more
	StateTimedOut      machine.State = "timed_out"      // the deadline of this side passed
	StateAbandoned     machine.State = "abandoned"      // the initiator ended without waiting for an answer
	StateMisread       machine.State = "misread"        // the initiator did not understand a message of the responder, and told it so
)

// Commands of the standard rows.
const (
	CommandCancel = "cancel" // initiator: withdraw the request
	CommandStop   = "stop"   // either role: the agent stops, or its conversation actor was restarted

	// CommandMisread is a command of the runtime: a message of the peer has a type that the codon
	// does not know, or an act that the state does not expect. A responder gets it where it awaits
	// a message.
	CommandMisread = "misread"

	CommandRefuse        = "refuse"         // last command of a job: refuse the request
	CommandNotUnderstood = "not_understood" // last command of a job: the request was not understood
	CommandFail          = "fail"           // last command of a job: an error or a panic of the handler
)

// TagReceipt is the tag of the receipt: the INFORM that answers a CANCEL and says that the handler
// has returned. It tells the receipt from an INFORM that answers the request.
const TagReceipt = "receipt"

// IsEnd reports whether s is a terminal state of the standard rows.
func IsEnd(s machine.State) bool {
	switch s { //nolint:exhaustive // the other states are not terminal
	case StateRefused, StateNotUnderstood, StateFailed, StateCancelled, StateTimedOut, StateAbandoned, StateMisread:
		return true
	}
	return false
}

// States that the tables of several families have. A live state says what its side waits
// for, a terminal state how the conversation ended for its side.
const (
	StateConsidering machine.State = "considering" // responder: the agent decides whether to take the request on
	StateWorking     machine.State = "working"     // the request was taken on
	StateSettling    machine.State = "settling"    // responder: CANCEL came while no handler ran, and [JobChildren] runs
	StateAsked       machine.State = "asked"       // exchange, initiator: no answer yet
	StateAnswering   machine.State = "answering"   // exchange, responder: the agent's handler runs
	StateAgreed      machine.State = "agreed"      // exchange: the responder has agreed and works on the request

	StateCompleted machine.State = "completed" // there is a result, perhaps a partial one
	StateAnswered  machine.State = "answered"  // the request has its answer
	StateRejected  machine.State = "rejected"  // the request was not taken on
)

// Jobs that the tables of several families have.
const (
	JobConsider = "consider" // the agent decides about a request
	JobPerform  = "perform"  // the agent works on a request
	JobAnswer   = "answer"   // the agent answers a request of an [Exchange]

	// JobChildren is a job of the responder that needs no code of the agent: it ends at once, with
	// [CommandUnstopped] if a conversation that an earlier handler began has perhaps not stopped,
	// else with [CommandStopped]. A table runs it for a CANCEL while no handler runs: see
	// [SettlesIn].
	JobChildren = "children"
)

// Commands that the tables of several families have.
const (
	CommandAnswer  = "answer"  // initiator: give the input that the peer needs; responder: give the answer
	CommandDecline = "decline" // initiator: turn the peer's offer or question down

	CommandAccept = "accept" // responder: take the request on
	CommandReject = "reject" // responder: do not take it on
	CommandAgree  = "agree"  // responder: say that it will be done and takes a while
	CommandReport = "report" // responder: send progress
	CommandFinish = "finish" // responder: send the result

	CommandStopped   = "stopped"   // last command of [JobChildren]: nothing runs any more
	CommandUnstopped = "unstopped" // last command of [JobChildren]: a conversation of an earlier handler perhaps still runs
)

// Reports that the tables of several families make to the initiator.
const (
	ReportAgreed   = "agreed"   // the responder has agreed; there is no payload
	ReportProgress = "progress" // the payload of a STATUS_UPDATE
)

// ChildrenJob returns the declaration of [JobChildren], for a table with the rows of [SettlesIn].
func ChildrenJob() machine.Job {
	return machine.Job{
		Role: machine.Responder, Name: JobChildren, Ends: []string{CommandStopped, CommandUnstopped},
		Doc:   "the kernel looks whether the conversations that earlier handlers began have stopped; it does not wait",
		Swift: true,
	}
}

// SettlesIn returns the rows of the responder for a CANCEL in states in which no handler runs, but
// one has returned. request is the act of the request that the handler answers. The receipt speaks
// for the conversations that it began, too.
func SettlesIn(request performatives.Performative, states ...machine.State) []machine.Row {
	settling := machine.Answers(StateSettling)
	return []machine.Row{
		machine.Answers(states...).When(machine.Receive(performatives.ActCancel)).
			Goto(StateSettling, machine.Run(JobChildren)).
			Because("no handler runs, and the receipt speaks for the conversations of earlier handlers, too"),
		settling.When(machine.Commanded(CommandStopped)).
			Goto(StateCancelled, SendReceipt).
			Because("nothing runs any more (addenda §6)"),
		settling.When(machine.Commanded(CommandUnstopped)).
			Goto(StateFailed, machine.Send(performatives.ActFailure)).
			Because("a conversation of an earlier handler perhaps still runs: the work must not count as cancelled"),
		settling.When(machine.Receive(performatives.ActCancel), machine.Duplicate(request)).
			Stay(machine.Drop(machine.DropDuplicate)).
			Because("it is cancelled already"),
	}
}

// others returns the wildcard rows of a role: the receptions and the refused copies that no other
// row names, during a conversation and after it. Only a message that expects a reply is refused, so
// that refusals never answer refusals.
func others(role machine.Role, live, ended []machine.State) []machine.Row {
	during, after := machine.For(role, live...), machine.For(role, ended...)
	always := machine.For(role, append(append([]machine.State(nil), live...), ended...)...)
	return []machine.Row{
		always.When(machine.OtherDuplicates()).Stay(machine.Drop(machine.DropDuplicate)).
			Because("it had its effect when it came first"),
		during.When(machine.OtherRequests()).Stay(machine.Refuse(performatives.CodeUnexpectedAct)).
			Because("its sender waits for an answer"),
		during.When(machine.OtherNotices()).Stay(machine.Drop(machine.DropUnexpected)).
			Because("its sender waits for no answer"),
		after.When(machine.OtherRequests()).Stay(machine.Refuse(performatives.CodeConversationEnded)).
			Because("its sender waits for an answer"),
		after.When(machine.OtherNotices()).Stay(machine.Drop(machine.DropLate)).
			Because("it comes after the end"),
		always.When(machine.OtherRefusedCopies()).Stay(machine.Drop(machine.DropUndeliverable)).
			Because("it is no answer of the peer: another copy may arrive, and a lost message is sent again"),
	}
}

// Notes of [machine.Pair] that the tables of several families share.
const (
	NoteUnknown = "unknown to the other side: no message ever reached it"
	NoteGone    = "the initiator ended without waiting for the answer"
)

// IsTimer reports whether the standard rows have a timer of that name.
func IsTimer(name string) bool {
	return name == machine.TimerDeadline || name == machine.TimerRetry || name == machine.TimerGrace
}

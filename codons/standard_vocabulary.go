package codons

import "github.com/ribosome-agents/ribosome/codons/machine"

// States of the standard rows. [Standard.Complete] declares those that a table reaches.
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
	CommandStart  = "start"  // initiator: open the conversation; the table itself must have its row
	CommandCancel = "cancel" // initiator: withdraw the request
	CommandStop   = "stop"   // either role: the agent stops, or its conversation actor was restarted

	// CommandMisread is a command of the runtime: a message of the peer has a type that the codon does not
	// know, or an act that the state does not expect. A responder gets it where it awaits a message.
	CommandMisread = "misread"

	CommandRefuse        = "refuse"         // last command of a job: refuse the request
	CommandNotUnderstood = "not_understood" // last command of a job: the request was not understood
	CommandFail          = "fail"           // last command of a job: an error or a panic of the handler
)

// Timers of the standard rows. [Options] and [Times] set their durations.
const (
	TimerDeadline = "deadline" // until the ReplyBy of the opening act
	TimerRetry    = "retry"    // until the latest request without an answer is sent again
	TimerGrace    = "grace"    // until a cancelled conversation must have ended
)

// TagReceipt is the tag of the receipt: the INFORM that answers a CANCEL and says that the handler
// has returned. It tells the receipt from an INFORM that answers the request.
const TagReceipt = "receipt"

// Reasons for which rows drop a message or a command. Drops are counted under these labels.
const (
	DropDuplicate  = "duplicate"  // the message was received before and needs no answer
	DropStale      = "stale"      // the message belongs to an earlier round or conversation
	DropLate       = "late"       // the conversation, or this part of it, has ended
	DropUnexpected = "unexpected" // the state has no row for the message

	// DropUndeliverable is the reason for the refusal of a copy of a message by the runtime, where
	// the wait for the answer goes on.
	DropUndeliverable = "undeliverable"
)

// isStandardEnd reports whether s is a terminal state of the standard rows.
func isStandardEnd(s machine.State) bool {
	switch s { //nolint:exhaustive // the other states are not terminal
	case StateRefused, StateNotUnderstood, StateFailed, StateCancelled, StateTimedOut, StateAbandoned, StateMisread:
		return true
	}
	return false
}

package machine

// Asks starts a row of the initiator in those states, for the table of a codon.
func Asks(in ...State) Row { return For(Initiator, in...) }

// Answers starts a row of the responder in those states, for the table of a codon.
func Answers(in ...State) Row { return For(Responder, in...) }

// CommandStart is the command of the initiator that opens the conversation. The table itself must
// have its row.
const CommandStart = "start"

// Timers of the standard rows. Options of the caller and times of the responder set their
// durations.
const (
	TimerDeadline = "deadline" // until the ReplyBy of the opening act
	TimerRetry    = "retry"    // until the latest request without an answer is sent again
	TimerGrace    = "grace"    // until a cancelled conversation must have ended
)

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

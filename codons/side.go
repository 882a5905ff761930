package codons

import (
	"time"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Side is the code of one role of a codon in one conversation. The table decides the effects
// of an event, and the side carries them out. Its methods run on the conversation's actor and
// must not block. They are of three kinds:
//
//   - Tag, Reduce, Compose and Timer are pure. They depend on the value, the event and the
//     data that Reduce keeps. They read no clock and have no effect outside of the side. So
//     the same events rebuild the same conversation ([Rebuild]).
//   - Run, Stop and Report act: they start and end jobs, and inform the agent or the caller.
//   - Ended and Abandoned end the side. Exactly one of them is called, once.
//
// A side may have further methods:
//
//   - Data() any returns a copy of the data that Reduce keeps, as a value that encoding/json
//     writes, so that it can be compared with the data of a rebuilt side.
//   - ReplyBy(v *Value, f machine.Effect) time.Time returns the ReplyBy of the act that the effect
//     sends. The zero time leaves it unchanged. It is pure.
//   - Denial(m *performatives.Message, s performatives.Stamp, r *performatives.Refusal)
//     *performatives.Message returns the answer with which the conversation handles an
//     undeliverable message m, made with the stamp s for the refusal r. Nil means no answer. It is
//     pure. It is for an opening act that expects no reply by its own meaning.
//   - Send(c *Conversation, m *performatives.Message) is called right before a new message is sent,
//     on the conversation's actor. It must not block.
//   - Undelivered(c *Conversation, m *performatives.Message, r *performatives.Refusal) is called
//     with a message that expects no reply and could not be delivered, and the reason. The message
//     is a dead letter already. It runs on the conversation's actor and must not block.
//
// [InitiatorSide] and [ResponderSide] are bases to embed.
type Side interface {
	// Tag returns the tag of a received message for [machine.ReceiveTagged], empty for none.
	Tag(v *Value, m *performatives.Message) string
	// Reduce records the data that the side needs of an event. It is called after the table's
	// step and before any effect of the step.
	Reduce(v *Value, e *Input)
	// Compose returns the content of the message that an effect of the event's step
	// sends.
	Compose(v *Value, f machine.Effect, e *Input) any
	// Timer returns the time from now until a timer is due. Zero and less mean at once,
	// [Never] means that the timer does not run.
	Timer(v *Value, name string, now time.Time) time.Duration

	// Run starts a job of the table. It does not wait for the job.
	Run(c *Conversation, job string)
	// Stop ends the context of a job. It does not wait for the job to return.
	Stop(c *Conversation, job string)
	// Report informs the agent or the caller. The report is named as in the table, and m is
	// the message of the event, nil where it has none.
	Report(c *Conversation, report string, m *performatives.Message)
	// Ended is called in the terminal state. last is the message that ended the
	// conversation, nil when no message did.
	Ended(c *Conversation, last *performatives.Message)
	// Abandoned is called for a conversation that never began, or whose actor failed.
	Abandoned(c *Conversation, cause error)
}

// dateSide is a [Side] that sets the ReplyBy of some of its acts.
type dateSide interface {
	ReplyBy(v *Value, f machine.Effect) time.Time
}

// sendSide is a [Side] that acts before its messages are sent.
type sendSide interface {
	Send(c *Conversation, m *performatives.Message)
}

// undeliveredSide is a [Side] that handles undeliverable messages which expect no reply.
type undeliveredSide interface {
	Undelivered(c *Conversation, m *performatives.Message, r *performatives.Refusal)
}

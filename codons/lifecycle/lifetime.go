package lifecycle

import (
	"encoding/json"
	"time"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// The kinds of the events about the lifetime of conversations and jobs. They are few in comparison
// with [KindTransition], which has an event for each step.
const (
	KindBegan    events.Kind = "conversation.began"  // KindBegan is the kind of [Began].
	KindEnded    events.Kind = "conversation.ended"  // KindEnded is the kind of [Ended].
	KindResent   events.Kind = "conversation.resent" // KindResent is the kind of [Resent].
	KindJobEnded events.Kind = "job.ended"           // KindJobEnded is the kind of [JobEnded].
)

// Subject names one side of a conversation. The events of a side refer to the same Subject, which
// is not to be changed. It is a part of the conversation: who keeps an event keeps the memory of
// the whole conversation, and who keeps many copies what they need.
type Subject struct {
	Agent        performatives.AgentID        `json:"agent"`          // the agent on this side
	Peer         performatives.AgentID        `json:"peer,omitempty"` // the agent on the other side
	Conversation performatives.ConversationID `json:"conversation_id"`
	Protocol     string                       `json:"protocol"`                         // the name of the codon
	Role         machine.Role                 `json:"role"`                             // of this side
	Parent       performatives.ConversationID `json:"parent_conversation_id,omitempty"` // in whose work it was begun; empty without one
}

// Began is published with the first step of one side of a conversation.
type Began struct {
	events.At
	*Subject
}

// Kind returns KindBegan.
func (Began) Kind() events.Kind { return KindBegan }

// Ended is published when one side of a conversation that has begun is in its terminal state. A
// conversation whose actor failed ends in [standard.StateAbandoned].
type Ended struct {
	events.At
	*Subject
	State machine.State      // the terminal state
	Code  performatives.Code // why it is no good end; empty for a good one
	Began time.Time          // when it began
	Span  Span               // of this side; zero without tracing

	// Path has the states that the side has come through, in their order, the last [codons.MaxPath]
	// of them. It begins when a subscription wants the ends of sides, and is nil for a side that
	// ended without a step since. It is not to be changed: sides that have come the same way share
	// it.
	Path []machine.State
}

// Kind returns KindEnded.
func (Ended) Kind() events.Kind { return KindEnded }

// MarshalJSON writes the members of the event: "duration_seconds" since it began, and "traceparent"
// where it has a span.
func (e Ended) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		*Subject
		State    machine.State      `json:"state"`
		Code     performatives.Code `json:"code,omitempty"`
		Duration float64            `json:"duration_seconds"`
		Trace    string             `json:"traceparent,omitempty"`
		Path     []machine.State    `json:"path,omitempty"`
	}{e.Subject, e.State, e.Code, e.Time.Sub(e.Began).Seconds(), e.Span.Traceparent(), e.Path})
}

// Resent is published when one side repeats a message: the initiator because no answer has come,
// the responder because it was asked again.
type Resent struct {
	events.At
	*Subject
	Message      performatives.MessageID    `json:"message_id"`
	Performative performatives.Performative `json:"performative"`
}

// Kind returns KindResent.
func (Resent) Kind() events.Kind { return KindResent }

// JobEnded is published when the code of a job has returned, and all that it began has ended.
type JobEnded struct {
	events.At
	*Subject
	Job     string             // the name of the job in the table
	Command string             // its last command; empty for a job of the initiator that has none
	Code    performatives.Code // why it is no good end; empty for a good one
	Began   time.Time          // when it began
	Span    Span               // of the job; zero without tracing
	Label   string             // that of [codons.Handler.Label]; empty without one
	Err     error              // the error of the job, an [*actors.PanicError] after a panic; nil unless it has failed. It is not in the JSON form: see [JobFailed]
}

// Kind returns KindJobEnded.
func (JobEnded) Kind() events.Kind { return KindJobEnded }

// MarshalJSON writes the members of the event: "duration_seconds" since it began, and "traceparent"
// where it has a span.
func (e JobEnded) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		*Subject
		Job      string             `json:"job"`
		Command  string             `json:"command,omitempty"`
		Label    string             `json:"label,omitempty"`
		Code     performatives.Code `json:"code,omitempty"`
		Duration float64            `json:"duration_seconds"`
		Trace    string             `json:"traceparent,omitempty"`
	}{e.Subject, e.Job, e.Command, e.Label, e.Code, e.Time.Sub(e.Began).Seconds(), e.Span.Traceparent()})
}

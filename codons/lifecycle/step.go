package lifecycle

import (
	"encoding/json"
	"time"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// The kinds of the events of this package.
const (
	KindTransition events.Kind = "conversation.transition" // KindTransition is the kind of [Transition].
	KindViolation  events.Kind = "conversation.violation"  // KindViolation is the kind of [Violation].
	KindJobFailed  events.Kind = "job.failed"              // KindJobFailed is the kind of [JobFailed].
	KindPayload    events.Kind = "payload.changed"         // KindPayload is the kind of [PayloadChanged].
)

// Transition is published after each step of one side of a conversation.
type Transition struct {
	events.At                         // At is the time of the step.
	*Subject                          // Subject is the side.
	From      machine.State           `json:"from"`                 // From is the state before the step.
	To        machine.State           `json:"to"`                   // To is the state after it.
	On        machine.Symbol          `json:"on"`                   // On is the symbol of the event.
	Message   performatives.MessageID `json:"message_id,omitempty"` // Message is the id of the received message; empty without one.
	Ended     bool                    `json:"ended"`                // Ended says that To is terminal.
}

// Kind returns KindTransition.
func (Transition) Kind() events.Kind { return KindTransition }

// JobFailed is published when a job of an agent has returned an error, and when code of an agent or
// a caller has panicked or ended its goroutine on a goroutine of a conversation, such as a handler,
// a decision or a [group.Decider]. The initiator of a handler's conversation gets FAILURE with a
// code. An error that is a refusal by the agent itself, a [*performatives.Refusal], is not
// published: see [codons.Handler.Failed].
type JobFailed struct {
	events.At                                 // At is the time of the failure.
	Agent        performatives.AgentID        // Agent is the agent whose job failed.
	Peer         performatives.AgentID        // Peer is the agent on the other side.
	Conversation performatives.ConversationID // Conversation is the id of the conversation.
	Protocol     string                       // Protocol is the name of the codon.
	Job          string                       // Job is the name of the job in the table; empty for code that is no job.
	After        time.Duration                // After is the time since the job began; zero for code that is no job.
	Err          error                        // Err is the error of the job. It has an [*actors.PanicError] after a panic.
	Stack        []byte                       // Stack is that of the panic; nil after any other error. It must not be changed.
}

// Kind returns KindJobFailed.
func (JobFailed) Kind() events.Kind { return KindJobFailed }

// MarshalJSON writes the members of the failure: "after_seconds" in seconds, and "reason" with the
// text of the error.
func (j JobFailed) MarshalJSON() ([]byte, error) {
	text := struct {
		Agent        performatives.AgentID        `json:"agent"`
		Peer         performatives.AgentID        `json:"peer,omitempty"`
		Conversation performatives.ConversationID `json:"conversation_id"`
		Protocol     string                       `json:"protocol"`
		Job          string                       `json:"job,omitempty"`
		After        float64                      `json:"after_seconds"`
		Reason       string                       `json:"reason,omitempty"`
		Stack        string                       `json:"stack,omitempty"`
	}{j.Agent, j.Peer, j.Conversation, j.Protocol, j.Job, j.After.Seconds(), "", string(j.Stack)}
	if j.Err != nil {
		text.Reason = j.Err.Error()
	}
	return json.Marshal(text)
}

// PayloadChanged says that the payload of a sent message was changed, by code of its sender or of
// its receiver: see [codons.CheckPayloads].
type PayloadChanged struct {
	events.At
	Agent        performatives.AgentID        `json:"agent"`
	Conversation performatives.ConversationID `json:"conversation_id"`
	Message      performatives.MessageID      `json:"message_id"`
	Type         string                       `json:"type"` // the Go type of the payload
}

// Kind returns KindPayload.
func (PayloadChanged) Kind() events.Kind { return KindPayload }

// Violation is published when an agent has sent a message that the codon's table does not allow
// it. Package codons/watch publishes it. The message is delivered nevertheless, and the
// receiver's table handles it.
type Violation struct {
	events.At                                            // At is the time at which the message was sent.
	Sender, Receiver        performatives.AgentID        // Sender and Receiver are those of the message.
	Message                 *performatives.Message       // Message is the message that was sent.
	Conversation            performatives.ConversationID // Conversation is the id under which the conversation was opened.
	*machine.ViolationError                              // Table is the codon, Got the message, and Expected the messages that are legal in the state.
}

// Kind returns KindViolation.
func (Violation) Kind() events.Kind { return KindViolation }

// MarshalJSON writes the members of the violation. It writes the id, the act and the message type
// of the message.
func (v Violation) MarshalJSON() ([]byte, error) {
	expected := make([]string, len(v.Expected))
	for i, u := range v.Expected {
		expected[i] = u.String()
	}
	return json.Marshal(struct {
		Sender       performatives.AgentID        `json:"sender"`
		Receiver     performatives.AgentID        `json:"receiver"`
		Conversation performatives.ConversationID `json:"conversation_id"`
		Protocol     string                       `json:"protocol"`
		Message      performatives.MessageID      `json:"message_id"`
		Performative string                       `json:"performative"`
		MessageType  string                       `json:"message_type,omitempty"`
		Got          string                       `json:"got"`
		Expected     []string                     `json:"expected"`
	}{v.Sender, v.Receiver, v.Conversation, v.Table, v.Message.ID(), v.Message.Performative().String(), v.Message.MessageType(), v.Got.String(), expected})
}

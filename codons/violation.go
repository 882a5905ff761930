package codons

import (
	"encoding/json"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Violation is published when an agent has sent a message that the codon's table does not allow
// it. Package codons/watch publishes it. The message is delivered nevertheless, and the
// receiver's table handles it.
type Violation struct {
	actors.At                                            // At is the time at which the message was sent.
	Sender, Receiver        performatives.AgentID        // Sender and Receiver are those of the message.
	Message                 *performatives.Message       // Message is the message that was sent.
	Conversation            performatives.ConversationID // Conversation is the id under which the conversation was opened.
	*machine.ViolationError                              // Table is the codon, Got the message, and Expected the messages that are legal in the state.
}

// Kind returns KindViolation.
func (Violation) Kind() actors.Kind { return KindViolation }

// MarshalJSON writes the members of the violation. It writes the id, the act and the message type of
// the message.
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

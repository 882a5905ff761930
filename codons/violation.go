package codons

import (
	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Violation says that an agent has sent a message that it cannot have sent if it
// keeps to the codon's table. A [Watch] publishes it on the stream that it watches.
// The message went its way all the same: the receiver's own table says what became
// of it.
type Violation struct {
	actors.At               // when the message was sent
	Sender, Receiver        performatives.AgentID
	Message                 *performatives.Message
	Conversation            performatives.ConversationID // under which the conversation was opened
	*machine.ViolationError                              // Table is the protocol, Got what was said, Expected what might have been
}

package codons

import (
	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Transition says that one side of a conversation has taken a step.
type Transition struct {
	actors.At
	Agent        performatives.AgentID // whose side it is
	Peer         performatives.AgentID
	Conversation performatives.ConversationID
	Parent       performatives.ConversationID // in whose work this one was begun; empty without one
	Protocol     string
	Role         machine.Role
	From, To     machine.State
	On           machine.Symbol
	Message      performatives.MessageID // that On is about; empty when it is about none
	Ended        bool                    // To is terminal
}

// HandlerPanicked says that code of an agent or a caller panicked, or ended its
// goroutine, on a goroutine of a conversation: [Worker].PerformTask, whose asker
// gets FAILURE, or the function of [WithInput]. The agent lives on.
type HandlerPanicked struct {
	actors.At
	Agent        performatives.AgentID
	Conversation performatives.ConversationID
	Value        any // nil for runtime.Goexit
	Stack        []byte
}

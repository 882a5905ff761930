package observe

import (
	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// KindOperatorActed is the kind of [OperatorActed].
const KindOperatorActed actors.Kind = "operator.acted"

// OperatorActed says that an operator has tried to change something on the node, and has the outcome. It is published after the attempt.
type OperatorActed struct {
	actors.At
	Who     string `json:"who"`    // the name that the operator has authenticated as; empty without authentication
	Host    string `json:"host"`   // the address of the operator's client
	What    string `json:"what"`   // cancel, drain, approve or deny; decide for a decision that cannot be read; forward for a request that was passed on to another node
	Of      string `json:"of"`     // the id of the conversation, the name of the node or the number of the step; the request that was passed on
	Outcome string `json:"result"` // such as receipt, or the code of the error

	// Agent and Conversation are those of a decision: the agent that asked for it, and the conversation in which it did. Both are empty for a step that was not open.
	Agent        performatives.AgentID        `json:"agent,omitempty"`
	Conversation performatives.ConversationID `json:"conversation_id,omitempty"`
}

// Kind returns KindOperatorActed.
func (OperatorActed) Kind() actors.Kind { return KindOperatorActed }

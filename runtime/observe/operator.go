package observe

import (
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/performatives"
)

// KindOperatorActed is the kind of [OperatorActed].
const KindOperatorActed events.Kind = "operator.acted"

// OperatorActed says that an operator has tried to change something on the node, and has the
// outcome. It is published after the attempt.
type OperatorActed struct {
	events.At
	Who     string `json:"who"`              // the name that the operator has authenticated as; empty without authentication
	Host    string `json:"host"`             // the address of the operator's client
	What    string `json:"what"`             // cancel, drain, approve or deny; decide for a decision that cannot be read; forward for a request that was passed on to another node
	Of      string `json:"of"`               // the id of the conversation, the name of the node or the number of the step; the request that was passed on
	Reason  string `json:"reason,omitempty"` // as the operator has given it; empty for none
	Outcome string `json:"result"`           // such as receipt, or the code of the error

	// Agent and Conversation are those of a decision: the agent that asked for it, and the
	// conversation in which it did. Both are empty for a step that was not open. A cancel has its
	// conversation.
	Agent        performatives.AgentID        `json:"agent,omitempty"`
	Conversation performatives.ConversationID `json:"conversation_id,omitempty"`
}

// Kind returns KindOperatorActed.
func (OperatorActed) Kind() events.Kind { return KindOperatorActed }

// KindOperatorRefused is the kind of [OperatorRefused].
const KindOperatorRefused events.Kind = "operator.refused"

// OperatorRefused says that requests of a client of the operator's interface were refused: their
// credentials are wrong, or they have not the right. One event may be about several requests of the
// same address. The members other than Count are those of the last one.
type OperatorRefused struct {
	events.At
	Who   string `json:"who,omitempty"` // the name that the client has authenticated as; empty without
	Host  string `json:"host"`
	Right string `json:"right"` // read or act
	Of    string `json:"of"`    // the method and the path
	Code  string `json:"code"`  // unauthorized or forbidden
	Count int    `json:"count"` // the requests that the event is about
}

// Kind returns KindOperatorRefused.
func (OperatorRefused) Kind() events.Kind { return KindOperatorRefused }

// Act is what an operator has done to a conversation: a cancel, or a decision about a step.
type Act struct {
	Node   string    `json:"node"` // that acted
	Time   time.Time `json:"time"`
	Who    string    `json:"who,omitempty"` // the name of the operator; empty without authentication
	Host   string    `json:"host"`
	What   string    `json:"what"`             // cancel, approve or deny
	Reason string    `json:"reason,omitempty"` // masked; empty for none
	Result string    `json:"result"`
}

// maxActs is how many acts a recorder keeps: the last ones.
const maxActs = 1000

// operatorActedLocked keeps an act.
func (r *Recorder) operatorActedLocked(_ uint64, ev *OperatorActed) {
	if ev.Conversation == "" {
		return
	}
	r.acts.add(keptAct{ev.Conversation, Act{r.name, ev.Time, ev.Who, ev.Host, ev.What, r.mask.Text(ev.Reason), ev.Outcome}}, maxActs)
}

// keptAct is an act with its conversation.
type keptAct struct {
	of performatives.ConversationID
	Act
}

// actsLocked returns the acts on a conversation, the oldest first.
func (r *Recorder) actsLocked(id performatives.ConversationID) (all []Act) {
	for _, a := range slices.Backward(r.acts.latest()) {
		if a.of == id {
			all = append(all, a.Act)
		}
	}
	return all
}

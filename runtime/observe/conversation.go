package observe

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Conversation is the record of one conversation on this node.
type Conversation struct {
	ID        performatives.ConversationID `json:"conversation_id"`
	Parent    performatives.ConversationID `json:"parent_conversation_id,omitempty"` // empty without one
	Protocol  string                       `json:"protocol,omitempty"`               // the codon; empty for messages without one
	Began     time.Time                    `json:"began"`                            // the time of its first event
	Updated   time.Time                    `json:"updated"`                          // the time of its last event
	From      performatives.AgentID        `json:"from,omitempty"`                   // the sender of the first message that is kept; empty without one
	To        performatives.AgentID        `json:"to,omitempty"`                     // its receiver; empty for a broadcast
	Live      bool                         `json:"live"`                             // a side of it is under way
	Relayed   bool                         `json:"relayed,omitempty"`                // package api sets it: the node only passes its messages on, so that its end is not known
	Lost      string                       `json:"lost,omitempty"`                   // of a relayed one: why its responder is lost, as the asker was told; empty otherwise
	Sides     []Side                       `json:"sides"`                            // those on this node, in their order: see Order
	Messages  []Message                    `json:"messages,omitempty"`               // the last ones, the oldest first; nil in a list
	Count     int                          `json:"message_count"`                    // how many messages were recorded
	Forgotten int                          `json:"messages_forgotten,omitempty"`     // how many of them Messages has no more
	Acts      []Act                        `json:"acts,omitempty"`                   // of operators, the oldest first; nil in a list
}

// Side is one agent's side of a conversation.
type Side struct {
	Node     string                `json:"node,omitempty"` // where it is
	Agent    performatives.AgentID `json:"agent"`
	Peer     performatives.AgentID `json:"peer,omitempty"`
	Role     string                `json:"role"`
	State    string                `json:"state"`
	Ended    bool                  `json:"ended"`
	Began    time.Time             `json:"began"`             // by the clock of its node
	Since    time.Time             `json:"since"`             // when it came to the state
	Path     []string              `json:"path,omitempty"`    // the states that it has come through, in their order, the current one last: MaxPath at most; nil in a list
	Deadline time.Time             `json:"deadline,omitzero"` // of a live side; zero without one
	Budget   codons.Budget         `json:"budget,omitempty"`  // of a live side; nil without a limit

	// Left is the unused part of Budget, without the parts lent to conversations under way; nil on
	// the initiator's side.
	Left codons.Budget `json:"budget_left,omitempty"`
}

// Order puts the sides into the order in which they began, by the clocks of their nodes. Of those
// that began at once, the initiator's is first. Sides of several nodes may be together: their order
// is the same whichever node they were added from first. Order removes the readings of the
// monotonic clock from the times at which they began, since a time from another node has none.
func (c *Conversation) Order() {
	for i := range c.Sides {
		c.Sides[i].Began = c.Sides[i].Began.Round(0)
	}
	slices.SortStableFunc(c.Sides, func(a, b Side) int {
		return cmp.Or(a.Began.Compare(b.Began), cmp.Compare(a.Role, b.Role), cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Peer, b.Peer),
			a.Since.Compare(b.Since), cmp.Compare(a.State, b.State))
	})
}

// MaxPath is how many states [Side].Path has at most: the last ones.
const MaxPath = codons.MaxPath

// namesOf returns the names of states; nil for none.
func namesOf(path []machine.State) []string {
	var names []string
	for _, state := range path {
		names = append(names, string(state))
	}
	return names
}

// Message is a message of a conversation. A message that is sent again, or that is seen both when
// it is sent and when it is received, is one Message.
type Message struct {
	ID           performatives.MessageID `json:"id"`
	Time         time.Time               `json:"time"` // when the node first saw it
	Performative string                  `json:"performative"`
	MessageType  string                  `json:"message_type,omitempty"` // empty for none
	Sender       performatives.AgentID   `json:"sender"`
	Receiver     performatives.AgentID   `json:"receiver,omitempty"` // empty for a broadcast
	InReplyTo    string                  `json:"in_reply_to,omitempty"`
	Priority     string                  `json:"priority"`
	Sent         int                     `json:"sent"`                       // how often an agent of this node has sent it
	Received     int                     `json:"received"`                   // how often agents of this node have taken it from their mailboxes
	Refused      performatives.Code      `json:"refused,omitempty"`          // the code of its last refusal or dead letter
	Payload      json.RawMessage         `json:"payload,omitempty"`          // masked; nil when it is left out
	LeftOut      string                  `json:"payload_left_out,omitempty"` // why there is no payload
}

// Add adds what another node has recorded of the message.
func (m *Message) Add(other Message) {
	m.Received, m.Refused = m.Received+other.Received, cmp.Or(m.Refused, other.Refused)
	m.Sent = max(m.Sent, other.Sent) // the node of the receiver counts copies that have come to it
	if other.Time.Before(m.Time) {
		m.Time = other.Time
	}
	if m.Payload == nil {
		m.Payload, m.LeftOut = other.Payload, other.LeftOut
	}
}

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

// Mark is a point in the record of a node. The zero Mark is before everything.
type Mark struct {
	Run int64  `json:"r"` // of the recorder: a mark of another run is before everything
	Seq uint64 `json:"s"` // how many changes were recorded
}

// sinceLocked returns the number of the last change before a mark.
func (r *Recorder) sinceLocked(m Mark) uint64 {
	if m.Run != r.mark.Run {
		return 0
	}
	return m.Seq
}

// Conversations returns the conversations under way on the node, recorded or not, and the recorded
// ended ones. The latest begun is first. They have no messages. The caller owns the result.
func (r *Recorder) Conversations() []Conversation {
	all, _ := r.ConversationsSince(Mark{})
	return all
}

// ConversationsSince is [Recorder.Conversations] without those that are recorded and have no
// message and no end after the mark. The second result is the mark of what follows.
func (r *Recorder) ConversationsSince(m Mark) ([]Conversation, Mark) {
	all := map[performatives.ConversationID]*Conversation{}
	asked := time.Now()
	live := r.node.all() // before the events are taken: a side that ends meanwhile is live, recorded, or both
	mu := r.lock()
	since, mark := r.sinceLocked(m), r.mark
	for e := r.recent.newest; e != nil; e = e.older {
		if e.began.After(asked) {
			mark.Seq = min(mark.Seq, e.changed-1)
			continue // its sides were perhaps not listed yet
		}
		if e.changed <= since {
			all[e.id] = nil
			continue
		}
		c := r.viewLocked(e, false)
		all[c.ID] = &c
	}
	mu.Unlock()
	for _, i := range live {
		i.Path = nil
		c, recorded := all[i.ID]
		switch {
		case recorded && c == nil:
			continue
		case !recorded:
			c = &Conversation{ID: i.ID}
			all[i.ID] = c
		}
		c.update(i)
	}
	sorted := make([]Conversation, 0, len(all))
	for _, c := range all {
		if c != nil {
			r.locate(c)
			sorted = append(sorted, *c)
		}
	}
	slices.SortFunc(sorted, func(a, b Conversation) int { return cmp.Or(b.Began.Compare(a.Began), cmp.Compare(a.ID, b.ID)) })
	return sorted, mark
}

// Conversation returns the conversation with an id, with its messages. It is false when none is
// under way or recorded. The caller owns the result.
func (r *Recorder) Conversation(id performatives.ConversationID) (Conversation, bool) {
	c, _, found := r.ConversationSince(id, Mark{})
	return c, found
}

// ConversationSince is [Recorder.Conversation] with those messages only that have changed after the
// mark. The second result is the mark of what follows.
func (r *Recorder) ConversationSince(id performatives.ConversationID, m Mark) (Conversation, Mark, bool) {
	c := Conversation{ID: id}
	live := r.node.with(id) // as in Conversations
	mu := r.lock()
	e := r.recent.by[id]
	since, mark := r.sinceLocked(m), r.mark
	var messages []kept
	if e != nil {
		c = r.viewLocked(e, true)
		messages = slices.DeleteFunc(slices.Clone(e.messages), func(k kept) bool { return k.changed <= since })
	}
	c.Acts = r.actsLocked(id)
	mu.Unlock()
	for i := range messages {
		c.Messages = append(c.Messages, r.message(&messages[i]))
	}
	found := e != nil
	if e != nil && len(c.Sides) == 0 && len(live) == 0 {
		live = r.node.with(id) // it began after the first list was made
	}
	for _, i := range live {
		c.update(i)
		found = true
	}
	r.locate(&c)
	return c, mark, found
}

// Children returns the ids of the conversations, under way on the node or recorded, that were begun
// in the work of a conversation, sorted. The caller owns the result.
func (r *Recorder) Children(of performatives.ConversationID) []performatives.ConversationID {
	ids := r.node.children(of) // before the events are taken, as in Conversations
	mu := r.lock()
	for e := r.recent.newest; e != nil; e = e.older {
		if e.learnParentLocked() == of {
			ids = append(ids, e.id)
		}
	}
	mu.Unlock()
	slices.Sort(ids)
	return slices.Compact(ids)
}

// locate enters the node of each side, and puts the sides into their order.
func (r *Recorder) locate(c *Conversation) {
	for i := range c.Sides {
		c.Sides[i].Node = r.name
	}
	c.Order()
}

// viewLocked returns a copy without the messages, and with the paths of the sides if they are
// wanted.
func (r *Recorder) viewLocked(e *entry, paths bool) Conversation {
	c := Conversation{
		ID: e.id, Parent: e.learnParentLocked(), Protocol: e.protocol, Began: e.began, Updated: e.updated, Sides: make([]Side, 0, len(e.ends)),
		Count: e.forgotten + len(e.messages), Forgotten: e.forgotten, Lost: e.lossLocked(r.mask),
	}
	for i := range e.ends {
		c.Sides = append(c.Sides, e.ends[i].view(paths))
	}
	if len(e.messages) > 0 {
		first := e.messages[0].view()
		c.From, c.To = first.Sender, first.Receiver
	}
	return c
}

// update enters a side that the node listed as under way, unless it has ended since.
func (c *Conversation) update(i codons.Info) {
	s := sideOf(&c.Sides, i.Agent, i.Peer, i.Role.String())
	if s.Ended && !s.Began.Before(i.Began) { // a later side with the same id began later
		return
	}
	c.Live, c.Protocol = true, i.Protocol
	if i.Parent != "" {
		c.Parent = i.Parent
	}
	if c.Began.IsZero() || i.Began.Before(c.Began) {
		c.Began = i.Began
	}
	if i.Since.After(c.Updated) {
		c.Updated = i.Since
	}
	s.Path = namesOf(i.Path)
	s.State, s.Since, s.Ended, s.Deadline, s.Budget, s.Left, s.Began = string(i.State), i.Since, false, i.Deadline, i.Budget, i.Left, i.Began
}

// sideOf returns the side of an agent, which it adds if there is none.
func sideOf(sides *[]Side, agent, peer performatives.AgentID, role string) *Side {
	for i := range *sides {
		if s := &(*sides)[i]; s.Agent == agent && s.Peer == peer && s.Role == role {
			return s
		}
	}
	*sides = append(*sides, Side{Agent: agent, Peer: peer, Role: role})
	return &(*sides)[len(*sides)-1]
}

// Messages returns the messages of a conversation that are kept, the oldest first; nil when it is
// not recorded. The caller owns the result.
func (r *Recorder) Messages(id performatives.ConversationID) (all []Message) {
	mu := r.lock()
	var messages []kept
	if e := r.recent.by[id]; e != nil {
		messages = slices.Clone(e.messages)
	}
	mu.Unlock()
	for i := range messages {
		all = append(all, r.message(&messages[i]))
	}
	return all
}

package observe

import (
	"cmp"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
)

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

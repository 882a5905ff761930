package observe

import (
	"cmp"
	"slices"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Conversations returns the conversations that are under way on the node, recorded or not, and the ended ones that are recorded, the
// latest begun first, without their messages. The caller owns the result.
func (r *Recorder) Conversations() []Conversation {
	all := map[performatives.ConversationID]*Conversation{}
	r.mu.Lock()
	for at := r.recent.Front(); at != nil; at = at.Next() {
		c := at.Value.(*entry).view()
		c.Messages = nil
		all[c.ID] = &c
	}
	r.mu.Unlock()
	for _, i := range r.live() {
		if all[i.ID] == nil {
			all[i.ID] = &Conversation{ID: i.ID}
		}
		all[i.ID].update(i)
	}
	sorted := make([]Conversation, 0, len(all))
	for _, c := range all {
		sorted = append(sorted, *c)
	}
	slices.SortFunc(sorted, func(a, b Conversation) int { return cmp.Or(b.Began.Compare(a.Began), cmp.Compare(a.ID, b.ID)) })
	return sorted
}

// Conversation returns the conversation with an id, with its messages. It is false when none is under way or recorded. The caller owns
// the result, but not the payloads.
func (r *Recorder) Conversation(id performatives.ConversationID) (Conversation, bool) {
	c := Conversation{ID: id}
	r.mu.Lock()
	at := r.byID[id]
	if at != nil {
		c = at.Value.(*entry).view()
		c.Messages = slices.Clone(c.Messages)
	}
	r.mu.Unlock()
	found := at != nil
	for _, i := range r.live() {
		if i.ID == id {
			c.update(i)
			found = true
		}
	}
	return c, found
}

// view returns a copy that shares only the messages with e.
func (e *entry) view() Conversation {
	c := e.Conversation
	c.Sides = slices.Clone(c.Sides)
	return c
}

// update enters a side that is under way.
func (c *Conversation) update(i codons.Info) {
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
	s := c.side(i.Agent, i.Peer, i.Role.String())
	s.State, s.Since, s.Ended, s.Deadline, s.Budget = string(i.State), i.Since, false, i.Deadline, i.Budget
}

// side returns the side of an agent, which it adds if there is none.
func (c *Conversation) side(agent, peer performatives.AgentID, role string) *Side {
	for i := range c.Sides {
		if s := &c.Sides[i]; s.Agent == agent && s.Peer == peer && s.Role == role {
			return s
		}
	}
	c.Sides = append(c.Sides, Side{Agent: agent, Peer: peer, Role: role})
	return &c.Sides[len(c.Sides)-1]
}

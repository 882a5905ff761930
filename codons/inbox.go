package codons

import (
	"sync"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// inbox is where the deliveries of one recruiting arrive whose initiator is the
// designated receiver itself.
type inbox struct {
	self actors.Self
	id   performatives.ConversationID

	mu     sync.Mutex
	closed *performatives.Refusal // why nothing more is taken
	got    []Delivery
}

// inboxes has those that are open, by inboxKey. The table of a conversation cannot
// hold them: a delivery comes from an agent that has no part in that one.
var inboxes sync.Map

type inboxKey struct {
	self actors.Self
	id   performatives.ConversationID
}

func openInbox(self actors.Self, id performatives.ConversationID) *inbox {
	in := &inbox{self: self, id: id}
	inboxes.LoadOrStore(inboxKey{self, id}, in) // one of that name is under way: this one will not begin
	return in
}

// inboxOf returns the inbox that an agent has for a recruiting, or nil.
func inboxOf(self actors.Self, id performatives.ConversationID) *inbox {
	in, _ := inboxes.Load(inboxKey{self, id})
	i, _ := in.(*inbox)
	return i
}

// take takes a delivery, once however often it comes.
func (i *inbox) take(d Delivery) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, before := range i.got {
		if before.Message.ID() == d.Message.ID() {
			return nil
		}
	}
	if i.closed != nil {
		return i.closed
	}
	i.got = append(i.got, d)
	return nil
}

// shut takes nothing more, for that reason. Only the first counts.
func (i *inbox) shut(code performatives.Code) {
	if i == nil {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed == nil {
		i.closed = &performatives.Refusal{Code: code}
	}
}

// remove shuts the inbox for good and returns what is in it.
func (i *inbox) remove() []Delivery {
	if i == nil {
		return nil
	}
	i.shut(performatives.CodeConversationEnded)
	inboxes.CompareAndDelete(inboxKey{i.self, i.id}, i)
	return i.got
}

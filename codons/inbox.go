package codons

import (
	"sync"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// inbox is where the deliveries of one recruiting arrive whose initiator is the
// designated receiver itself.
type inbox struct {
	of        *inboxes
	ticket    string                // who shows it was given the task
	recruiter performatives.AgentID // who delivers also for others

	mu     sync.Mutex
	closed *performatives.Refusal // why nothing more is taken
	got    []Delivery             // one of each recruit
}

// inboxes are those of one agent that are open, by their tickets. They are not in the
// recruitings themselves, because a delivery comes from an agent that has no part in
// those.
type inboxes struct {
	mu   sync.Mutex
	open map[string]*inbox
}

type inboxesKey struct{}

func inboxesOf(self actors.Self) *inboxes {
	all, _ := self.Local(inboxesKey{}, func() any { return &inboxes{open: make(map[string]*inbox)} }).(*inboxes)
	return all
}

func openInbox(self actors.Self, ticket string, recruiter performatives.AgentID) *inbox {
	all := inboxesOf(self)
	in := &inbox{of: all, ticket: ticket, recruiter: recruiter}
	all.mu.Lock()
	defer all.mu.Unlock()
	all.open[ticket] = in
	return in
}

// find returns the inbox with that ticket, or nil.
func (a *inboxes) find(ticket string) *inbox {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.open[ticket]
}

// take takes a delivery, once however often it comes, and one of each recruit: nobody
// but the recruiter brings what another has done.
func (i *inbox) take(d Delivery) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, before := range i.got {
		switch {
		case before.Message.ID() == d.Message.ID():
			return nil
		case before.Recruit.Is(d.Recruit):
			return &performatives.Refusal{Code: performatives.CodeUnexpectedAct, Text: string(d.Recruit) + " has delivered already"}
		}
	}
	if i.closed != nil {
		return i.closed
	}
	if by := d.Message.Sender(); !by.Is(d.Recruit) && !by.Is(i.recruiter) {
		return &performatives.Refusal{Code: performatives.CodeForbidden, Text: "only the recruiter delivers in another's place"}
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
	i.of.mu.Lock()
	defer i.of.mu.Unlock()
	delete(i.of.open, i.ticket)
	return i.got
}

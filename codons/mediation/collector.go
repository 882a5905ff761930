package mediation

import (
	"cmp"
	"sync"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// collector collects the deliveries of one recruiting whose initiator is the designated
// receiver itself. All its methods may be called from any goroutine. remove and close accept
// nil.
type collector struct {
	of        *collectors
	ticket    string                // a delivery has to show it
	recruiter performatives.AgentID // may deliver on behalf of others

	mu     sync.Mutex
	closed *performatives.Refusal // the answer to further deliveries; nil while open
	got    []Delivery             // at most one of each recruit
}

// collectors holds the open collectors of one agent by their tickets. A delivery finds its
// collector here, because it comes from an agent that has no conversation with the
// recruiting's initiator.
type collectors struct {
	mu   sync.Mutex
	open map[string]*collector
}

type collectorsKey struct{}

// collectorsOf returns the collectors of an agent.
func collectorsOf(self actors.Self) *collectors {
	all, _ := self.Local(collectorsKey{}, func() any { return &collectors{open: make(map[string]*collector)} }).(*collectors)
	return all
}

// newCollector returns an open collector.
func newCollector(self actors.Self, ticket string, recruiter performatives.AgentID) *collector {
	all := collectorsOf(self)
	c := &collector{of: all, ticket: ticket, recruiter: recruiter}
	all.mu.Lock()
	defer all.mu.Unlock()
	all.open[ticket] = c
	return c
}

// find returns the collector with that ticket, or nil.
func (a *collectors) find(ticket string) *collector {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.open[ticket]
}

// add adds a delivery. Each recruit may deliver once, and only the recruiter may deliver on behalf
// of another agent.
func (c *collector) add(d Delivery) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, before := range c.got {
		if before.Recruit.Is(d.Recruit) {
			return &performatives.Refusal{Code: performatives.CodeUnexpectedAct, Text: string(d.Recruit) + " has already delivered"}
		}
	}
	if c.closed != nil {
		return c.closed
	}
	if by := d.Message.Sender(); !by.Is(d.Recruit) && !by.Is(c.recruiter) {
		return &performatives.Refusal{Code: performatives.CodeForbidden, Text: "only the recruiter delivers on behalf of another agent"}
	}
	c.got = append(c.got, d)
	return nil
}

// close makes the collector refuse further deliveries with that code. Only the first call
// has an effect.
func (c *collector) close(code performatives.Code) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = cmp.Or(c.closed, &performatives.Refusal{Code: code})
}

// remove closes the collector, forgets its ticket and returns its deliveries.
func (c *collector) remove() []Delivery {
	if c == nil {
		return nil
	}
	c.close(performatives.CodeConversationEnded)
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	delete(c.of.open, c.ticket)
	return c.got
}

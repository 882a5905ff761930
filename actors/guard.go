package actors

import "github.com/ribosome-agents/ribosome/performatives"

// GuardProtocol is a [Protocol] that decides whether a message may open a conversation with an
// agent or reach its Receive. It decides for all codons, not only its own.
type GuardProtocol interface {
	Protocol
	// Guard returns the guard of one agent, or nil when it needs none. It is called on
	// the agent's actor, before the first message that a guard decides about, and again
	// after a restart.
	Guard(self Self, agent Agent) Guard
}

// Guard returns the refusal of m, or nil when the agent may handle m. It decides about
// messages that belong to no conversation of the agent, open or ended, before they open
// one or reach [Receiver].Receive. It is not called for a reply that opens nothing: the
// agent has asked for it. A guard runs on the agent's actor and must not block. A message
// that it refuses goes back to its sender with the code and text of the refusal, or is
// dead-lettered when it expects no reply.
type Guard func(m *performatives.Message) *performatives.Refusal

// UnguardedProtocol is a [Protocol] whose opening messages no guard sees: its responder decides
// itself about them.
type UnguardedProtocol interface {
	Protocol
	// Unguarded reports whether that is so. It never changes.
	Unguarded() bool
}

// checkGuards returns the first refusal of the agent's guards for m, or nil. p is the
// index of the protocol that m opens, or negative.
func (c *cell) checkGuards(m *performatives.Message, p int) *performatives.Refusal {
	if len(c.sys.guarding) == 0 || p >= 0 && unguarded(c.sys.opts.Protocols[p]) {
		return nil
	}
	if c.guards == nil {
		var bound []Guard
		for _, g := range c.sys.guarding {
			if guard := g.Guard(Self{c}, c.agent); guard != nil {
				bound = append(bound, guard)
			}
		}
		c.guards = &bound
	}
	if p < 0 && m.InReplyTo() != "" && !m.Performative().ExpectsReply() {
		return nil
	}
	for _, guard := range *c.guards {
		if r := guard(m); r != nil {
			return r
		}
	}
	return nil
}

func unguarded(p Protocol) bool {
	u, ok := p.(UnguardedProtocol)
	return ok && u.Unguarded()
}

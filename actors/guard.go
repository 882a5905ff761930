package actors

import "github.com/ribosome-agents/ribosome/performatives"

// Guarding is a [Protocol] that has a say in what may begin with an agent, whichever
// codon that is of.
type Guarding interface {
	Protocol
	// Guard returns the guard of one agent, or nil when it needs none. It is called on
	// the agent's actor, before the first message that may begin something, and again
	// after a restart.
	Guard(self Self, agent Agent) Guard
}

// Guard says why m may not begin anything with its agent, or nil when it may. It is
// asked about messages that belong to no conversation of the agent's, past or under
// way, before they open one or reach [Receiver].Receive, but not about those that
// answer something and open nothing: the agent has asked for them. It runs on the
// agent's actor and must not block. What it turns away is refused to its sender with
// the code and text, or dead-lettered when it expects no reply.
type Guard func(m *performatives.Message) *performatives.Refusal

// forbidden asks the agent's guards about m, which perhaps opens a conversation.
func (c *cell) forbidden(m *performatives.Message, opens bool) *performatives.Refusal {
	if len(c.sys.guarding) == 0 {
		return nil
	}
	if !c.guarding {
		c.guarding = true
		for _, g := range c.sys.guarding {
			if guard := g.Guard(Self{c}, c.agent); guard != nil {
				c.guards = append(c.guards, guard)
			}
		}
	}
	if !opens && m.InReplyTo() != "" && !m.Performative().ExpectsReply() {
		return nil
	}
	for _, guard := range c.guards {
		if r := guard(m); r != nil {
			return r
		}
	}
	return nil
}

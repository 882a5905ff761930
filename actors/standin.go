package actors

import "github.com/ribosome-agents/ribosome/performatives"

// StandIn is a [Receiver] that stands for an agent elsewhere. The codons that every
// agent answers, whatever its type, are then for that agent too.
type StandIn interface {
	Receiver
	// Answers reports whether m, which begins a conversation of the protocol with that
	// name, is answered here; else Receive gets it. It is called on the agent's actor.
	Answers(protocol string, m *performatives.Message) bool
}

// answers reports whether the agent itself takes part in conversations of protocol p,
// of which m begins one.
func (c *cell) answers(p int, m *performatives.Message) bool {
	s, ok := c.agent.(StandIn)
	return !ok || s.Answers(c.sys.opts.Protocols[p].Name(), m)
}

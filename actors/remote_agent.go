package actors

import "github.com/ribosome-agents/ribosome/performatives"

// RemoteAgent is a [Receiver] that represents an agent of another process. Some codons are
// answered for every agent, regardless of its type. For a RemoteAgent, Answers decides
// whether this system or the remote agent answers them.
type RemoteAgent interface {
	Receiver
	// Answers reports whether this system answers m, which opens a conversation of the
	// named protocol. When false, Receive gets m. It is called on the agent's actor.
	Answers(protocol string, m *performatives.Message) bool
}

// answersLocally reports whether this system answers m, which opens a conversation of
// protocol p, and not a remote agent.
func (c *cell) answersLocally(p int, m *performatives.Message) bool {
	s, ok := c.agent.(RemoteAgent)
	return !ok || s.Answers(c.sys.opts.Protocols[p].Name(), m)
}

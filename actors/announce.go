package actors

import "github.com/ribosome-agents/ribosome/performatives"

// Announce replaces the agent's capabilities and makes the agent visible to discovery,
// even if [Spec].Hidden is set. Proxies of remote agents use it, because they learn the
// capabilities of the remote agent at run time. Capabilities without any topic or action
// hide an agent with Spec.Hidden again. The change is atomic and survives restarts. The
// caller must not modify the slices and maps of capabilities afterwards.
func (s Self) Announce(capabilities performatives.Capabilities) {
	s.c.sys.capabilities.update(s.c, &capabilities)
	s.c.sys.opts.OnChange(s.ID())
	if Wants[AgentAnnounced](&s.c.sys.Events) {
		s.c.sys.Events.Publish(AgentAnnounced{s.c.sys.at(), s.ID(), capabilities})
	}
}

// Visible reports whether discovery includes the agent.
func (s Self) Visible() bool { return !s.c.hidden() }

// hidden reports whether discovery excludes the agent.
func (c *cell) hidden() bool {
	if !c.spec.Hidden {
		return false
	}
	says := c.announced.Load()
	return says == nil || len(says.Topics)+len(says.Actions) == 0
}

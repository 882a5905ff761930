package actors

import "github.com/ribosome-agents/ribosome/performatives"

// Announce replaces what the agent says it can do, and lets discovery find it from
// now on, also if it was hidden: a proxy learns only while it runs what the agent that
// it stands for can do. What was hidden is so again when it announces nothing: no topic
// and no action. The change is atomic, and outlives restarts. What capabilities
// refers to must not be changed afterwards.
func (s Self) Announce(capabilities performatives.Capabilities) {
	s.c.sys.skills.change(s.c, &capabilities)
	if Wants[AgentAnnounced](&s.c.sys.Events) {
		s.c.sys.Events.Publish(AgentAnnounced{s.c.sys.at(), s.ID(), capabilities})
	}
}

// Visible reports whether discovery finds the agent.
func (s Self) Visible() bool { return !s.c.hidden() }

// hidden reports whether discovery does not find the agent.
func (c *cell) hidden() bool {
	if !c.spec.Hidden {
		return false
	}
	says := c.announced.Load()
	return says == nil || len(says.Topics)+len(says.Actions) == 0
}

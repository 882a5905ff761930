package wire

import (
	"strings"

	"github.com/ribosome-agents/ribosome/performatives"
)

// MaySpeakAs reports whether the identity covers messages with the sender agent.
func (i Identity) MaySpeakAs(agent performatives.AgentID) bool {
	if i.Name == "" && len(i.Agents) == 0 {
		return true
	}
	if i.Name != "" && covers(i.Name, agent) {
		return true
	}
	for _, a := range i.Agents {
		if a == "*" || covers(a, agent) {
			return true
		}
	}
	return false
}

// account returns the agent id that messages of agent are counted under. It is the covering
// name of the identity, because a peer can use any number of ids below that name.
func (i Identity) account(agent performatives.AgentID) performatives.AgentID {
	if i.Name != "" && covers(i.Name, agent) {
		return i.Name
	}
	for _, a := range i.Agents {
		if a != "*" && covers(a, agent) {
			return a
		}
	}
	return agent
}

// principal returns the [performatives.Message.Principal] of a message of agent.
func (i Identity) principal(agent performatives.AgentID) string {
	switch {
	case i.Name != "":
		return string(i.Name)
	case len(i.Agents) > 0:
		return string(i.account(agent))
	}
	return ""
}

// speaks returns a message whose sender is a label that the identity does not cover as a message of
// the identity's own name. Without one it returns the message.
func (i Identity) speaks(m *performatives.Message) *performatives.Message {
	if i.MaySpeakAs(m.Sender()) {
		return m
	}
	name := i.Name
	if name == "" {
		name = i.Agents[0]
	}
	named, err := m.With(func(e *performatives.Envelope) { e.Sender = name })
	if err != nil {
		return m // the name is not valid for an agent
	}
	return named
}

// covers reports whether agent equals name or is below it.
func covers(name, agent performatives.AgentID) bool {
	n, a := string(name.Fold()), string(agent.Fold())
	return a == n || len(a) > len(n) && a[len(n)] == '/' && strings.HasPrefix(a, n)
}

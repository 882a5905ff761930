package wire

import (
	"strings"

	"github.com/ribosome-agents/ribosome/performatives"
)

// MaySpeakAs reports whether a peer of that identity may send in the name of agent.
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

// account returns whom a message of agent counts for: not a name below those of the
// identity, since a peer can make up as many of them as it likes.
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

// covers reports whether agent is name, or below it.
func covers(name, agent performatives.AgentID) bool {
	n, a := string(name.Fold()), string(agent.Fold())
	return a == n || len(a) > len(n) && a[len(n)] == '/' && strings.HasPrefix(a, n)
}

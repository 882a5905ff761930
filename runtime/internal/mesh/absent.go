package mesh

import (
	"fmt"
	"sync"

	"github.com/ribosome-agents/ribosome/performatives"
)

// maxAbsent is the largest number of agents whose lost nodes are remembered.
const maxAbsent = 4096

// absentAgents remembers the nodes of the agents that were lost with them, until an agent of the id
// is known again.
type absentAgents struct {
	mu sync.Mutex
	by map[performatives.AgentID]string // the name of the node, by folded id
}

func (a *absentAgents) add(node string, ids ...performatives.AgentID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, id := range ids {
		putWithin(maxAbsent, &a.by, id.Fold(), node)
	}
}

func (a *absentAgents) forget(id performatives.AgentID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.by, id.Fold())
}

// unreachable returns the text for the sender of a message to an agent that was lost because its
// node cannot be reached, and still cannot. It is empty for any other agent, which has stopped, or
// never was.
func (c *clustered) unreachable(id performatives.AgentID) string {
	c.absent.mu.Lock()
	node, known := c.absent.by[id.Fold()]
	c.absent.mu.Unlock()
	if !known {
		return ""
	}
	for _, l := range *c.current.Load() {
		if l.peer.Name == node && l.met.Load() {
			return ""
		}
	}
	return fmt.Sprintf("the node %s of the agent cannot be reached", node)
}

package mesh

import (
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

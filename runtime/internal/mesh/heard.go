package mesh

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ribosome-agents/ribosome/performatives"
)

// maxHeard is the largest number of agents that a node knows by links, all together. maxLost is
// that of agents which it remembers of one lost node.
const (
	maxHeard = 65_536
	maxLost  = 4096
)

// heard has the links over which agents have sent that are not in the directory, or are in it with
// another node: one that has just begun or moved, a client of a session, or an agent beyond another
// node's uplink. Replies go there. The directory corrects it. A placed agent that is not in the
// directory, and to which this node has sent, is lost with that link, too. A link that has ended is
// that of an agent which was lost with its node, until it is known again.
type heard struct {
	n  atomic.Int64 // how many there are in by
	mu sync.RWMutex
	by map[performatives.AgentID]heardOver // by folded id
}

// heardOver is the link over which an agent was heard.
type heardOver struct {
	link  *nodeLink
	heard bool // false: the first message for the agent was sent over the link, and nothing was heard of it
}

// note remembers the link of an agent. One that was heard is not noted as sent to. When there would
// be more than maxHeard, any other is forgotten.
func (h *heard) note(id performatives.AgentID, over heardOver) {
	key := id.Fold()
	h.mu.Lock()
	defer h.mu.Unlock()
	before, known := h.by[key]
	if before == over || !over.heard && before.heard && !before.link.Ended() {
		return
	}
	for other := range h.by {
		if known || len(h.by) < maxHeard {
			break
		}
		delete(h.by, other)
	}
	h.by[key.Clone()] = over
	h.n.Store(int64(len(h.by)))
}

// dropLocked removes an agent of a folded id.
func (h *heard) dropLocked(id performatives.AgentID) {
	delete(h.by, id)
	h.n.Store(int64(len(h.by)))
}

// unsent removes an agent that was not heard: the message for it has not left.
func (h *heard) unsent(id performatives.AgentID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if key := id.Fold(); !h.by[key].heard {
		h.dropLocked(key)
	}
}

// end removes the agents that were known in one way by a link which has ended, and returns their
// folded ids, sorted.
func (h *heard) end(over heardOver) (ids []performatives.AgentID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, is := range h.by {
		if is == over {
			ids = append(ids, id)
			h.dropLocked(id)
		}
	}
	slices.Sort(ids)
	return ids
}

// overOf returns how an agent is known by a link; the zero value if it is not.
func (h *heard) overOf(id performatives.AgentID) heardOver {
	if h.n.Load() == 0 {
		return heardOver{}
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.by[id.Fold()]
}

// from returns the link over which an agent was heard, or nil if there is none, or it has ended.
func (h *heard) from(id performatives.AgentID) *nodeLink {
	if over := h.overOf(id); over.heard && !over.link.Ended() {
		return over.link
	}
	return nil
}

// forget removes an agent, about which the directory has news, or which is of this node now.
func (h *heard) forget(id performatives.AgentID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dropLocked(id.Fold())
}

package mesh

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ribosome-agents/ribosome/performatives"
)

// maxHeard is the largest number of agents that a node knows by links, all together. maxAbsent is
// that of agents whose lost nodes it remembers.
const (
	maxHeard  = 65_536
	maxAbsent = 4096
)

// heard has the links over which agents have sent that are not in the directory, or are in it with
// another node: one that has just begun or moved, a client of a session, or an agent beyond another
// node's uplink. Replies go there. The directory corrects it. A placed agent that is not in the
// directory, and to which this node has sent, is lost with that link, too.
type heard struct {
	n      atomic.Int64 // how many there are in by
	mu     sync.Mutex
	by     map[performatives.AgentID]heardOver // by folded id
	absent map[performatives.AgentID]string    // by folded id, the names of the nodes of agents that were lost with them, until an agent of the id is known again
}

// heardOver is the link over which an agent was heard.
type heardOver struct {
	link  *nodeLink
	heard bool // false: the first message for the agent was sent over the link, and nothing was heard of it
}

// putWithin sets an entry of a map. When there would be more than most, any other is forgotten.
func putWithin[K comparable, V any](most int, in *map[K]V, key K, v V) {
	if *in == nil {
		*in = make(map[K]V)
	}
	if _, known := (*in)[key]; !known && len(*in) >= most {
		for other := range *in {
			delete(*in, other)
			break
		}
	}
	(*in)[key] = v
}

// note remembers the link of an agent. One that was heard is not noted as sent to.
func (h *heard) note(id performatives.AgentID, over heardOver) {
	key := id.Fold()
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.by[key]
	if before == over || !over.heard && before.heard && !before.link.Ended() {
		return
	}
	putWithin(maxHeard, &h.by, key.Clone(), over)
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
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.by[id.Fold()]
}

// from returns the link over which an agent was heard, or nil.
func (h *heard) from(id performatives.AgentID) *nodeLink {
	if over := h.overOf(id); over.heard {
		return over.link
	}
	return nil
}

// away remembers the node of agents that are lost with it, until they are known again. The ids are
// folded.
func (h *heard) away(node string, ids []performatives.AgentID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range ids {
		putWithin(maxAbsent, &h.absent, id.Clone(), node)
	}
}

// forget removes an agent, about which the directory has news, or which is of this node now.
func (h *heard) forget(id performatives.AgentID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dropLocked(id.Fold())
	delete(h.absent, id.Fold())
}

package runtime

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ribosome-agents/ribosome/performatives"
)

// maxHeard is the largest number of senders that a node remembers, all links together.
const maxHeard = 65_536

// heard has the links over which agents have sent that are not in the directory, or are in it with another node: one that has
// just begun or moved, a client of a session, or an agent beyond another node's uplink. Replies go there. The directory
// corrects it.
type heard struct {
	n  atomic.Int64 // how many there are
	mu sync.Mutex
	by map[performatives.AgentID]heardOver // by folded id
}

// heardOver is the link over which an agent was heard.
type heardOver struct {
	link   *nodeLink
	passed bool // the other node has passed the message on: the agent is not lost with it
}

// note remembers the link of a sender. When there are too many, any other is forgotten.
func (h *heard) note(id performatives.AgentID, over heardOver) {
	key := id.Fold()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.by[key] == over {
		return
	}
	if h.by == nil {
		h.by = make(map[performatives.AgentID]heardOver)
	}
	if len(h.by) >= maxHeard {
		for other := range h.by {
			delete(h.by, other)
			break
		}
	}
	h.by[cloned(key)] = over
	h.n.Store(int64(len(h.by)))
}

// from returns the link over which an agent was heard, or nil.
func (h *heard) from(id performatives.AgentID) *nodeLink {
	if h.n.Load() == 0 {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.by[id.Fold()].link
}

// forget removes an agent, about which the directory has news.
func (h *heard) forget(id performatives.AgentID) {
	if h.n.Load() == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.by, id.Fold())
	h.n.Store(int64(len(h.by)))
}

// lose removes the agents that were heard over a link, and returns the ids of those that are behind it, sorted.
func (h *heard) lose(l *nodeLink) (lost []performatives.AgentID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, by := range h.by {
		if by.link != l {
			continue
		}
		delete(h.by, id)
		if !by.passed {
			lost = append(lost, id)
		}
	}
	h.n.Store(int64(len(h.by)))
	slices.Sort(lost)
	return lost
}

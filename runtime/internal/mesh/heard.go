package mesh

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ribosome-agents/ribosome/performatives"
)

// maxHeard is the largest number of senders that a node remembers, all links together. maxAbsent is
// that of agents whose lost nodes it remembers.
const (
	maxHeard  = 65_536
	maxAbsent = 4096
)

// heard has the links over which agents have sent that are not in the directory, or are in it with
// another node: one that has just begun or moved, a client of a session, or an agent beyond another
// node's uplink. Replies go there. The directory corrects it.
type heard struct {
	n      atomic.Int64 // how many there are, in sentTo, and in behind
	mu     sync.Mutex
	by     map[performatives.AgentID]heardOver // by folded id
	sentTo map[performatives.AgentID]*nodeLink // by folded id, the links over which this node has sent to placed agents that are not in the directory
	behind map[performatives.AgentID]struct{}  // the folded ids of agents of third nodes, heard over a link that has ended: until they are heard again, are in the directory, or release is called
	absent map[performatives.AgentID]string    // by folded id, the names of the nodes of agents that were lost with them, until an agent of the id is known again
}

// heardOver is the link over which an agent was heard.
type heardOver struct {
	link   *nodeLink
	passed bool // the other node has passed the message on: the agent is not lost with it
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

// note remembers the link of a sender.
func (h *heard) note(id performatives.AgentID, over heardOver) {
	key := id.Fold()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.by[key] == over {
		return
	}
	putWithin(maxHeard, &h.by, cloned(key), over)
	delete(h.behind, key)
	h.countLocked()
}

func (h *heard) countLocked() { h.n.Store(int64(len(h.by) + len(h.sentTo) + len(h.behind))) }

// sends remembers the link over which a placed agent is sent a message that is not in the
// directory.
func (h *heard) sends(id performatives.AgentID, over *nodeLink) {
	h.mu.Lock()
	defer h.mu.Unlock()
	putWithin(maxHeard, &h.sentTo, cloned(id.Fold()), over)
	h.countLocked()
}

// returned notes that a message to a placed agent has not left by a link.
func (h *heard) returned(id performatives.AgentID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.sentTo, id.Fold())
	h.countLocked()
}

// unheard removes the placed agents that were sent to over a link which has ended. It returns the
// folded ids of those that were not heard since, sorted.
func (h *heard) unheard(l *nodeLink) (ids []performatives.AgentID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, over := range h.sentTo {
		if over != l {
			continue
		}
		delete(h.sentTo, id)
		if h.by[id].link == nil {
			ids = append(ids, id)
		}
	}
	h.countLocked()
	slices.Sort(ids)
	return ids
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

// lives returns the link to the node of an agent that was heard, and is lost with that link. It is
// nil if another node has passed the agent's messages on, or the link has ended.
func (h *heard) lives(id performatives.AgentID) *nodeLink {
	h.mu.Lock()
	defer h.mu.Unlock()
	if over := h.by[id.Fold()]; over.link != nil && !over.passed && !over.link.Ended() {
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
		putWithin(maxAbsent, &h.absent, cloned(id), node)
	}
}

// forget removes an agent, about which the directory has news, or which is of this node now.
func (h *heard) forget(id performatives.AgentID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.by, id.Fold())
	delete(h.sentTo, id.Fold())
	delete(h.behind, id.Fold())
	delete(h.absent, id.Fold())
	h.countLocked()
}

// strays reports whether an agent is of a third node, and was heard over a link which has ended.
// The directory will have it as soon as its own node has joined.
func (h *heard) strays(id performatives.AgentID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := id.Fold()
	_, behind := h.behind[key]
	over := h.by[key]
	return behind || over.passed && over.link.Ended() // which lose is about to find
}

// release forgets agents that were heard over a link which has ended.
func (h *heard) release(ids []performatives.AgentID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range ids {
		delete(h.behind, id)
	}
	h.countLocked()
}

// lose removes the agents that were heard over a link. It returns the folded ids of those that are
// lost with it, sorted, and of those of third nodes.
func (h *heard) lose(l *nodeLink) (lost, behind []performatives.AgentID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, by := range h.by {
		if by.link != l {
			continue
		}
		delete(h.by, id)
		if !by.passed {
			lost = append(lost, id)
			continue
		}
		behind = append(behind, id)
		if h.behind == nil {
			h.behind = make(map[performatives.AgentID]struct{})
		}
		h.behind[id] = struct{}{}
	}
	h.countLocked()
	slices.Sort(lost)
	return lost, behind
}

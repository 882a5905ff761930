package mesh

import (
	"github.com/ribosome-agents/ribosome/cluster"
)

// Hooks are what the tests and simulations of package runtime do to the mesh of a running node.
type Hooks Mesh

// HoldActivations keeps the placed agents of the node where they are, except for those that start
// or leave just now: none moves, leaves memory or gives way to an older activation.
func (h *Hooks) HoldActivations() {
	h.placer.mu.Lock()
	defer h.placer.mu.Unlock()
	for _, a := range h.placer.active {
		if a.busy == nil {
			a.busy, a.leaving = make(chan struct{}), true
		}
	}
}

// Links returns the incarnations of other nodes to which there are links.
func (h *Hooks) Links() (peers []cluster.Incarnation) {
	for _, l := range *h.cluster.current.Load() {
		peers = append(peers, l.peer)
	}
	return peers
}

// LoseSlowly gives another node up. In the middle, when the link has ended and its agents are still
// in the directory, it calls a function.
func (h *Hooks) LoseSlowly(name string, meanwhile func()) {
	for _, l := range *h.cluster.current.Load() {
		if l.peer.Name == name {
			h.handover.Lock()
			l.beginLossLocked()
			h.handover.Unlock()
			meanwhile()
			h.cluster.lose(l.peer, "failed")
		}
	}
}

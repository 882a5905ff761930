package mesh

import (
	"context"

	"github.com/ribosome-agents/ribosome/cluster"
	"github.com/ribosome-agents/ribosome/cluster/membership"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Hooks are what the tests and simulations of package runtime do to the mesh of a running node.
type Hooks struct{ n *Mesh }

// Hooks returns the hooks of the mesh.
func (n *Mesh) Hooks() Hooks { return Hooks{n} }

// PlacementProtocol is the protocol of what nodes tell each other about placement.
const PlacementProtocol = placementProtocol

// HoldActivations keeps the placed agents of the node where they are: none moves, leaves memory or
// gives way to an older activation.
func (h Hooks) HoldActivations() {
	h.n.placer.mu.Lock()
	defer h.n.placer.mu.Unlock()
	for _, a := range h.n.placer.active {
		if a.leaving == nil {
			a.leaving = make(chan struct{})
		}
	}
}

// Links returns the incarnations of other nodes to which there are links.
func (h Hooks) Links() (peers []cluster.Incarnation) {
	for _, l := range *h.n.cluster.current.Load() {
		peers = append(peers, l.peer)
	}
	return peers
}

// Gossiped returns the number of bytes that the node has sent by gossip, which is none for a node
// without a cluster.
func (h Hooks) Gossiped() uint64 {
	if g, ok := h.n.cluster.members.(*membership.Gossip); ok {
		return g.Sent()
	}
	return 0
}

// HeardOver returns the nodes over whose links agents are known that are not in the directory.
func (h Hooks) HeardOver() (peers []cluster.Incarnation) {
	c := h.n.cluster
	c.heard.mu.Lock()
	defer c.heard.mu.Unlock()
	for _, by := range c.heard.by {
		peers = append(peers, by.link.peer)
	}
	return peers
}

// Hear notes that an agent was heard over the link to another node.
func (h Hooks) Hear(id performatives.AgentID, name string) {
	h.n.cluster.heard.note(id, heardOver{h.linkTo(name), false})
}

func (h Hooks) linkTo(name string) *nodeLink {
	for _, l := range *h.n.cluster.current.Load() {
		if l.peer.Name == name {
			return l
		}
	}
	return nil
}

// Crash ends the node's part of the cluster like the death of its process: it tells no other node.
func (h Hooks) Crash() {
	c := h.n.cluster
	ctx, cancel := context.WithCancel(context.Background()) //nolint:forbidigo // it ends here
	_ = c.members.Stop(ctx)
	cancel() // no message is waited for
	_ = c.links.Stop(ctx)
	for _, l := range *c.current.Load() { // what the node still runs ends
		c.lose(l.peer, "crashed")
	}
}

// Lose gives another node up, for a reason of the membership.
func (h Hooks) Lose(name, reason string) {
	if l := h.linkTo(name); l != nil {
		h.n.cluster.lose(l.peer, reason)
	}
}

// LoseSlowly gives another node up. In the middle, when the link has ended and its agents are still
// in the directory, it calls a function.
func (h Hooks) LoseSlowly(name string, meanwhile func()) {
	if l := h.linkTo(name); l != nil {
		h.n.handover.Lock()
		l.beginLossLocked()
		h.n.handover.Unlock()
		meanwhile()
		h.Lose(name, "failed")
	}
}

// SendTo sends a message over the link to a node, whatever the directory says.
func (h Hooks) SendTo(name string, m *performatives.Message) error {
	if l := h.linkTo(name); l != nil {
		return l.Send(m)
	}
	return errNodeGone
}

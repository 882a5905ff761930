package mesh

import (
	"errors"

	"github.com/ribosome-agents/ribosome/cluster"
	"github.com/ribosome-agents/ribosome/cluster/membership"
)

// GossipKeys is that of package runtime.
func (n *Mesh) GossipKeys() *membership.Keys {
	if g, ok := n.cluster.members.(*membership.Gossip); ok {
		return g.Keys()
	}
	return nil
}

// Members is that of package runtime.
func (n *Mesh) Members() []cluster.Member {
	if n.cluster.members == nil {
		return nil
	}
	return n.cluster.members.Members()
}

// LinkStates is that of package runtime.
func (n *Mesh) LinkStates() map[cluster.Incarnation]error {
	c := n.cluster
	if !c.hasBegun() || c.links == nil {
		return nil
	}
	states, links := make(map[cluster.Incarnation]error), c.links.States()
	for _, m := range n.Members() {
		if why, known := links[m.Incarnation]; known {
			states[m.Incarnation] = why
		} else if m.Name != n.Name() {
			states[m.Incarnation] = errJoining
		}
	}
	return states
}

// Links is that of package runtime.
func (n *Mesh) Links() (all, up int) {
	states := n.LinkStates()
	for _, why := range states {
		if why == nil {
			up++
		}
	}
	return len(states), up
}

// Linked is that of package runtime.
func (n *Mesh) Linked() bool {
	c := n.cluster
	if len(n.Members()) <= 1 {
		return true
	}
	lost := 0
	for _, l := range *c.current.Load() {
		if l.met.Load() {
			return true
		}
		if l.metBefore {
			lost++
		}
	}
	return lost < 2 && c.linked.Load()
}

// Joined is that of package runtime.
func (n *Mesh) Joined() bool {
	joining, real := n.cluster.members.(interface{ Joined() bool })
	return !real || joining.Joined()
}

var errJoining = errors.New("the node has just joined, and the link begins")

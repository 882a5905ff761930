package runtime

import (
	"errors"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/cluster"
	"github.com/ribosome-agents/ribosome/cluster/membership"
	"github.com/ribosome-agents/ribosome/performatives"
)

// The kinds of the events of this package.
const (
	KindMemberJoined    events.Kind = "member.joined"
	KindMemberLost      events.Kind = "member.lost"
	KindMemberLinked    events.Kind = "member.linked"
	KindAgentContested  events.Kind = "agent.contested"
	KindAgentActivated  events.Kind = "agent.activated"
	KindAgentMoving     events.Kind = "agent.moving"
	KindAgentMoved      events.Kind = "agent.moved"
	KindAgentPassivated events.Kind = "agent.passivated"
	KindHostsChanged    events.Kind = "kind.hosts"
	KindNodeDraining    events.Kind = "node.draining"
)

// MemberJoined says that another node takes part in the cluster.
type MemberJoined struct {
	events.At
	Node  string `json:"node"`
	Epoch uint64 `json:"epoch"` // of this run of the node
}

// Kind returns KindMemberJoined.
func (MemberJoined) Kind() events.Kind { return KindMemberJoined }

// MemberLost says that the agents of another node are lost, and how: the node has left, it has
// failed, or its link was down for too long. All conversations with them have been told.
type MemberLost struct {
	events.At
	Node   string `json:"node"`
	Epoch  uint64 `json:"epoch"`
	Reason string `json:"reason"` // left, failed or unreachable
}

// Kind returns KindMemberLost.
func (MemberLost) Kind() events.Kind { return KindMemberLost }

// MemberLinked says that messages pass between this node and another one, for the first time or
// again.
type MemberLinked struct {
	events.At
	Node   string   `json:"node"`
	Epoch  uint64   `json:"epoch"`
	Differ []string `json:"differ"` // the codons of which the two have different versions, and whose messages are refused
}

// Kind returns KindMemberLinked.
func (MemberLinked) Kind() events.Kind { return KindMemberLinked }

// AgentContested says that an agent of this node has the id of one of another node. Each of the two
// nodes uses its own. Of an agent that is placed, see [Kind], the activation that began later
// stops.
type AgentContested struct {
	events.At
	Agent performatives.AgentID `json:"agent"`
	Node  string                `json:"node"`  // the other one
	Stops bool                  `json:"stops"` // the agent of this node stops
}

// Kind returns KindAgentContested.
func (AgentContested) Kind() events.Kind { return KindAgentContested }

// AgentActivated says that an agent of a kind runs on this node.
type AgentActivated struct {
	events.At
	Agent      performatives.AgentID `json:"agent"`
	Activation uint64                `json:"activation"` // see [performatives.Message.Activation]
}

// Kind returns KindAgentActivated.
func (AgentActivated) Kind() events.Kind { return KindAgentActivated }

// AgentMoving says that an agent of a kind is about to leave this node, or its memory. It takes no
// new messages.
type AgentMoving struct {
	events.At
	Agent performatives.AgentID `json:"agent"`
}

// Kind returns KindAgentMoving.
func (AgentMoving) Kind() events.Kind { return KindAgentMoving }

// AgentMoved says that an agent of a kind was handed over to another node.
type AgentMoved struct {
	events.At
	Agent   performatives.AgentID `json:"agent"`
	Node    string                `json:"node"`    // the other one
	Waiting int                   `json:"waiting"` // messages that were handed over
}

// Kind returns KindAgentMoved.
func (AgentMoved) Kind() events.Kind { return KindAgentMoved }

// AgentPassivated says that an agent of a kind has left memory, because it was quiet.
type AgentPassivated struct {
	events.At
	Agent performatives.AgentID `json:"agent"`
}

// Kind returns KindAgentPassivated.
func (AgentPassivated) Kind() events.Kind { return KindAgentPassivated }

// KindHosts says which nodes host a kind, after a change.
type KindHosts struct {
	events.At
	Name  string   `json:"name"`  // of the kind
	Nodes []string `json:"nodes"` // sorted
}

// Kind returns KindHostsChanged.
func (KindHosts) Kind() events.Kind { return KindHostsChanged }

// NodeDraining says that an operator has this node hand over its agents and leave: see
// [Peers.Drained].
type NodeDraining struct {
	events.At
	Principal string                `json:"principal"`       // the name that the operator has authenticated as; empty without authentication
	Agent     performatives.AgentID `json:"agent,omitempty"` // the sender of the request; empty for a call of [Peers.Drain]
}

// Kind returns KindNodeDraining.
func (NodeDraining) Kind() events.Kind { return KindNodeDraining }

// GossipKeys returns the keys of the gossip, which may be changed while the node runs: see
// [ClusterOptions].Keys. It is nil for a node without a cluster.
func (n *Node) GossipKeys() *membership.Keys {
	c := n.cluster.Load()
	if c == nil {
		return nil
	}
	if g, ok := c.members.(*membership.Gossip); ok {
		return g.Keys()
	}
	return nil
}

// Members returns the nodes of the cluster that are believed to live, this one included, by name.
// It is nil for a node without a cluster.
func (n *Node) Members() []cluster.Member {
	c := n.cluster.Load()
	if c == nil || c.members == nil {
		return nil
	}
	return c.members.Members()
}

// LinkStates returns the other nodes of the cluster that are believed to live. The value is nil if
// messages pass over the link to the node now, and else the reason why not, as far as this node
// knows it. The caller owns the map, which is empty without a cluster. Safe for concurrent use.
func (n *Node) LinkStates() map[cluster.Incarnation]error {
	c := n.cluster.Load()
	if c == nil {
		return nil
	}
	select {
	case <-c.ready:
	default: // the node is still starting
		return nil
	}
	if c.links == nil {
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

var errJoining = errors.New("the node has just joined, and the link begins")

// Links returns how many other nodes of the cluster are believed to live, and to how many of them
// messages pass now. Both are 0 without a cluster. Safe for concurrent use.
func (n *Node) Links() (all, up int) {
	states := n.LinkStates()
	for _, why := range states {
		if why == nil {
			up++
		}
	}
	return len(states), up
}

// Linked reports whether the node can work with the other members of its cluster. It is true once
// messages have passed to one of them, or if there were none when the node began. It becomes false
// when the links to all members have been down for [ClusterOptions].LinkTimeout, if two of them or
// more were up before: of a node with one such link it is unknown which end is at fault. It is true
// without a cluster, and while no other member is believed to live. Safe for concurrent use.
func (n *Node) Linked() bool {
	c := n.cluster.Load()
	if c == nil || len(n.Members()) <= 1 {
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

// Joined reports whether the node has reached another node of its cluster. It is also true if there
// is no other node to join: the node has no seeds, is its own only seed, or has no cluster. It
// stays true when all other nodes are lost.
func (n *Node) Joined() bool {
	c := n.cluster.Load()
	if c == nil {
		return true
	}
	joining, real := c.members.(interface{ Joined() bool })
	return !real || joining.Joined()
}

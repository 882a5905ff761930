package mesh

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/cluster"
	"github.com/ribosome-agents/ribosome/cluster/membership"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/internal/relay"
	"github.com/ribosome-agents/ribosome/runtime/internal/route"
	"github.com/ribosome-agents/ribosome/runtime/internal/sessions"
)

// Mesh is a node's part of a cluster, which may have no other node. It routes what the node's actor
// system has no agent of its own for. It is safe for concurrent use.
type Mesh struct {
	Host
	self performatives.AgentID // the sender of what the node itself says

	placer  *placer
	waiting atomic.Int64 // how many messages cannot be routed yet
	decide  Decider
	cluster *clustered

	leaving     atomic.Bool   // HandOver was called
	handedOver  chan struct{} // closed when it has ended
	handOverErr error         // of it; valid once handedOver is closed

	handover *sync.Mutex // held while agents of sessions come and go; no message waits for it, save the first of its agent
}

// Decider is the type of [route.Decide].
type Decider func(v route.View, to route.Entry, m *performatives.Message, from route.Link, waited time.Duration) route.Decision

// Events are told what happens to nodes and placed agents: see the events of package runtime. The
// methods are called from several goroutines, and do not block.
type Events interface {
	MemberJoined(node string, epoch uint64)
	MemberLost(node string, epoch uint64, reason string)
	MemberLinked(node string, epoch uint64, differ []string)
	AgentContested(agent performatives.AgentID, node string, stops bool)
	AgentActivated(agent performatives.AgentID, activation uint64)
	AgentMoving(agent performatives.AgentID)
	AgentMoved(agent performatives.AgentID, node string, waiting int)
	AgentPassivated(agent performatives.AgentID)
	KindHosts(kind string, nodes []string)
}

// New returns the mesh of a node. handover is held while agents of sessions come and go. decide is
// [route.Decide], but in simulations of its faults. Begin is called before the first message.
func New(handover *sync.Mutex, decide Decider) *Mesh {
	n := &Mesh{handover: handover, decide: decide, handedOver: make(chan struct{})}
	n.placer = newPlacer(n)
	return n
}

// Host is what the mesh has of its node.
type Host struct {
	System   *actors.System
	Relay    *relay.Relay
	Sessions *sessions.Sessions
	Events   Events

	Limits relay.Limits // of the links to other nodes
}

// Begin gives the mesh its node.
func (n *Mesh) Begin(h Host) {
	n.Host, n.self = h, performatives.AgentID(h.System.Node())
	n.cluster = newClustered(n)
}

// Close ends the hosting of agents, and gives up the moves to other nodes that are under way.
func (n *Mesh) Close() {
	n.placer.drain()
	n.placer.end()
}

// Name returns the name of the node.
func (n *Mesh) Name() string { return n.System.Node() }

// Knows reports whether the node has a way to an agent: see [route.Knows].
func (n *Mesh) Knows(id performatives.AgentID) bool { return route.Knows(view{n}, id) }

// ActivatesHere reports whether a message for an agent which is nowhere activates it on this node.
func (n *Mesh) ActivatesHere(m *performatives.Message) bool { return route.ActivatesHere(view{n}, m) }

// LinkOf returns the link behind which an agent is that is not in the directory, and with which it
// is lost: to the node where it was heard or is to be activated, or an uplink's. It is nil for
// none.
func (n *Mesh) LinkOf(id performatives.AgentID) *relay.Link {
	if over := n.cluster.heard.overOf(id); over.link != nil && !over.link.Ended() {
		return over.link.Link
	}
	return n.Sessions.Uplink().Link()
}

// AgentChanged tells the other nodes that an agent of this node has started, has announced its
// capabilities or has stopped. It tells the node beyond the uplink, too. An agent that has stopped
// is forgotten, unless it moves. It is OnChange of the node's [actors.Options]: the links must miss
// no change, and inform their peers before the agent sends its next message.
func (n *Mesh) AgentChanged(id performatives.AgentID) {
	if _, here := n.System.Find(id); !here {
		if !n.placer.leaves(id) { // else its records go along
			n.Relay.AgentStopped(id)
		}
		n.placer.agentStopped(id)
	}
	n.Sessions.AgentChanged(id)
	n.cluster.agentChanged(id)
}

// NodeOf returns the name of the node of an agent of the directory.
func (n *Mesh) NodeOf(agent *actors.Registration) string {
	if a, ok := agent.Destination().(*nodeAgent); ok {
		return a.link.peer.Name
	}
	return n.Name()
}

// HeardAt returns the name of the node over whose link an agent was heard that is not in the
// directory.
func (n *Mesh) HeardAt(id performatives.AgentID) (node string, known bool) {
	if l := n.cluster.heard.from(id); l != nil {
		return l.peer.Name, true
	}
	return "", false
}

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

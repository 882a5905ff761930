package runtime

import (
	"time"

	"github.com/ribosome-agents/ribosome/actors/events"
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

// publisher publishes the events of the mesh.
type publisher struct{ n *Node }

func at() events.At { return events.At{Time: time.Now()} }

// publish publishes an event if a subscriber wants its kind.
func publish[E events.Event](n *Node, e E) { events.Publish(n.Events(), e) }

func (p publisher) MemberJoined(node string, epoch uint64) {
	publish(p.n, MemberJoined{at(), node, epoch})
}

func (p publisher) MemberLost(node string, epoch uint64, reason string) {
	publish(p.n, MemberLost{at(), node, epoch, reason})
}

func (p publisher) MemberLinked(node string, epoch uint64, differ []string) {
	publish(p.n, MemberLinked{at(), node, epoch, differ})
}

func (p publisher) AgentContested(agent performatives.AgentID, node string, stops bool) {
	publish(p.n, AgentContested{at(), agent, node, stops})
}

func (p publisher) AgentActivated(agent performatives.AgentID, activation uint64) {
	publish(p.n, AgentActivated{at(), agent, activation})
}

func (p publisher) AgentMoving(agent performatives.AgentID) { publish(p.n, AgentMoving{at(), agent}) }

func (p publisher) AgentMoved(agent performatives.AgentID, node string, waiting int) {
	publish(p.n, AgentMoved{at(), agent, node, waiting})
}

func (p publisher) AgentPassivated(agent performatives.AgentID) {
	publish(p.n, AgentPassivated{at(), agent})
}

func (p publisher) KindHosts(kind string, nodes []string) { publish(p.n, KindHosts{at(), kind, nodes}) }

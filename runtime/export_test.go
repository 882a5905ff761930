package runtime

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/cluster"
	"github.com/ribosome-agents/ribosome/cluster/directory"
	nodelink "github.com/ribosome-agents/ribosome/cluster/link"
	"github.com/ribosome-agents/ribosome/cluster/membership"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/internal/route"
)

// Joining and NodeLinks are the parts of a cluster that a simulation implements.
type (
	Joining   = joining
	NodeLinks = nodeLinks
)

// PlacementProtocol is the protocol of what nodes tell each other about placement.
const PlacementProtocol = placementProtocol

// HashesOf returns the hashes by which two nodes see that they have different versions of a codon.
func HashesOf(all ...*codons.Codon) map[string]uint64 { return hashesOf(all) }

// HoldActivations keeps the placed agents of the node where they are: none moves, leaves memory or
// gives way to an older activation.
func (n *Node) HoldActivations() {
	n.placer.mu.Lock()
	defer n.placer.mu.Unlock()
	for _, a := range n.placer.active {
		if a.leaving == nil {
			a.leaving = make(chan struct{})
		}
	}
}

// SimNetwork is a clusterNetwork made of two functions.
type SimNetwork struct {
	Membership func(membership.Options) (Joining, error)
	Links      func(nodelink.LinksOptions) (NodeLinks, error)
}

func (s SimNetwork) membership(o membership.Options) (joining, error) { return s.Membership(o) }
func (s SimNetwork) links(o nodelink.LinksOptions) (nodeLinks, error) { return s.Links(o) }

// Over returns the options with a simulated network.
func (o ClusterOptions) Over(s SimNetwork) *ClusterOptions {
	o.network = s
	return &o
}

// OpenRecords returns how many conversations between nodes are recorded as open.
func (n *Node) OpenRecords() int { return n.relay.Open() }

// NodeLinks returns to how many incarnations of other nodes there are links.
func (n *Node) NodeLinks() int { return len(*n.cluster.Load().current.Load()) }

// Gossiped returns the number of bytes that the node has sent by gossip, which is none for a node
// without a cluster.
func (n *Node) Gossiped() uint64 {
	c := n.cluster.Load()
	if c == nil {
		return 0
	}
	return c.members.(*membership.Gossip).Sent()
}

// HeardOver returns the nodes over whose links agents are known that are not in the directory, and
// that are no members any more.
func (n *Node) HeardOver() (lost []cluster.Incarnation) {
	c := n.cluster.Load()
	current := *c.current.Load()
	c.heard.mu.Lock()
	defer c.heard.mu.Unlock()
	for _, by := range slices.Collect(maps.Values(c.heard.by)) {
		if !slices.Contains(current, by.link) {
			lost = append(lost, by.link.peer)
		}
	}
	return lost
}

// Crash ends the node's part of the cluster like the death of its process: nobody is told.
func (n *Node) Crash() {
	c := n.cluster.Load()
	ctx, cancel := context.WithCancel(context.Background())
	_ = c.members.Stop(ctx)
	cancel() // no message is waited for
	_ = c.links.Stop(ctx)
	for _, l := range *c.current.Load() { // what the node still runs ends
		c.lose(l.peer, "crashed")
	}
}

// LoseLeft gives another node up as one that has left in order.
func (n *Node) LoseLeft(name string) {
	c := n.cluster.Load()
	for _, l := range *c.current.Load() {
		if l.peer.Name == name {
			c.lose(l.peer, nodeLeft)
		}
	}
}

// Hear notes that an agent was heard over the link to another node.
func (n *Node) Hear(id performatives.AgentID, name string) {
	c := n.cluster.Load()
	for _, l := range *c.current.Load() {
		if l.peer.Name == name {
			c.heard.note(id, heardOver{l, false})
		}
	}
}

// LoseSlowly gives another node up. In the middle, when the link has ended and its agents are still
// in the directory, it calls a function.
func (n *Node) LoseSlowly(name string, meanwhile func()) {
	c := n.cluster.Load()
	for _, l := range *c.current.Load() {
		if l.peer.Name == name {
			n.handover.Lock()
			l.beginLossLocked()
			n.handover.Unlock()
			meanwhile()
			c.lose(l.peer, "failed")
		}
	}
}

// SendTo sends a message over the link to a node, whatever the directory says.
func (n *Node) SendTo(name string, m *performatives.Message) error {
	for _, l := range *n.cluster.Load().current.Load() {
		if l.peer.Name == name {
			return l.Send(m)
		}
	}
	return errNodeGone
}

// Requests returns the nodes that a node with links to some asks for a text of capabilities, when
// none answers.
func Requests(self cluster.Incarnation, linked []cluster.Incarnation, states [][]byte, times int) (asked []string, err error) {
	c := &clustered{self: self, replica: directory.New(self), peers: make(map[cluster.Incarnation]*nodeLink)}
	for _, peer := range linked {
		c.peers[peer] = &nodeLink{peer: peer}
	}
	c.listLocked()
	for _, state := range states {
		if _, err := c.replica.Merge(state); err != nil {
			return nil, err
		}
	}
	now := time.Now()
	for range times {
		for _, want := range c.requestLocked(now) {
			asked = append(asked, want.From[0].Name)
		}
		if again := c.requestLocked(now.Add(fetchAgain / 2)); len(again) > 0 {
			asked = append(asked, "too early")
		}
		now = now.Add(fetchAgain)
	}
	return asked, nil
}

// OfferInTurn offers an agent of a kind to the node that is to run it, and returns the error: nil
// if that is this node.
func (n *Node) OfferInTurn(ctx context.Context, kind string, id performatives.AgentID) error {
	v, err := n.system.Reserve(id)
	if err != nil {
		return err
	}
	defer v.Release(n.system.Send)
	_, err = n.placer.offerInTurn(ctx, &activation{id: id, kind: n.placer.kinds[kind]}, retired{reservation: v})
	return err
}

// TakenBeside returns how many of the given requests go along with an agent whose state has so many
// bytes.
func (n *Node) TakenBeside(state int, requests ...actors.TakenOn) (int, error) {
	v, err := n.system.Reserve("moves")
	if err != nil {
		return 0, err
	}
	defer v.Release(n.system.Send)
	v.TakeOn(requests)
	return len(takenBy(retired{reservation: v, state: make([]byte, state)})), nil
}

// Misroute changes the decisions of a node about messages. fromNode says that another node has sent
// the message.
func (n *Node) Misroute(change func(m *performatives.Message, fromNode bool, d *route.Decision)) {
	n.decide = func(v route.View, m *performatives.Message, from route.Link, waited time.Duration) route.Decision {
		d := route.Decide(v, m, from, waited)
		change(m, from != nil, &d)
		return d
	}
}

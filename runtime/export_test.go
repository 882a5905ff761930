package runtime

import (
	"time"

	nodelink "github.com/ribosome-agents/ribosome/cluster/link"
	"github.com/ribosome-agents/ribosome/cluster/membership"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/internal/mesh"
	"github.com/ribosome-agents/ribosome/runtime/internal/route"
)

// Joiner and NodeLinks are the parts of a cluster that a simulation implements.
type (
	Joiner    = mesh.Joiner
	NodeLinks = mesh.NodeLinks
)

// PlacementProtocol is the protocol of what nodes tell each other about placement.
const PlacementProtocol = mesh.PlacementProtocol

// SimNetwork is a [mesh.Network] made of two functions.
type SimNetwork struct {
	Join func(membership.Options) (Joiner, error)
	Link func(nodelink.LinksOptions) (NodeLinks, error)
}

// Membership calls Join.
func (s SimNetwork) Membership(o membership.Options) (Joiner, error) { return s.Join(o) }

// Links calls Link.
func (s SimNetwork) Links(o nodelink.LinksOptions) (NodeLinks, error) { return s.Link(o) }

// Over returns the options with a simulated network.
func (o ClusterOptions) Over(s SimNetwork) *ClusterOptions {
	o.network = s
	return &o
}

// OpenRecords returns how many conversations between nodes are recorded as open.
func (n *Node) OpenRecords() int { return n.relay.Open() }

// Mesh returns the hooks of the node's mesh.
func (n *Node) Mesh() *mesh.Hooks { return (*mesh.Hooks)(n.mesh) }

// Misrouting returns the options of a node that decides otherwise about messages. fromNode says that
// another node has sent the message. Nil changes nothing.
func (o Options) Misrouting(change func(m *performatives.Message, fromNode bool, d *route.Decision)) Options {
	if change == nil {
		return o
	}
	o.decide = func(v route.View, to route.Entry, m *performatives.Message, from route.Link, waited time.Duration) route.Decision {
		d := route.Decide(v, to, m, from, waited)
		change(m, from != nil, &d)
		return d
	}
	return o
}

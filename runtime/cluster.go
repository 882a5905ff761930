package runtime

import (
	"context"
	"fmt"

	"github.com/ribosome-agents/ribosome/cluster"
	"github.com/ribosome-agents/ribosome/cluster/membership"
)

// GossipKeys returns the keys of the gossip, which may be changed while the node runs: see
// [ClusterOptions].Keys. It is nil for a node without a cluster.
func (n *Node) GossipKeys() *membership.Keys { return n.mesh.GossipKeys() }

// Members returns the nodes of the cluster that are believed to live, this one included, by name.
// It is nil for a node without a cluster.
func (n *Node) Members() []cluster.Member { return n.mesh.Members() }

// LinkStates returns the other nodes of the cluster that are believed to live. The value is nil if
// messages pass over the link to the node now, and else the reason why not, as far as this node
// knows it. The caller owns the map, which is empty without a cluster. Safe for concurrent use.
func (n *Node) LinkStates() map[cluster.Incarnation]error { return n.mesh.LinkStates() }

// Links returns how many other nodes of the cluster are believed to live, and to how many of them
// messages pass now. Both are 0 without a cluster. Safe for concurrent use.
func (n *Node) Links() (all, up int) { return n.mesh.Links() }

// Linked reports whether the node can work with the other members of its cluster. It is true once
// messages have passed to one of them, or if there were none when the node began. It becomes false
// when the links to all members have been down for [ClusterOptions].LinkTimeout, if two of them or
// more were up before: of a node with one such link it is unknown which end is at fault. It is true
// without a cluster, and while no other member is believed to live. Safe for concurrent use.
func (n *Node) Linked() bool { return n.mesh.Linked() }

// Joined reports whether the node has reached another node of its cluster. It is also true if there
// is no other node to join: the node has no seeds, is its own only seed, or has no cluster. It
// stays true when all other nodes are lost.
func (n *Node) Joined() bool { return n.mesh.Joined() }

// Hosts returns the names of the nodes that host a kind, this one included, sorted: those that are
// known to live.
func (n *Node) Hosts(kind string) []string { return n.mesh.Hosts(kind) }

// HandOver hands over the agents of kinds to other nodes and says farewell to these. It does not
// stop the node: its other agents and its sessions go on until [Node.Stop], and it activates no
// agent any more. The conversations of the agents may go on until half of ctx's time is left, at
// most three seconds; those that are left then fail with [performatives.CodeMoved]. The messages
// that wait, and those that still come, are passed on. Further calls wait for the first one, or for
// the end of their own ctx.
//
// The error says how many agents were not handed over, because no other node hosts their kind or
// has taken them in time.
func (n *Node) HandOver(ctx context.Context) error { return n.mesh.HandOver(ctx) }

// Drain hands over the agents of kinds as [Node.HandOver] does, and then stops the node as
// [Node.Stop] does. The error is that of Stop, or else that of HandOver, or [actors.ErrSelfWait] at
// once, as that of Stop.
func (n *Node) Drain(ctx context.Context) error {
	if err := n.system.CheckWait(ctx); err != nil {
		return fmt.Errorf("runtime: drain: %w", err)
	}
	left := n.HandOver(ctx)
	if err := n.Stop(ctx); err != nil {
		return err
	}
	return left
}

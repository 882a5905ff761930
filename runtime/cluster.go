package runtime

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/cluster"
	"github.com/ribosome-agents/ribosome/cluster/membership"
	"github.com/ribosome-agents/ribosome/runtime/internal/mesh"
	"github.com/ribosome-agents/ribosome/wire/grpc"
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
	return cmp.Or(n.Stop(ctx), left)
}

// ClusterOptions makes a node a member of a cluster: see [Options].Cluster. Gossip is required. The
// name of the node must be unique in the cluster, and so must be the ids of its agents.
type ClusterOptions struct {
	// Gossip is the address of the membership, host:port, on TCP and UDP. Port 0 means any that is
	// free.
	Gossip string

	// Advertise is the host by which other nodes reach this one, by gossip and by links: a name, or
	// an IP address without brackets or zone. Empty means that of Gossip.
	Advertise string

	// Join are members to join, host:port. Names are resolved again at each attempt, and all their
	// addresses are tried. A node that reaches none of them goes on trying.
	Join []string

	// JoinTime is how long New waits for the first of them to answer. When none does, the node
	// begins alone. Zero means DefaultJoinTime.
	JoinTime time.Duration

	// Profile has the times of the membership. Zero means [membership.LAN].
	Profile membership.Profile

	// Keys encrypt the gossip, and keep out nodes that do not have them: 16, 24 or 32 bytes each.
	// The first one encrypts, all decrypt. None means no encryption.
	Keys [][]byte

	// Labels describe the node to others, such as zone=eu-1.
	Labels map[string]string

	// Links is the address where the node accepts the links of other nodes, host:port. Empty means
	// any free port of the host of Gossip. With Accept it is the address of that listener.
	Links string

	// Accept has the node accept links by a listener of the caller, such as one for sessions: the
	// caller passes the function to [grpc.Options].Links, and stops the listener after the node.
	// Nil means that the node has a listener of its own.
	Accept func(serve func(*grpc.LinkStream))

	// TLS encrypts links. It has a certificate for the name of the node as a DNS name. The node
	// shows it at both ends of a link, also where it opens the link. The authorities of the other
	// nodes are RootCAs and ClientCAs. Package auth's NodeTLS returns one from files. Nil means no
	// encryption: then everyone who reaches the listener can speak as any node. A listener of
	// Accept has to ask for certificates.
	TLS *tls.Config

	// LinkTimeout is how long a link may be down while its node seems to live, before the agents
	// there are lost. Zero means [nodelink.DefaultTimeout].
	LinkTimeout time.Duration

	network mesh.Network // nil: the real one
}

// DefaultJoinTime is the default of [ClusterOptions].JoinTime.
const DefaultJoinTime = 5 * time.Second

// join makes the node a member of a cluster.
func (n *Node) join(c ClusterOptions, o Options) error {
	if err := c.validate(); err != nil {
		return err
	}
	// What everyone who reaches the ports of the node can do, unless they are of this machine only.
	if host, _, _ := net.SplitHostPort(c.Gossip); host != "localhost" && !net.ParseIP(host).IsLoopback() {
		if len(c.Keys) == 0 {
			o.Logger.Warn("the gossip of the cluster has no keys: everyone who reaches its port takes part in it; see ClusterOptions.Keys", "addr", c.Gossip)
		}
		if c.TLS == nil {
			o.Logger.Warn("the links of the cluster have no TLS: everyone who reaches their port can speak as any node; see ClusterOptions.TLS", "addr", c.Gossip)
		}
	}
	return n.mesh.Join(mesh.Options{
		Gossip: c.Gossip, Advertise: c.Advertise, Join: c.Join, JoinTime: cmp.Or(c.JoinTime, DefaultJoinTime), Profile: c.Profile, Keys: c.Keys,
		Labels: c.Labels, Links: c.Links, Accept: c.Accept, TLS: c.TLS, LinkTimeout: c.LinkTimeout, Network: c.network,
	}, o.codons(), o.Logger)
}

func (o *ClusterOptions) validate() error {
	switch host, _, err := net.SplitHostPort(o.Gossip); {
	case o.Gossip == "":
		return errors.New("the address Gossip is empty: want host:port, such as 127.0.0.1:7946")
	case err != nil:
		return fmt.Errorf("the address Gossip is %q: want host:port", o.Gossip)
	case o.Advertise == "" && (host == "" || net.ParseIP(host).IsUnspecified()):
		return fmt.Errorf("the address Gossip is %q, all addresses of the machine: say by Advertise which of them other nodes use", o.Gossip)
	case strings.ContainsAny(o.Advertise, "[]%/ ") || strings.Contains(o.Advertise, ":") && net.ParseIP(o.Advertise) == nil:
		return fmt.Errorf("the host Advertise is %q: want a name, or an IP address without brackets, port and zone", o.Advertise)
	case o.Accept != nil && o.Links == "":
		return errors.New("the address Links is empty, and Accept is set: want that of the listener")
	case o.JoinTime < 0:
		return fmt.Errorf("the duration JoinTime is %v", o.JoinTime)
	case o.LinkTimeout < 0:
		return fmt.Errorf("the duration LinkTimeout is %v", o.LinkTimeout)
	case o.TLS != nil && o.TLS.ClientCAs == nil:
		return errors.New("the configuration TLS has no ClientCAs: the certificates of other nodes could not be checked")
	case o.TLS != nil && len(o.TLS.Certificates) == 0 && o.TLS.GetClientCertificate == nil:
		return errors.New("the configuration TLS has no Certificates and no GetClientCertificate: other nodes would refuse the links that this one opens")
	}
	return nil
}

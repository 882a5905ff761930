package mesh

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/cluster"
	nodelink "github.com/ribosome-agents/ribosome/cluster/link"
	"github.com/ribosome-agents/ribosome/cluster/membership"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/grpc"
)

// dialPatience bounds the time to open a link, and that of each write.
const dialPatience = 10 * time.Second

// Options are those of package runtime's ClusterOptions, which has checked them.
type Options struct {
	Gossip, Advertise string
	Join              []string
	JoinTime          time.Duration
	Profile           membership.Profile
	Keys              [][]byte
	Labels            map[string]string
	Links             string
	Accept            func(serve func(*grpc.LinkStream))
	TLS               *tls.Config
	LinkTimeout       time.Duration

	Network Network // nil: the real one
}

// Network makes the parts of a cluster that reach other nodes. A simulation has another one.
type Network interface {
	Membership(membership.Options) (Joiner, error)
	Links(nodelink.LinksOptions) (NodeLinks, error)
}

// Joiner is a membership that joins others by itself. [membership.Gossip] implements it.
type Joiner interface {
	membership.Membership
	Join(ctx context.Context) error
}

// realNetwork is the [Network] of a real cluster.
type realNetwork struct{}

func (realNetwork) Membership(o membership.Options) (Joiner, error) { return membership.Start(o) }

func (realNetwork) Links(o nodelink.LinksOptions) (NodeLinks, error) { return nodelink.NewLinks(o) }

// Join makes the node a member of a cluster. After an error, [Mesh.Leave] ends its parts.
func (n *Mesh) Join(o Options, all []*codons.Codon, log *slog.Logger) error {
	if o.Network == nil {
		o.Network = realNetwork{}
	}
	c := n.cluster
	if err := c.listen(o); err != nil {
		return err
	}
	gossip, err := o.Network.Membership(o.membership(n, c, log))
	if err != nil {
		return err
	}
	c.members = gossip
	if err := joinFirst(gossip, o, log); err != nil {
		return err
	}
	c.mu.Lock()
	c.self = gossip.Self().Incarnation // another run may have had an epoch that is as great
	c.replica.Rename(c.self)
	c.mu.Unlock()
	tables := make(map[string]uint64)
	for _, codon := range all {
		if codon.Machine() != nil {
			tables[codon.Name()] = codon.Hash()
		}
	}
	c.links, err = o.Network.Links(nodelink.LinksOptions{
		Self: c.self, Handler: linkHandler{c}, Dialect: grpc.Dialect{}, Stamper: n.System,
		Dial: func(ctx context.Context, m cluster.Member) (nodelink.Stream, error) {
			s, err := grpc.DialLink(ctx, m.Links, m.Name, o.TLS, dialPatience)
			if err != nil {
				return nil, err // not a nil *LinkStream in an interface
			}
			return s, nil
		},
		Link: nodelink.Options{Tables: tables}, Timeout: o.LinkTimeout, Logger: n.System.Logger(),
	})
	if err != nil {
		return err
	}
	c.linked.Store(n.Joined() && len(gossip.Members()) == 1)
	c.begin()
	c.agentChanged(n.self)
	return nil
}

// membership returns the options of the membership.
func (o *Options) membership(n *Mesh, c *clustered, log *slog.Logger) membership.Options {
	m := membership.Options{
		Name: n.Name(), Epoch: c.self.Epoch, Bind: o.Gossip, Seeds: o.Join, Profile: o.Profile, Keys: o.Keys,
		Labels: o.Labels, Links: c.address, Gossiped: c, Notify: c.memberChanged, Logger: log,
	}
	if o.Advertise != "" {
		_, port, _ := net.SplitHostPort(o.Gossip) // validate has checked it
		m.Advertise = net.JoinHostPort(o.Advertise, port)
	}
	return m
}

// joinFirst waits for the first member to join, and returns the error of a node that can never
// join. A node that has reached none begins alone, which it logs.
func joinFirst(m Joiner, o Options, log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(context.Background(), o.JoinTime) //nolint:forbidigo // it ends here
	defer cancel()
	err := m.Join(ctx)
	if err == nil || ctx.Err() == nil {
		return err
	}
	log.Warn("no node of the cluster could be joined: this node begins alone, and goes on trying", "join", o.Join, "err", err)
	return nil
}

// listen opens the listener for links, unless the caller has one, and sets the address that other
// nodes are told. A listener at all addresses of the machine is reached at that of the gossip.
func (c *clustered) listen(o Options) error {
	gossip, _, _ := net.SplitHostPort(o.Gossip) // validate has checked it
	address := o.Links
	if o.Accept != nil {
		o.Accept(c.accept)
	} else {
		config := o.TLS.Clone()
		if config != nil { // only nodes connect there
			config.ClientAuth = tls.RequireAndVerifyClientCert
		}
		l, err := grpc.ListenNodes(grpc.Options{Addr: cmp.Or(o.Links, net.JoinHostPort(gossip, "0")), TLS: config, Links: c.accept}, c.node.System.Logger())
		if err != nil {
			return fmt.Errorf("listen for links: %w", err)
		}
		c.listener, address = l, l.Addr().String()
	}
	host, port, _ := net.SplitHostPort(address) // that of a listener
	if host == "" || net.ParseIP(host).IsUnspecified() {
		host = gossip
	}
	c.address = net.JoinHostPort(cmp.Or(o.Advertise, host), port)
	return nil
}

// accept serves the stream of another node.
func (c *clustered) accept(s *grpc.LinkStream) {
	<-c.ready
	links, ok := c.links.(interface{ Accept(nodelink.Stream) error })
	if !ok { // the node does not start
		s.Close()
		return
	}
	if err := links.Accept(s); err != nil {
		level := slog.LevelWarn
		if unknown := (*nodelink.UnknownNodeError)(nil); errors.As(err, &unknown) { // it joins or leaves just now; its log and members' say if that goes on
			level = slog.LevelDebug
		}
		c.node.System.Logger().Log(context.Background(), level, "a link was refused", "addr", s.Addr(), "err", err) //nolint:forbidigo // for the log only
	}
}

// Leave leaves the cluster. It delivers the messages of the node, tells the other nodes, and
// returns when nothing of the cluster runs any more.
func (n *Mesh) Leave(ctx context.Context) (err error) {
	c := n.cluster
	c.stopOnce.Do(func() {
		if c.links != nil {
			err = c.links.Stop(ctx)
		}
		if c.members != nil {
			if left := c.members.Leave(ctx); left != nil { // they see that it has failed
				n.System.Logger().Warn("the other nodes may not know that this one has left", "err", left)
			}
			err = cmp.Or(err, c.members.Stop(ctx))
		}
		c.begin()
		if c.listener != nil {
			err = cmp.Or(err, c.listener.Stop(ctx))
		}
	})
	return err
}

// linkHandler is the [nodelink.Handler] of a node's links.
type linkHandler struct{ *clustered }

var _ nodelink.Handler = linkHandler{}

// Connected records the codons with different versions on the two nodes, tells the peer of the
// agents of this node, and requests the missing capabilities.
func (c linkHandler) Connected(peer cluster.Incarnation, differ []string) {
	if l := c.linkTo(peer); l != nil {
		l.connected(differ)
	}
	c.mu.Lock()
	state := c.replica.OwnState()
	c.mu.Unlock()
	c.links.Control(peer, append([]byte{controlState}, state...)) // the peer may have ignored gossip from before the two were linked
	c.fetch(true)                                                 // a request over an earlier stream may be lost
	c.node.Events.MemberLinked(peer.Name, peer.Epoch, differ)
}

// Received routes a message of another node.
func (c linkHandler) Received(peer cluster.Incarnation, m *performatives.Message) (pause time.Duration) {
	switch l := c.linkTo(peer); {
	case l == nil:
		_ = c.node.Relay.Refuse(m, errNodeGone)
	case m.Protocol() == PlacementProtocol && m.Sender().Is(performatives.AgentID(peer.Name)) && m.Forwards() == 0: // the node itself has sent it
		c.node.placer.handleNote(l, m)
	default:
		return l.receive(m, 0)
	}
	return 0
}

// Undelivered handles a message that was not delivered to another node.
func (c linkHandler) Undelivered(peer cluster.Incarnation, m *performatives.Message, why *performatives.Refusal) {
	l := c.linkTo(peer)
	if l != nil && why.Code == performatives.CodeStopped && !l.Ended() { // it was for the link before, and has not left
		l = cmp.Or(l.before.Load(), l)
	}
	switch {
	case m.Protocol() == PlacementProtocol && m.Sender().Is(c.node.self): // a question has ended with the link
	case l == nil:
		c.node.System.DeadLetter(string(m.Receiver()), m, why.Code)
	case why.Code == performatives.CodeDisconnected: // it may have arrived
		l.Undelivered(m, why)
	case m.InReplyTo() != "" && l.left: // the node was to pass it on, and has gone
		c.node.placer.routeAgain(m, func(error) { l.Undelivered(m, why) })
	case l.toldSender(m), !c.node.placer.reroute(m, func(error) { l.Undelivered(m, why) }):
		l.Undelivered(m, why)
	}
}

// The kinds of texts that nodes send each other: the sender's part of the directory, the digest of
// the capabilities that it wants, their text, or an adoption.
const (
	controlState = 's'
	controlFetch = 'f'
	controlText  = 't'
	controlAdopt = 'a'
)

// Control takes in a part of the directory, answers a request for the text of capabilities, or
// takes the answer to one, or an adoption.
func (c linkHandler) Control(peer cluster.Incarnation, text []byte) {
	if len(text) == 0 {
		return
	}
	switch body := text[1:]; text[0] {
	case controlState:
		c.Merge(body)
	case controlFetch:
		c.provide(peer, body)
	case controlText:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.outdateLocked(c.replica.Provide(slices.Clone(body))...)
	case controlAdopt:
		c.adopt(body)
	}
}

package runtime

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// The limits that the zero [PeerOptions] stands for.
const (
	DefaultPeerAgents = 64
	DefaultPeerOpen   = 65_536
	DefaultPeerBytes  = 256 << 20
)

// PeerOptions configures [Peers]. The zero value works.
type PeerOptions struct {
	// MaxAgents is as how many agents one session may speak. Zero means
	// [DefaultPeerAgents]; who comes beyond takes the place of one that has withdrawn, or is
	// refused as busy.
	MaxAgents int
	// MaxOpen is how many conversations one session may have open, both ways. Zero means
	// [DefaultPeerOpen]; what comes beyond is refused as busy.
	MaxOpen int
	// MaxBytes is how many bytes the long questions of those conversations may have, of
	// 4 KiB and more, in all; one that is longer may come alone. Zero means
	// [DefaultPeerBytes]; what comes beyond is refused as busy.
	MaxBytes int
	// Grace is how long after its ReplyBy an agent here may still answer a request of a
	// peer's: then the peer gets FAILURE. Zero means twice [codons.DefaultGrace].
	Grace time.Duration
	// Patience is the same for a request without a ReplyBy, from when it came. It has to be
	// longer than what Options.Times gives a handler. Zero means twice
	// [codons.DefaultDeadline].
	Patience time.Duration
}

func (o PeerOptions) withDefaults() PeerOptions {
	if o.MaxAgents == 0 {
		o.MaxAgents = DefaultPeerAgents
	}
	if o.MaxOpen == 0 {
		o.MaxOpen = DefaultPeerOpen
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultPeerBytes
	}
	if o.Grace == 0 {
		o.Grace = 2 * codons.DefaultGrace
	}
	if o.Patience == 0 {
		o.Patience = 2 * codons.DefaultDeadline
	}
	return o
}

func (o PeerOptions) validate() error {
	switch {
	case o.MaxAgents < 0:
		return fmt.Errorf("runtime: PeerOptions.MaxAgents is %d", o.MaxAgents)
	case o.MaxOpen < 0:
		return fmt.Errorf("runtime: PeerOptions.MaxOpen is %d", o.MaxOpen)
	case o.MaxBytes < 0:
		return fmt.Errorf("runtime: PeerOptions.MaxBytes is %d", o.MaxBytes)
	case o.Grace < 0:
		return fmt.Errorf("runtime: PeerOptions.Grace is %v", o.Grace)
	case o.Patience < 0:
		return fmt.Errorf("runtime: PeerOptions.Patience is %v", o.Patience)
	}
	return nil
}

func (o PeerOptions) ledger() ledgerLimits {
	return ledgerLimits{open: o.MaxOpen, bytes: o.MaxBytes, grace: o.Grace, patience: o.Patience}
}

// Peers is what makes agents of other processes agents of a node: the [wire.Handler] of
// the sessions that they come by. Whoever speaks over a session is an agent of the node
// from then on, under its own id, as long as the session lasts: a proxy, which passes on
// what it gets. It is hidden until the peer introduces itself by a QUERY_CAPABILITIES
// with its own Capabilities; then agents find it and delegate to it as to any other. It
// is hidden again once it says that it has none.
//
// A session that speaks as an agent of an older one replaces that: the older is closed,
// and ends as if it had been lost. One that has not authenticated does not replace one
// that has. Nobody speaks as an agent that runs on the node itself.
type Peers struct {
	node *Node
	opts PeerOptions

	mu      sync.Mutex
	proxies map[performatives.AgentID]*proxy // of the sessions under way, by folded ids
	leaving map[performatives.AgentID]*proxy // those before them, whose agents have not stopped yet
}

var _ wire.Handler = (*Peers)(nil)

// NewPeers returns the handler of a server for node. The error names the option that is
// wrong. It needs no end of its own: stop the server, and then the node.
func NewPeers(node *Node, o PeerOptions) (*Peers, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	p := &Peers{
		node: node, opts: o.withDefaults(),
		proxies: make(map[performatives.AgentID]*proxy), leaving: make(map[performatives.AgentID]*proxy),
	}
	node.Events().Listen(p.stopped, actors.About[actors.AgentStopped]()) // as long as the node
	return p, nil
}

// peerLink is the link of one session of Peers.
type peerLink struct {
	*link
	agents map[performatives.AgentID]*proxy // by folded ids; guarded by Peers.mu
	over   bool                             // guarded by Peers.mu
	last   *proxy                           // who spoke last; of the session's reader
}

// Opened begins a session.
func (p *Peers) Opened(s *wire.Session) {
	s.SetValue(&peerLink{link: newLink(p.node, s, p.opts.ledger()), agents: make(map[performatives.AgentID]*proxy)})
}

func linkOf(s *wire.Session) *peerLink { return s.Value().(*peerLink) }

// Receive passes a message on, in the name of the agent that sent it: to the agent that
// it is for, to one of the namespace that it is for, or to all.
func (p *Peers) Receive(s *wire.Session, m *performatives.Message) error {
	l := linkOf(s)
	agent, err := p.speaker(l, m.Sender())
	switch {
	case errors.Is(err, performatives.CodeStopped): // nobody may be left to hear that
		return p.node.turnAway(m, err)
	case err != nil:
		return err
	}
	err = p.pass(l, agent, m)
	if !agent.current() { // since just now, perhaps
		agent.part(l.ledger.of(agent.id))
	}
	return err
}

// pass passes on a message of an agent of l's.
func (p *Peers) pass(l *peerLink, agent *proxy, m *performatives.Message) error {
	agent.left = false
	if agent.answered(m) {
		return nil
	}
	introduces := agent.introduce(m)
	switch to := m.Receiver(); {
	case to != "" && p.isAgent(l, agent, m):
		return l.deliver(m, to, agent.id)
	case to == "" && !introduces:
		p.node.told.asked(true, m)
		return p.node.Send(m)
	}
	return p.serve(l, agent, m)
}

// isAgent reports whether an agent of the node is the receiver of m, and not what the
// node's name stands for to a peer.
func (p *Peers) isAgent(l *peerLink, from *proxy, m *performatives.Message) bool {
	if _, ok := p.node.system.Lookup(m.Receiver()); !ok {
		return false
	}
	if !m.Receiver().Is(p.node.self.ID()) {
		return true
	}
	switch m.Performative() { //nolint:exhaustive // what the system serves; all else is of what that has begun, or answers what the node has asked
	case performatives.ActQueryCapabilities, performatives.ActTaskRequest, performatives.ActQueryRef:
		return false
	}
	_, served := l.ledger.localOf(from.id, m)
	return !served
}

// Undelivered tells the sender of a message that the peer has not got it.
func (p *Peers) Undelivered(s *wire.Session, m *performatives.Message, why *performatives.Refusal) {
	linkOf(s).undelivered(m, why)
}

// disconnected is what agents are told of a peer that is gone.
var disconnected = performatives.Failure{ErrorCode: performatives.CodeDisconnected, ErrorText: "the agent disconnected"}

// Closed ends what the session was for: who waits for its agents is told so, once and for
// all, what its agents have asked for is withdrawn, and they are agents of the node no
// more. An answer that one of them gives later, over another session, is a dead letter.
func (p *Peers) Closed(s *wire.Session, _ error) { p.end(linkOf(s), disconnected) }

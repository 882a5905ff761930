package runtime

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/internal/relay"
	"github.com/ribosome-agents/ribosome/wire"
)

// The defaults of [PeerOptions].
const (
	DefaultPeerAgents = 64
	DefaultPeerOpen   = 65_536
	DefaultPeerBytes  = 256 << 20
	DefaultDrainTime  = 10 * time.Second
)

// PeerOptions configures [Peers]. The zero value works.
type PeerOptions struct {
	// MaxAgents is the largest number of agents of one session. Zero means
	// [DefaultPeerAgents]. A further agent replaces one that has withdrawn its
	// capabilities, or is refused as busy.
	MaxAgents int
	// MaxOpen is the largest number of open conversations of one session, in both
	// directions together. Zero means [DefaultPeerOpen]. Further requests are refused as
	// busy.
	MaxOpen int
	// MaxBytes is the largest total size, in bytes, of the long requests of open
	// conversations. A long request has 4 KiB or more. A request larger than MaxBytes is
	// accepted when there is no other. Zero means [DefaultPeerBytes]. Further long
	// requests are refused as busy.
	MaxBytes int
	// Grace is the time for the agent of a session to answer the CANCEL of another node, after the
	// ReplyBy of that node's request. At its end this node ends the request, and the agent gets
	// CANCEL if the other node has sent none. The asker is told at the ReplyBy, by its own node,
	// and has no grace: an asker of this node gets FAILURE then, and what the agent still sends is
	// late. Zero means twice [codons.DefaultGrace].
	Grace time.Duration
	// Patience is the time, from its arrival, in which a local agent may reply to a
	// peer's request without a ReplyBy. It must be longer than the limits of
	// Options.Times. Zero means twice [codons.DefaultDeadline].
	Patience time.Duration
	// Operators are the principals that may have the node drain: see [Peers.Drained]. Each covers
	// itself and the ids below it, and * covers every peer that may connect, with or without
	// authentication. Without operators, no peer may have the node drain.
	Operators []performatives.AgentID
	// Health returns the health of an agent, which the namespace system tells peers; it is false
	// for one that does not exist. Nil means [Node.Health], which has no figures but those that
	// agents of sessions report. Package observe's Recorder.Health and HealthCounter.Health have
	// them of all. It is called by several goroutines.
	Health func(performatives.AgentID) (Health, bool)
	// DrainTime is how long the node may take to hand over its agents for an operator. Zero means
	// [DefaultDrainTime].
	DrainTime time.Duration
}

func (o PeerOptions) withDefaults() PeerOptions {
	o.MaxAgents = cmp.Or(o.MaxAgents, DefaultPeerAgents)
	o.MaxOpen = cmp.Or(o.MaxOpen, DefaultPeerOpen)
	o.MaxBytes = cmp.Or(o.MaxBytes, DefaultPeerBytes)
	o.Grace = cmp.Or(o.Grace, 2*codons.DefaultGrace)
	o.Patience = cmp.Or(o.Patience, relay.DefaultPatience)
	o.DrainTime = cmp.Or(o.DrainTime, DefaultDrainTime)
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
	case o.DrainTime < 0:
		return fmt.Errorf("runtime: PeerOptions.DrainTime is %v", o.DrainTime)
	case slices.Contains(o.Operators, ""):
		return errors.New("runtime: PeerOptions.Operators has an empty name")
	}
	return nil
}

// limits returns the bounds of a session, with the defaults.
func (o PeerOptions) limits() relay.Limits {
	o = o.withDefaults()
	return relay.Limits{Open: o.MaxOpen, Bytes: o.MaxBytes, Grace: o.Grace, Patience: o.Patience}
}

// Peers is the [wire.Handler] of a server's sessions. It makes the agents of other processes agents
// of a node: each sender id of a session is an entry of the node's directory, whose destination is
// the session, until the session ends. Discovery excludes it until the peer introduces itself by a
// QUERY_CAPABILITIES with its own Capabilities. Other agents can then find it and delegate to it.
// Empty Capabilities hide it again.
//
// A request of a peer that an agent of the node answers in its Receive, and a request to another
// peer, has an end: at its deadline and at the end of a session, the asker gets FAILURE and the
// agent that is asked CANCEL. A conversation of an agent of the node has its codon's.
//
// A sender that only asks is a guest: the node knows it under an id of its own, such as
// vscode-user/client-7@n1, so that several sessions may send as vscode-user, each with its own
// answers. A session owns an id once it has introduced itself under it, with capabilities or with
// empty ones, or has sent a sealed message. Only an owned id can be addressed by others.
//
// A session that registers an id which an older session owns replaces that session: the older one
// is closed, and a warning is logged. What the agent has asked goes on, and its answers come over
// the session that owns the id then, also at another node. What it works on ends as if the
// connection was lost. With authentication, only a session of the same principal replaces another.
// No session can send as an agent that runs on the node itself.
type Peers struct {
	node *Node
	opts PeerOptions

	lastGuest atomic.Int64                                   // the number of the latest guest
	services  atomic.Pointer[map[performatives.AgentID]bool] // names of services in the dialects of the peers, folded

	drain   sync.Once
	drained chan struct{}
}

var _ wire.HostHandler = (*Peers)(nil)

// NewPeers returns the handler of a server for node. The error names the invalid option.
// Peers has no Stop: stop the server, and then the node.
func NewPeers(node *Node, o PeerOptions) (*Peers, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	return &Peers{node: node, opts: o.withDefaults(), drained: make(chan struct{})}, nil
}

// peerLink is the link of one session of Peers.
type peerLink struct {
	*link
	node    *Node
	session *wire.Session

	agents map[performatives.AgentID]*sessionAgent // by folded id; guarded by Node.handover
	last   *sessionAgent                           // the sender of the latest message; used only by the session's reader

	guests map[performatives.AgentID]performatives.AgentID // the ids of guests, by folded sender; used only by the session's reader
	mixed  bool                                            // a sender has been a guest and owns its id now; used only by the session's reader
}

func newPeerLink(p *Peers, s *wire.Session) *peerLink {
	return &peerLink{
		link: p.node.relay.NewLink(relay.Session, s, p.opts.limits()), node: p.node,
		session: s,
		agents:  make(map[performatives.AgentID]*sessionAgent),
		guests:  make(map[performatives.AgentID]performatives.AgentID),
	}
}

// idLocked returns the id under which the node knows the sender of a message: its own if the
// session owns it, else that of a guest.
func (p *Peers) idLocked(l *peerLink, m *performatives.Message) (performatives.AgentID, error) {
	key := m.Sender().Fold()
	guest, known := l.guests[key]
	owned := l.agents[key] != nil || l.introduces(m)
	l.mixed = l.mixed || owned && known
	switch {
	case owned && !(known && p.continues(l, guest, m)):
		return m.Sender(), nil
	case known:
		return guest, nil
	}
	guest = m.Sender().Guest(p.lastGuest.Add(1), p.node.Name())
	if longer := len(guest) - len(m.Sender()); len(guest) > performatives.MaxIDLength {
		return "", refused(performatives.CodeInvalidPayload, fmt.Sprintf("the sender is too long: the id of a guest is longer by %d bytes", longer))
	}
	return guest, nil
}

// introduces reports whether the sender of m registers its id: it says what it can do, even if that
// is nothing, or it seals a message, and so has the keys of that id.
func (l *peerLink) introduces(m *performatives.Message) bool {
	if l.session.SenderIsLabel(m) {
		return false
	}
	if m.Performative() != performatives.ActQueryCapabilities {
		return m.Sealed()
	}
	q, err := performatives.PayloadAs[performatives.QueryCapabilities](m)
	return err == nil && q.Capabilities != nil
}

// continues reports whether m belongs to what the session has asked as a guest, before it
// registered the id.
func (p *Peers) continues(l *peerLink, guest performatives.AgentID, m *performatives.Message) bool {
	return p.node.system.Conversing(m.Receiver(), m.ConversationID(), guest) ||
		l.Continues(m, guest)
}

// cloned returns a copy of an id that is kept: the id may be a part of a longer text, such as all
// names of a message.
func cloned(id performatives.AgentID) performatives.AgentID {
	return performatives.AgentID(strings.Clone(string(id)))
}

// Opened attaches a link to a new session.
func (p *Peers) Opened(s *wire.Session) {
	p.reserve(s)
	s.SetValue(newPeerLink(p, s))
}

func linkOf(s *wire.Session) *peerLink { return s.Value().(*peerLink) }

// Receive routes a message of the session to its receiver: an agent, a namespace, or all
// agents.
func (p *Peers) Receive(s *wire.Session, m *performatives.Message) error {
	if pause := p.node.system.Pause(m); pause > 0 {
		time.Sleep(pause) //nolint:forbidigo // it slows the peer down
	}
	l := linkOf(s)
	agent, err := p.speaker(l, m)
	if err != nil {
		return p.node.relay.Refuse(m, err)
	}
	if agent.id != agent.label {
		m = m.Readdressed(agent.id, m.Receiver())
	}
	in, to, err := p.node.chain.Run(OriginSession, m)
	if err != nil {
		return p.node.relay.Refuse(m, err)
	}
	l.BeginReceive()
	defer l.EndReceive()
	if l.Ended() { // the peer may be disconnected already
		return p.node.relay.Refuse(m, errReplaced)
	}
	return p.pass(l, agent, in, to)
}

// pass routes a message from an agent of l, which the chain has routed to the agent routed.
func (p *Peers) pass(l *peerLink, agent *sessionAgent, m *performatives.Message, routed performatives.AgentID) error {
	agent.left = false
	if agent.answered(m) {
		return nil
	}
	introduces, only := agent.introduce(m), agent.report(m)
	if only && p.coversAll(m.Receiver()) { // the list of all agents would be of no use to a heartbeat
		return p.reply(l, m, performatives.ActInformCapabilities, performatives.InformCapabilities{Capabilities: new(performatives.Capabilities)})
	}
	if worker := p.node.relay.WorkerOf(agent.id, m, routed); worker != "" {
		return l.DeliverAs(m, worker, agent.id)
	}
	switch to := m.Receiver(); {
	case to != "" && p.isAgent(agent, m):
		if to.Is(p.node.self.ID()) && !p.node.system.Conversing(to, m.ConversationID(), agent.id) {
			m = p.toAsker(agent, m)
		}
		return l.Deliver(m, agent.id)
	case to == "" && !introduces && (m.Performative() != performatives.ActQueryCapabilities || l.session.Permits(m, "")):
		return p.node.system.Pass(m)
	default:
		if m = p.toAsker(agent, m); m.Receiver() != to {
			return l.Deliver(m, agent.id)
		}
	}
	return p.serveNamespace(l, agent, m)
}

// Hosts reports whether the node itself serves m, which needs no rule: the handshake, the
// initialization and the registration of a peer, and its queries for the agents that it may call.
// The answers list no others. A task for all agents goes to one that the peer may send it to.
func (p *Peers) Hosts(m *performatives.Message) bool {
	if !p.coversAll(m.Receiver()) {
		return false
	}
	switch m.Performative() { //nolint:exhaustive // other acts are not for the node itself
	case performatives.ActQueryCapabilities, performatives.ActCancel:
		return true
	case performatives.ActTaskRequest:
		t, err := performatives.PayloadAs[performatives.TaskRequest](m)
		return err == nil && t.TaskType != taskHealth
	case performatives.ActQueryRef:
		q, err := performatives.PayloadAs[performatives.QueryRef](m)
		return err == nil && q.Reference == referenceAgents
	}
	return false
}

// Owns reports whether the session owns the id of the sender of m.
func (p *Peers) Owns(s *wire.Session, m *performatives.Message) bool {
	l := linkOf(s)
	if a := l.last; a != nil && a.label == m.Sender() && !l.mixed {
		return a.label == a.id
	}
	p.node.handover.Lock()
	defer p.node.handover.Unlock()
	return l.agents[m.Sender().Fold()] != nil
}

// toAsker returns an answer of an agent of a session for the agent that has asked it. The answer
// names another receiver: the node, a namespace, the name of a guest, or none that the node knows.
// toAsker returns m if it answers nothing, or the requests of several agents.
func (p *Peers) toAsker(from *sessionAgent, m *performatives.Message) *performatives.Message {
	if m.InReplyTo() == "" {
		return m
	}
	askers := from.link.AskersOf(from.id, performatives.MessageID(m.InReplyTo()))
	for _, id := range []performatives.ConversationID{m.ConversationID(), performatives.ConversationID(m.InReplyTo())} {
		for _, c := range codons.ConversationsWith(p.node.system, id) {
			if c.Role == machine.Initiator && c.Peer.Is(from.id) && !slices.Contains(askers, c.Agent) {
				askers = append(askers, c.Agent)
			}
		}
	}
	if named := slices.DeleteFunc(slices.Clone(askers), func(id performatives.AgentID) bool { return !id.Name().Is(m.Receiver()) }); len(named) > 0 {
		askers = named
	}
	if len(askers) != 1 {
		return m
	}
	return m.Readdressed(m.Sender(), askers[0])
}

// isAgent reports whether the receiver of m is an agent that the node knows. For the node's own
// name it is false when the name stands for the namespace system: in a request that the
// namespace answers, or in a conversation that such a request opened.
func (p *Peers) isAgent(from *sessionAgent, m *performatives.Message) bool {
	if !m.Receiver().Is(p.node.self.ID()) {
		return p.node.knows(m.Receiver())
	}
	switch m.Performative() { //nolint:exhaustive // the acts that open a conversation with the namespace
	case performatives.ActQueryCapabilities, performatives.ActTaskRequest, performatives.ActQueryRef:
		return false
	}
	_, served := p.node.relay.Aliased(from.id, m)
	return !served
}

// Undelivered handles a message that the session did not deliver to the peer. An answer that was
// not written, to an agent that another session owns now, is sent over that.
func (p *Peers) Undelivered(s *wire.Session, m *performatives.Message, why *performatives.Refusal) {
	l := linkOf(s)
	m = p.unlabelled(l, m)
	if r, ok := p.node.system.Find(m.Receiver()); ok && why.Code == performatives.CodeStopped && !m.Performative().ExpectsReply() {
		if p.node.relay.LinkOf(m.Receiver()) != l.link {
			if sent, err := p.node.relay.SendOver(r.Destination(), m); sent && err == nil {
				return
			}
		}
	}
	l.Undelivered(m, why)
}

// unlabelled returns a message to a guest under the id by which the node knows it, unless an agent
// of the session owns the name.
func (p *Peers) unlabelled(l *peerLink, m *performatives.Message) *performatives.Message {
	p.node.handover.Lock()
	defer p.node.handover.Unlock()
	if l.agents[m.Receiver().Fold()] != nil {
		return m
	}
	for _, a := range l.agents {
		if a.label.Is(m.Receiver()) {
			return m.Readdressed(m.Sender(), a.id)
		}
	}
	return m
}

// Closed ends the link of a session: its agents leave the directory, the conversations with them
// lose their peers, and their other requests end, see [Peers]. A reply that such an agent later
// sends over another session is a dead letter.
func (p *Peers) Closed(s *wire.Session, _ error) {
	p.node.handover.Lock()
	defer p.node.handover.Unlock()
	linkOf(s).endLocked(relay.Disconnected)
}

package sessions

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/internal/chain"
	"github.com/ribosome-agents/ribosome/runtime/internal/relay"
	"github.com/ribosome-agents/ribosome/wire"
)

// Elsewhere is the destination of an agent of another node.
type Elsewhere interface {
	relay.Destination
	Node() string                    // the name of its node
	Moves() bool                     // it belongs to a session of that node
	ClaimedBy(principal string) bool // whether that principal may take it over
	Leave() *relay.Link              // takes it off its link, as a session of this node has it; called with Host.Handover
}

// Peers is the [wire.Handler] of a server's sessions: it makes the agents of other processes agents
// of the node.
type Peers struct {
	node *Sessions
	opts PeerOptions
	self performatives.AgentID // the name of the node

	lastGuest atomic.Int64 // the number of the latest guest
	services  sync.Map     // the names of services in the dialects of the peers, folded
}

// PeerOptions configures [Peers].
type PeerOptions struct {
	MaxAgents int // of a session
	Limits    relay.Limits

	// Health returns the health of an agent, for the namespace system.
	Health func(performatives.AgentID) (health any, ok bool)
	// Operate does what a REQUEST to the namespace system asks for, or returns why it does not.
	Operate func(*performatives.Message, Reply) error
}

// Reply sends a reply of the namespace system to a peer, unless it has gone.
type Reply func(act performatives.Performative, payload any)

var _ wire.HostHandler = (*Peers)(nil)

// NewPeers returns the handler of a server.
func (n *Sessions) NewPeers(o PeerOptions) *Peers {
	return &Peers{node: n, opts: o, self: performatives.AgentID(n.System.Node())}
}

// link is the link of one session of Peers.
type link struct {
	*relay.Link
	node    *Sessions
	session *wire.Session

	agents map[performatives.AgentID]*Agent // by folded id; guarded by Host.Handover
	last   *Agent                           // the sender of the latest message; used only by the session's reader

	guests map[performatives.AgentID]performatives.AgentID // the ids of guests, by folded sender; guarded by Host.Handover
	mixed  bool                                            // a sender has been a guest and owns its id now; used only by the session's reader
	owed   time.Duration                                   // of pauses; used only by the session's reader
}

// A session's reader pauses for pauseTime when its messages ask for owedTime of pauses together: on
// a busy machine it comes late out of each.
const (
	owedTime  = 32 * time.Millisecond
	pauseTime = 5 * time.Millisecond
)

// pause slows the peer down.
func (l *link) pause(d time.Duration) {
	if l.owed += d; l.owed >= owedTime {
		l.owed = 0
		time.Sleep(pauseTime) //nolint:forbidigo // nothing else is to be done meanwhile
	}
}

func newLink(p *Peers, s *wire.Session) *link {
	return &link{
		Link: p.node.Relay.NewLink(relay.Session, s, p.opts.Limits), node: p.node,
		session: s,
		agents:  make(map[performatives.AgentID]*Agent),
		guests:  make(map[performatives.AgentID]performatives.AgentID),
	}
}

// idLocked returns the id under which the node knows the sender of a message: its own if the
// session owns it, else that of a guest.
func (p *Peers) idLocked(l *link, m *performatives.Message) (performatives.AgentID, error) {
	key := m.Sender().Fold()
	guest, known := l.guests[key]
	owned := l.agents[key] != nil || l.introduces(m)
	l.mixed = l.mixed || owned && known
	switch {
	case owned && !(known && l.Continues(m, guest)):
		return m.Sender(), nil
	case known:
		return guest, nil
	}
	guest = m.Sender().Guest(p.lastGuest.Add(1), p.node.System.Node())
	if longer := len(guest) - len(m.Sender()); len(guest) > performatives.MaxIDLength {
		return "", performatives.Refused(performatives.CodeInvalidPayload, fmt.Sprintf("the sender is too long: the id of a guest is longer by %d bytes", longer))
	}
	return guest, nil
}

// introduces reports whether the sender of m registers its id: it says what it can do, even if that
// is nothing, or it seals a message, and so has the keys of that id.
func (l *link) introduces(m *performatives.Message) bool {
	if l.session.SenderIsLabel(m) {
		return false
	}
	if m.Performative() != performatives.ActQueryCapabilities {
		return m.Sealed()
	}
	q, err := performatives.PayloadAs[performatives.QueryCapabilities](m)
	return err == nil && q.Capabilities != nil
}

// Opened attaches a link to a new session, and reserves the names of the services in its dialects.
func (p *Peers) Opened(s *wire.Session) {
	for _, name := range s.Services() {
		p.services.Store(name.Fold(), true)
	}
	s.SetValue(newLink(p, s))
}

func linkOf(s *wire.Session) *link { return s.Value().(*link) }

// Receive routes a message of the session to its receiver: an agent, a namespace, or all
// agents.
func (p *Peers) Receive(s *wire.Session, m *performatives.Message) error {
	l := linkOf(s)
	receiver, _ := p.node.System.Find(m.Receiver())
	l.pause(p.node.System.Pause(m, receiver))
	agent, err := p.speaker(l, m)
	if err != nil {
		return p.node.Relay.Refuse(m, err)
	}
	if agent.id != agent.label {
		m = m.Readdressed(agent.id, m.Receiver())
	}
	m, to, err := p.node.Chain.Run(chain.Session, m)
	if err != nil {
		return p.node.Relay.Refuse(m, err)
	}
	l.Receiving.Lock()
	defer l.Receiving.Unlock()
	if l.Ended() { // the peer may be disconnected already
		return p.node.Relay.Refuse(m, errReplaced)
	}
	return p.pass(l, agent, m, to)
}

// pass routes a message from an agent of l, which the chain has routed to the agent routed.
func (p *Peers) pass(l *link, agent *Agent, m *performatives.Message, routed performatives.AgentID) error {
	agent.left = false
	introduces, reports := p.introduce(l, agent, m)
	if reports && p.coversAll(m.Receiver()) { // the list of all agents would be of no use to a heartbeat
		return p.reply(l, m, performatives.ActInformCapabilities, performatives.InformCapabilities{Capabilities: new(performatives.Capabilities)})
	}
	if worker := p.node.Relay.WorkerOf(agent.id, m, routed); worker != "" {
		return l.DeliverAs(m, worker, agent.id, false)
	}
	switch to := m.Receiver(); {
	case to != "" && p.isAgent(m):
		if to.Is(p.self) && !p.node.System.Conversing(to, m.ConversationID(), agent.id) {
			m = p.toAsker(agent, m)
		}
		return l.Deliver(m, agent.id)
	case to == "" && !introduces && (m.Performative() != performatives.ActQueryCapabilities || l.session.Permits(m, "")):
		return p.node.System.Pass(m)
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
	p.node.Handover.Lock()
	defer p.node.Handover.Unlock()
	return l.agents[m.Sender().Fold()] != nil
}

// toAsker returns an answer of an agent of a session for the agent that has asked it. The answer
// names another receiver: the node, a namespace, the name of a guest, or none that the node knows.
// toAsker returns m if it answers nothing, or the requests of several agents.
func (p *Peers) toAsker(from *Agent, m *performatives.Message) *performatives.Message {
	if m.InReplyTo() == "" {
		return m
	}
	askers := from.link.AskersOf(from.id, performatives.MessageID(m.InReplyTo()))
	for _, id := range []performatives.ConversationID{m.ConversationID(), performatives.ConversationID(m.InReplyTo())} {
		for _, c := range codons.ConversationsWith(p.node.System, id) {
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
// name it is false in a request that the namespace system answers.
func (p *Peers) isAgent(m *performatives.Message) bool {
	answered := []performatives.Performative{performatives.ActQueryCapabilities, performatives.ActTaskRequest, performatives.ActQueryRef}
	return p.node.Knows(m.Receiver()) && !(m.Receiver().Is(p.self) && slices.Contains(answered, m.Performative()))
}

// Undelivered handles a message that the session did not deliver to the peer. An answer that was
// not written, to an agent that another session owns now, is sent over that.
func (p *Peers) Undelivered(s *wire.Session, m *performatives.Message, why *performatives.Refusal) {
	l, key := linkOf(s), m.Receiver().Fold()
	p.node.Handover.Lock()
	if guest, known := l.guests[key]; known && l.agents[key] == nil { // the name of a guest, and of no agent of the session
		m = m.Readdressed(m.Sender(), guest)
	}
	p.node.Handover.Unlock()
	if why.Code != performatives.CodeStopped || m.Performative().ExpectsReply() || !l.Redirect(m) {
		l.Undelivered(m, why)
	}
}

// Closed ends the link of a session: its agents leave the directory, the conversations with them
// lose their peers, and their other requests end, see [Peers]. A reply that such an agent later
// sends over another session is a dead letter.
func (p *Peers) Closed(s *wire.Session, _ error) {
	l := linkOf(s)
	p.node.shownLock.Lock()
	delete(p.node.shown, l)
	p.node.shownLock.Unlock()
	p.node.Handover.Lock()
	defer p.node.Handover.Unlock()
	l.endLocked(relay.Disconnected)
}

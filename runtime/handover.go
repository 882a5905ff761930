package runtime

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/cluster/directory"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/internal/namespace"
	"github.com/ribosome-agents/ribosome/runtime/internal/relay"
	"github.com/ribosome-agents/ribosome/wire"
)

// errReplaced is the refusal of a message over a session whose agents another session has taken
// over.
var errReplaced = refused(performatives.CodeStopped, "another connection speaks for the agent")

// errTakenOver is the error that ends a session whose agents another session has taken over. Its
// code tells the peer not to connect again, since the two peers would otherwise end each other's
// sessions.
var errTakenOver = refused(performatives.CodeForbidden, "another connection speaks for the agent")

func refused(code performatives.Code, text string) *performatives.Refusal {
	return &performatives.Refusal{Code: code, Text: text}
}

func refusedCopy(m *performatives.Message, code performatives.Code, text string) *performatives.Refusal {
	return &performatives.Refusal{Code: code, About: m.ID(), Text: text}
}

// speaker returns the agent that a message over l comes from, and registers it with its first
// message. It is called by the reader of l.
func (p *Peers) speaker(l *peerLink, m *performatives.Message) (*sessionAgent, error) {
	if a := l.last; a != nil && a.label == m.Sender() && !l.mixed && (a.label == a.id || !l.introduces(m)) {
		return a, nil
	}
	p.node.handover.Lock()
	defer p.node.handover.Unlock()
	id, err := p.idLocked(l, m)
	if err != nil {
		return nil, err
	}
	a, err := p.claimLocked(l, id, m)
	if err != nil {
		return nil, err
	}
	if l.last = a; id != m.Sender() {
		l.guests[cloned(m.Sender().Fold())] = id
	}
	return a, nil
}

// claimLocked gives the id to the session of l, for the sender of m, unless the session has it. If
// another session has the id, it is replaced: when claimLocked returns, all messages of that
// session were passed on, the conversations with its agents have lost their peers, and the answers
// to what the agent has asked come to l.
func (p *Peers) claimLocked(l *peerLink, id performatives.AgentID, m *performatives.Message) (*sessionAgent, error) {
	key := id.Fold()
	if a := l.agents[key]; a != nil {
		return a, nil
	}
	switch {
	case l.Ended():
		return nil, errReplaced
	case l.session.SenderIsLabel(m): // which proves nothing
	case id != m.Sender() && p.hosted(m.Sender()):
		return nil, errTaken
	case p.reserved(m.Sender().Fold()):
		return nil, refused(performatives.CodeForbidden, "the name is reserved: speak as another agent")
	}
	if len(l.agents) >= p.opts.MaxAgents && !l.makeRoomLocked() {
		return nil, refused(performatives.CodeBusy, "the connection speaks as too many agents")
	}
	a := &sessionAgent{id: id, label: m.Sender(), principal: m.Principal(), link: l}
	var err error
	if current, taken := p.node.system.Find(id); taken {
		a.registration, err = l.takeOverLocked(current, a)
	} else {
		a.registration, err = p.node.system.Register(id, a)
	}
	switch {
	case errors.Is(err, actors.ErrExists): // an agent of the node starts or stops
		return nil, errTaken
	case errors.Is(err, actors.ErrStopped):
		return nil, refused(performatives.CodeStopped, "the node stops")
	case err != nil:
		return nil, err
	}
	l.agents[key] = a
	p.node.cluster.Load().agentChanged(id)
	return a, nil
}

var errTaken = refused(performatives.CodeForbidden, "an agent of that name runs on the node: speak as another")

// takeOverLocked replaces the session of an agent by l, also one with another node of the cluster.
func (l *peerLink) takeOverLocked(current *actors.Registration, by *sessionAgent) (*actors.Registration, error) {
	if elsewhere, ok := current.Destination().(*nodeAgent); ok {
		return l.bringLocked(elsewhere, by)
	}
	of, ok := current.Destination().(*sessionAgent)
	switch {
	case !ok:
		return nil, errTaken
	case of.id != of.label: // a guest, whose id is its own
		return nil, errTaken
	case of.principal != "" && !strings.EqualFold(of.principal, by.principal):
		return nil, refused(performatives.CodeForbidden, "the agent is connected, by a connection that has authenticated as another")
	}
	l.node.system.Logger().Warn("another connection takes over the agents of a session", "agents", of.link.idsLocked())
	r, ok := current.Replace(by.id, by)
	if !ok {
		return nil, actors.ErrExists
	}
	l.session.Adopt(of.link.session.Dialect(), of.link.followLocked(of, l.link))
	of.link.session.Dismiss(errTakenOver)
	return r, nil
}

// bringLocked takes over an agent whose session is with another node. That node ends the session
// and sends this one the requests made over it.
func (l *peerLink) bringLocked(from *nodeAgent, by *sessionAgent) (*actors.Registration, error) {
	switch {
	case !from.moves:
		return nil, refused(performatives.CodeForbidden, "an agent of that name runs in the cluster: speak as another")
	case from.principal != directory.Digest{} && from.principal != principalOf(by.principal):
		return nil, refused(performatives.CodeForbidden, "the agent is connected to another node, by a connection that has authenticated as another")
	}
	l.node.system.Logger().Warn("a connection takes over an agent of another node", "agent", by.id, "peer", from.link.peer.Name)
	by.waits.Store(true)
	r, ok := from.registration.Replace(by.id, by)
	if !ok {
		return nil, actors.ErrExists
	}
	delete(from.link.agents, by.id.Fold())
	l.node.system.LoseWorkers(relay.Replaced.ErrorCode, by.id)
	from.link.LoseWorker(by.id)
	l.node.relay.Follow(by.id, from.link.link, l.link)
	l.node.system.AfterFunc(adoptTime, by.release)
	return r, nil
}

// adoptTime is how long the answers to an agent from another node wait for its requests. Some
// dialects cannot write an answer without its request.
const adoptTime = 2 * time.Second

// hosted reports whether an agent with that id runs in this process or on another node, and is not
// one of a session.
func (p *Peers) hosted(id performatives.AgentID) bool {
	r, ok := p.node.system.Find(id)
	if !ok {
		return false
	}
	switch a := r.Destination().(type) {
	case *sessionAgent:
		return false
	case *nodeAgent:
		return !a.moves
	}
	return true
}

// reserved reports whether no peer may speak under that name, because it is the name of a
// namespace, of a service in a dialect of the peers, or of this node.
func (p *Peers) reserved(id performatives.AgentID) bool {
	services := p.services.Load()
	return id == namespace.System || id == namespace.Default || services != nil && (*services)[id] || p.node.self.ID().Is(id)
}

// reserve adds the services in the dialects of a session to the reserved names.
func (p *Peers) reserve(s *wire.Session) {
	for _, name := range s.Services() {
		for !p.reserved(name.Fold()) {
			old, all := p.services.Load(), map[performatives.AgentID]bool{name.Fold(): true}
			if old != nil {
				maps.Copy(all, *old)
			}
			p.services.CompareAndSwap(old, &all)
		}
	}
}

// endLocked ends a session: its agents leave the directory and are lost.
func (l *peerLink) endLocked(why performatives.Failure) {
	l.removeLocked()
	l.Finish(why, l.idsLocked()...)
}

// followLocked ends a session that is replaced at one of its agents by the link to. What the agent
// works on is lost, and what it has asked goes on: its answers follow it. The session behind that
// link adopts the requests that followLocked returns.
func (l *peerLink) followLocked(a *sessionAgent, to *link) (requests []byte) {
	l.removeLocked()
	if !l.Close() {
		return nil
	}
	delete(l.agents, a.id.Fold())
	l.node.system.LoseWorkers(relay.Replaced.ErrorCode, a.id)
	l.node.relay.Follow(a.id, l.link, to)
	requests = l.session.Requests(a.label)
	l.Lose(relay.Replaced, l.idsLocked()...)
	return requests
}

func (l *peerLink) removeLocked() {
	for _, a := range l.agents {
		a.registration.Remove()
		l.node.cluster.Load().agentChanged(a.id)
	}
}

// idsLocked returns the ids of the agents of a session.
func (l *peerLink) idsLocked() []performatives.AgentID {
	return slices.Sorted(maps.Keys(l.agents))
}

// converses reports whether an agent of this process has a conversation with the agent open.
func (n *Node) converses(peer performatives.AgentID) bool {
	for c := range n.system.Conversations() {
		if c.Key().Peer.Is(peer) {
			return true
		}
	}
	return false
}

// makeRoomLocked takes an agent off the directory that has withdrawn its capabilities and has
// nothing open, and reports whether there is one. It is called by the reader of l.
func (l *peerLink) makeRoomLocked() bool {
	for key, a := range l.agents {
		if a.left && !l.Busy(a.id) && !l.node.converses(a.id) {
			a.registration.Remove()
			l.node.cluster.Load().agentChanged(a.id)
			l.node.system.LosePeers(performatives.CodeStopped, a.id)
			delete(l.agents, key)
			if l.last == a {
				l.last = nil
			}
			return true
		}
	}
	return false
}

package sessions

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/internal/namespace"
	"github.com/ribosome-agents/ribosome/runtime/internal/relay"
)

// errReplaced is the refusal of a message over a session whose agents another session has taken
// over.
var errReplaced = performatives.Refused(performatives.CodeStopped, "another connection speaks for the agent")

// errTakenOver is the error that ends a session whose agents another session has taken over. Its
// code tells the peer not to connect again, since the two peers would otherwise end each other's
// sessions.
var errTakenOver = performatives.Refused(performatives.CodeForbidden, "another connection speaks for the agent")

// speaker returns the agent that a message over l comes from, and registers it with its first
// message. It is called by the reader of l.
func (p *Peers) speaker(l *link, m *performatives.Message) (*Agent, error) {
	if a := l.last; a != nil && a.label == m.Sender() && !l.mixed && (a.label == a.id || !l.introduces(m)) {
		return a, nil
	}
	p.node.Handover.Lock()
	defer p.node.Handover.Unlock()
	id, err := p.idLocked(l, m)
	if err != nil {
		return nil, err
	}
	a, err := p.claimLocked(l, id, m)
	if err != nil {
		return nil, err
	}
	if l.last = a; id != m.Sender() {
		l.guests[m.Sender().Fold().Clone()] = id
	}
	return a, nil
}

// claimLocked gives the id to the session of l, for the sender of m, unless the session has it. If
// another session has the id, it is replaced: when claimLocked returns, all messages of that
// session were passed on, the conversations with its agents have lost their peers, and the answers
// to what the agent has asked come to l.
func (p *Peers) claimLocked(l *link, id performatives.AgentID, m *performatives.Message) (*Agent, error) {
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
		return nil, performatives.Refused(performatives.CodeForbidden, "the name is reserved: speak as another agent")
	}
	if len(l.agents) >= p.opts.MaxAgents && !l.makeRoomLocked() {
		return nil, performatives.Refused(performatives.CodeBusy, "the connection speaks as too many agents")
	}
	a := &Agent{id: id, label: m.Sender(), principal: m.Principal(), link: l}
	var err error
	if current, taken := p.node.System.Find(id); taken {
		a.registration, err = l.takeOverLocked(current, a)
	} else {
		a.registration, err = p.node.System.Register(id, a)
	}
	switch {
	case errors.Is(err, actors.ErrExists): // an agent of the node starts or stops
		return nil, errTaken
	case errors.Is(err, actors.ErrStopped):
		return nil, performatives.Refused(performatives.CodeStopped, "the node stops")
	case err != nil:
		return nil, err
	}
	l.agents[key] = a
	p.node.Changed(id)
	return a, nil
}

var errTaken = performatives.Refused(performatives.CodeForbidden, "an agent of that name runs on the node: speak as another")

// takeOverLocked replaces the session of an agent by l, also one with another node of the cluster.
func (l *link) takeOverLocked(current *actors.Registration, by *Agent) (*actors.Registration, error) {
	if elsewhere, ok := current.Destination().(Elsewhere); ok {
		return l.bringLocked(current, elsewhere, by)
	}
	of, ok := current.Destination().(*Agent)
	switch {
	case !ok, of.id != of.label: // a guest, whose id is its own
		return nil, errTaken
	case of.principal != "" && !strings.EqualFold(of.principal, by.principal):
		return nil, performatives.Refused(performatives.CodeForbidden, "the agent is connected, by a connection that has authenticated as another")
	}
	l.node.System.Logger().Warn("another connection takes over the agents of a session", "agents", of.link.idsLocked())
	r, ok := current.Replace(by.id, by)
	if !ok {
		return nil, actors.ErrExists
	}
	by.Adopt(of.Follow(l.Link))
	of.Dismiss()
	return r, nil
}

// bringLocked takes over an agent whose session is with another node. That node ends the session
// and sends this one the requests made over it. The agent may have asked by way of a third node
// since the directory has it.
func (l *link) bringLocked(current *actors.Registration, from Elsewhere, by *Agent) (*actors.Registration, error) {
	switch {
	case !from.Moves():
		return nil, performatives.Refused(performatives.CodeForbidden, "an agent of that name runs in the cluster: speak as another")
	case !from.ClaimedBy(by.principal):
		return nil, performatives.Refused(performatives.CodeForbidden, "the agent is connected to another node, by a connection that has authenticated as another")
	}
	l.node.System.Logger().Warn("a connection takes over an agent of another node", "agent", by.id, "peer", from.Node())
	by.waits.Store(true)
	latest := from.Via()
	r, ok := current.Replace(by.id, by)
	if !ok {
		return nil, actors.ErrExists
	}
	l.node.System.LoseWorkers(relay.Replaced.ErrorCode, by.id)
	for _, via := range [...]*relay.Link{from.Leave(), latest} {
		via.LoseWorker(by.id)
		l.node.Relay.Follow(by.id, via, l.Link)
	}
	l.node.System.AfterFunc(adoptTime, by.Release)
	return r, nil
}

// adoptTime is how long the answers to an agent from another node wait for its requests. Some
// dialects cannot write an answer without its request. The other node sends them once gossip has
// told it of the agent, which takes a busy machine some seconds.
const adoptTime = 5 * time.Second

// hosted reports whether an id is that of an agent of this process, which may be about to start, or
// of another node. Agents of sessions do not count.
func (p *Peers) hosted(id performatives.AgentID) bool {
	r, ok := p.node.System.Find(id)
	if !ok {
		return false
	}
	_, ofSession := r.Destination().(*Agent)
	elsewhere, ok := r.Destination().(Elsewhere)
	return !ofSession && (!ok || !elsewhere.Moves())
}

// reserved reports whether no peer may speak under that name, because it is the name of a
// namespace, of a service in a dialect of the peers, or of this node.
func (p *Peers) reserved(id performatives.AgentID) bool {
	return id == namespace.System || id == namespace.Default || p.isService(id) || p.self.Is(id)
}

// isService reports whether the folded id is that of a service in a dialect.
func (p *Peers) isService(id performatives.AgentID) bool {
	_, is := p.services.Load(id)
	return is
}

// End ends the link of the agent's session. It is called with Host.Handover.
func (a *Agent) End() { a.link.endLocked(relay.Replaced) }

// Follow ends the session of the agent, which goes on behind the link to. What it works on is lost,
// and what it has asked goes on: its answers follow it. The session behind that link adopts the
// requests that Follow returns, with their dialect. It is called with Host.Handover.
func (a *Agent) Follow(to *relay.Link) (dialect string, requests []byte) {
	l := a.link
	l.removeLocked()
	if !l.Close() {
		return l.session.Dialect(), nil
	}
	delete(l.agents, a.id.Fold())
	l.node.System.LoseWorkers(relay.Replaced.ErrorCode, a.id)
	l.node.Relay.Follow(a.id, l.Link, to)
	requests = l.session.Requests(a.label)
	l.Lose(relay.Replaced, l.idsLocked()...)
	return l.session.Dialect(), requests
}

// Dismiss ends the agent's session, as another connection speaks for the agent.
func (a *Agent) Dismiss() { a.link.session.Dismiss(errTakenOver) }

// Adopt takes the requests that the agent sent by way of another node. It sends the answers that
// have waited for them.
func (a *Agent) Adopt(dialect string, requests []byte) {
	a.link.session.Adopt(dialect, requests)
	a.Release()
}

// Siblings returns the ids of the agents of the agent's session. It is called with Host.Handover.
func (a *Agent) Siblings() []performatives.AgentID { return a.link.idsLocked() }

// endLocked ends a session: its agents leave the directory and are lost.
func (l *link) endLocked(why performatives.Failure) {
	l.removeLocked()
	l.Finish(why, l.idsLocked()...)
}

func (l *link) removeLocked() {
	for _, a := range l.agents {
		a.registration.Remove()
		l.node.Changed(a.id)
	}
}

// idsLocked returns the ids of the agents of a session.
func (l *link) idsLocked() []performatives.AgentID {
	return slices.Sorted(maps.Keys(l.agents))
}

// converses reports whether an agent of this process has a conversation with the agent open.
func (n *Sessions) converses(peer performatives.AgentID) bool {
	for c := range n.System.Conversations() {
		if c.Key().Peer.Is(peer) {
			return true
		}
	}
	return false
}

// makeRoomLocked takes an agent off the directory that has withdrawn its capabilities and has
// nothing open, and reports whether there is one. It is called by the reader of l.
func (l *link) makeRoomLocked() bool {
	for key, a := range l.agents {
		if a.left && !l.Busy(a.id) && !l.node.converses(a.id) {
			a.registration.Remove()
			l.node.Changed(a.id)
			l.node.System.LosePeers(performatives.CodeStopped, a.id)
			delete(l.agents, key)
			if l.last == a {
				l.last = nil
			}
			return true
		}
	}
	return false
}

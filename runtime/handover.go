package runtime

import (
	"errors"
	"maps"
	"slices"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// disconnected is the reason that agents get when a peer disconnects.
var disconnected = performatives.Failure{ErrorCode: performatives.CodeDisconnected, ErrorText: "the agent disconnected"}

// replaced is the reason that agents get when a peer has come back by another session.
var replaced = performatives.Failure{ErrorCode: performatives.CodeDisconnected, ErrorText: "the agent disconnected, and has come back"}

// errReplaced is the refusal of a message over a session whose agents another session has taken over.
var errReplaced = refused(performatives.CodeStopped, "another connection speaks for the agent")

// errTakenOver is the error that ends a session whose agents another session has taken over. Its code tells the peer not to connect
// again, since the two peers would otherwise end each other's sessions.
var errTakenOver = refused(performatives.CodeForbidden, "another connection speaks for the agent")

func refused(code performatives.Code, text string) *performatives.Refusal {
	return &performatives.Refusal{Code: code, Text: text}
}

// speaker returns the agent that a message over l comes from, and registers it with its first message. The label is the name by
// which the peer knows it. It is called by the reader of l.
func (p *Peers) speaker(l *peerLink, id, label performatives.AgentID) (*sessionAgent, error) {
	if l.last != nil && l.last.id == id {
		return l.last, nil
	}
	p.node.handover.Lock()
	defer p.node.handover.Unlock()
	a, err := p.claimLocked(l, id, label)
	if err == nil {
		l.last = a
	}
	return a, err
}

// claimLocked gives the id to the session of l. If another session has the id, it is replaced: when claimLocked returns, all messages of
// that session were passed on, and the conversations with its agents have lost their peers.
func (p *Peers) claimLocked(l *peerLink, id, label performatives.AgentID) (*sessionAgent, error) {
	key := id.Fold()
	if a := l.agents[key]; a != nil {
		return a, nil
	}
	switch {
	case l.ended():
		return nil, errReplaced
	case p.reserved(key):
		return nil, refused(performatives.CodeForbidden, "the name is reserved: speak as another agent")
	case len(l.agents) >= p.opts.MaxAgents && !l.makeRoomLocked():
		return nil, refused(performatives.CodeBusy, "the connection speaks as too many agents")
	}
	a := &sessionAgent{id: id, label: label, link: l}
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
	case !mayReplace(l, of.link):
		return nil, refused(performatives.CodeForbidden, "the agent is connected, by a connection that has authenticated")
	}
	l.node.system.Logger().Warn("another connection takes over the agents of a session", "agents", of.link.idsLocked())
	r, ok := current.Replace(by.id, by)
	if !ok {
		return nil, actors.ErrExists
	}
	of.link.endLocked(replaced)
	of.link.session.Dismiss(errTakenOver)
	return r, nil
}

// bringLocked takes over an agent whose session is with another node, which will end that one.
func (l *peerLink) bringLocked(from *nodeAgent, by *sessionAgent) (*actors.Registration, error) {
	switch {
	case !from.moves:
		return nil, refused(performatives.CodeForbidden, "an agent of that name runs in the cluster: speak as another")
	case from.proved && !proved(l):
		return nil, refused(performatives.CodeForbidden, "the agent is connected to another node, by a connection that has authenticated")
	}
	l.node.system.Logger().Warn("a connection takes over an agent of another node", "agent", by.id, "peer", from.link.peer.Name)
	r, ok := from.registration.Replace(by.id, by)
	if !ok {
		return nil, actors.ErrExists
	}
	delete(from.link.agents, by.id.Fold())
	l.node.system.LosePeers(replaced.ErrorCode, by.id)
	return r, nil
}

// reserved reports whether no peer may speak under that name, because it is the name of a namespace or of this node.
func (p *Peers) reserved(id performatives.AgentID) bool {
	return id == namespaceSystem || id == namespaceDefault || id == namespaceRouter || id == namespaceDiscovery || p.node.self.ID().Is(id)
}

// mayReplace reports whether a session may take an agent over from another.
func mayReplace(by, of *peerLink) bool {
	return !proved(of) || proved(by)
}

// proved reports whether the peer has authenticated with a name or with ids of agents.
func proved(l *peerLink) bool {
	id, ok := l.session.Identity()
	return ok && (id.Name != "" || len(id.Agents) > 0)
}

// endLocked ends a session: its agents leave the directory and are lost.
func (l *peerLink) endLocked(why performatives.Failure) {
	for _, a := range l.agents {
		a.registration.Remove()
		l.node.cluster.Load().agentChanged(a.id)
	}
	l.link.finish(why, l.idsLocked()...)
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

// makeRoomLocked takes an agent off the directory that has withdrawn its capabilities and has nothing open, and reports whether
// there is one. It is called by the reader of l.
func (l *peerLink) makeRoomLocked() bool {
	for key, a := range l.agents {
		if a.left && !l.node.records.busy(party{a.id, l.link}) && !l.node.converses(a.id) {
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

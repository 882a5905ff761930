package runtime

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// patienceWithLeaving is how long a session waits for another to let go of an id. It is a
// matter of a few messages in mailboxes, unless the node is overwhelmed; meanwhile nobody
// reads what else the session's peer says.
const patienceWithLeaving = 5 * time.Second

// speaker returns the proxy of who speaks over l, and makes it first.
func (p *Peers) speaker(l *peerLink, id, label performatives.AgentID) (*proxy, error) {
	if l.last != nil && l.last.id == id && l.last.current() {
		return l.last, nil
	}
	var patience <-chan time.Time
	for {
		agent, fresh, wait, err := p.claim(l, id, label)
		switch {
		case err != nil:
			return nil, err
		case wait != nil:
			if patience == nil {
				patience = time.After(patienceWithLeaving)
			}
			select {
			case <-wait:
				continue
			case <-patience:
				return nil, refused(performatives.CodeBusy, "the former connection of the agent has not ended yet")
			}
		case fresh:
			err = p.spawn(agent)
		}
		if err != nil {
			return nil, err
		}
		l.last = agent
		return agent, nil
	}
}

// claim gives the id to l, or returns what to wait for before trying again.
func (p *Peers) claim(l *peerLink, id, label performatives.AgentID) (agent *proxy, fresh bool, wait <-chan struct{}, err error) {
	key := id.Fold()
	p.mu.Lock()
	defer p.mu.Unlock()
	current := p.proxies[key]
	switch {
	case l.over:
		return nil, false, nil, refused(performatives.CodeStopped, "another connection speaks for the agent")
	case current != nil && current.link == l:
		return current, false, nil, nil
	case p.reserved(key):
		return nil, false, nil, refused(performatives.CodeForbidden, "the name is reserved: speak as another agent")
	case current != nil && !current.isReady():
		return nil, false, current.ready, nil
	case current != nil && !mayReplace(l, current.link):
		return nil, false, nil, refused(performatives.CodeForbidden, "the agent is connected, by a connection that has authenticated")
	case current != nil:
		p.replaceLocked(current.link)
		return nil, false, p.leaving[key].gone, nil
	case p.leaving[key] != nil:
		return nil, false, p.leaving[key].gone, nil
	case len(l.agents) >= p.opts.MaxAgents && !p.makeRoomLocked(l):
		return nil, false, nil, refused(performatives.CodeBusy, "the connection speaks as too many agents")
	}
	agent = &proxy{id: id, label: label, peers: p, link: l, ready: make(chan struct{}), gone: make(chan struct{})}
	p.proxies[key], l.agents[key] = agent, agent
	return agent, true, nil, nil
}

func refused(code performatives.Code, text string) *performatives.Refusal {
	return &performatives.Refusal{Code: code, Text: text}
}

// reserved reports whether nobody outside may speak under that name.
func (p *Peers) reserved(id performatives.AgentID) bool {
	return id == namespaceSystem || id == namespaceDefault || p.node.self.ID().Is(id)
}

// mayReplace reports whether a session may take an agent over from another.
func mayReplace(by, of *peerLink) bool {
	return !proved(of) || proved(by)
}

// proved reports whether the peer has proved to be anyone in particular.
func proved(l *peerLink) bool {
	id, ok := l.session.Identity()
	return ok && (id.Name != "" || len(id.Agents) > 0)
}

// spawn starts the agent of a proxy.
func (p *Peers) spawn(a *proxy) error {
	//nolint:forbidigo // a proxy has nothing to start that could take time
	self, err := p.node.system.Spawn(context.Background(), actors.Spec{ID: a.id, New: func() actors.Agent { return a }, Hidden: true})
	return p.spawned(a, self, err)
}

// spawned is told what became of the agent of a proxy.
func (p *Peers) spawned(a *proxy, self actors.Self, err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := a.id.Fold()
	if err != nil {
		a.failed = true
		close(a.ready)
		close(a.gone)
		if p.proxies[key] == a {
			delete(p.proxies, key)
			delete(a.link.agents, key)
		}
		if p.leaving[key] == a {
			delete(p.leaving, key)
		}
		return spawnRefusal(err)
	}
	a.self = self
	close(a.ready)
	p.stoppedLocked(key) // who has stopped it at once was not heard
	switch {
	case p.proxies[key] == a:
		return nil
	case p.leaving[key] == a: // the session was replaced meanwhile
		a.stopAgent()
	}
	return refused(performatives.CodeStopped, "the agent has been stopped, or another connection speaks for it")
}

func spawnRefusal(err error) error {
	switch {
	case errors.Is(err, actors.ErrExists):
		return refused(performatives.CodeForbidden, "an agent of that name runs on the node: speak as another")
	case errors.Is(err, actors.ErrStopped):
		return refused(performatives.CodeStopped, "the node stops")
	}
	return refused(performatives.CodeInternal, "")
}

// replaced is what agents are told of a peer that has come back by another session.
var replaced = performatives.Failure{ErrorCode: performatives.CodeDisconnected, ErrorText: "the agent disconnected, and has come back"}

// replaceLocked ends a session in favour of another.
func (p *Peers) replaceLocked(l *peerLink) {
	p.node.system.Logger().Warn("another connection takes over the agents of a session", "agents", p.idsLocked(l))
	l.link.end(replaced, p.idsLocked(l)...)
	p.retireLocked(l)
	l.session.Dismiss(refused(performatives.CodeStopped, "another connection speaks for the agent"))
}

// end ends what a session was for.
func (p *Peers) end(l *peerLink, why performatives.Failure) {
	p.mu.Lock()
	ids := p.idsLocked(l)
	p.mu.Unlock()
	l.link.end(why, ids...)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.retireLocked(l)
}

// idsLocked returns the ids of the agents of a session.
func (p *Peers) idsLocked(l *peerLink) []performatives.AgentID {
	return slices.Collect(maps.Keys(l.agents))
}

// retireLocked takes the agents of a session off the node. What they still get is
// refused to its senders.
func (p *Peers) retireLocked(l *peerLink) {
	l.over = true
	for _, a := range l.agents {
		p.dropLocked(a)
	}
}

// dropLocked takes one agent of a session off the node.
func (p *Peers) dropLocked(a *proxy) {
	key := a.id.Fold()
	a.retired.Store(true)
	delete(p.proxies, key)
	delete(a.link.agents, key)
	p.leaving[key] = a
	if a.isReady() {
		a.stopAgent()
	}
}

// makeRoomLocked takes an agent off the node that has withdrawn, and reports whether
// there is one. It is called by the reader of l.
func (p *Peers) makeRoomLocked(l *peerLink) bool {
	for _, a := range l.agents {
		if a.left {
			p.dropLocked(a)
			return true
		}
	}
	return false
}

// agentChanged lets go of the agents of that id that have stopped. Another agent that has
// the same name may run by now.
func (p *Peers) agentChanged(id performatives.AgentID) {
	p.mu.Lock()
	a, talks := p.stoppedLocked(id.Fold())
	p.mu.Unlock()
	if len(talks) > 0 {
		a.part(talks)
	}
}

// stoppedLocked lets go of the agents of that id that have stopped. Of one that has not
// been stopped by its session it returns the conversations that have begun since.
func (p *Peers) stoppedLocked(key performatives.AgentID) (*proxy, []*talk) {
	if a := p.leaving[key]; a.hasStopped() {
		delete(p.leaving, key)
		close(a.gone)
	}
	if a := p.proxies[key]; a.hasStopped() { // not by its session
		a.retired.Store(true)
		delete(p.proxies, key)
		delete(a.link.agents, key)
		close(a.gone)
		return a, a.link.ledger.of(a.id)
	}
	return nil, nil
}

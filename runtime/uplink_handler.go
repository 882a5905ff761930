package runtime

import (
	"fmt"
	"maps"
	"slices"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/internal/namespace"
	"github.com/ribosome-agents/ribosome/wire"
)

// uplinkHandler is the [wire.Handler] of an Uplink's sessions.
type uplinkHandler Uplink

var _ wire.Handler = (*uplinkHandler)(nil)

func (h *uplinkHandler) uplink() *Uplink { return (*Uplink)(h) }

// Opened makes a new session the uplink's: what the far node sends first may be answered at once.
func (h *uplinkHandler) Opened(s *wire.Session) {
	u := h.uplink()
	u.mu.Lock()
	defer u.mu.Unlock()
	if l := u.linkOfLocked(s); !u.stopped {
		u.current.Store(l)
	}
}

// Receive routes a message to an agent of this node. A message for an unknown id is
// refused and not sent back to the far node.
func (h *uplinkHandler) Receive(s *wire.Session, m *performatives.Message) error {
	u := h.uplink()
	l := u.linkOf(s)
	if l.handleIntroductionReply(m) {
		return nil
	}
	in, routed, err := u.node.chain.Run(OriginUplink, m)
	if err != nil {
		return u.node.relay.Refuse(m, err)
	}
	m = in
	l.BeginReceive()
	defer l.EndReceive()
	to, worker := m.Receiver(), u.node.relay.WorkerOf(m.Sender(), m, routed)
	if worker != "" {
		to = worker
	}
	here := u.node.knows(to)
	_, own := u.node.system.Find(m.Sender())
	switch {
	case to != "" && !here && u.node.system.HasRun(to):
		return u.node.relay.Refuse(m, u.node.stopped(to))
	case to != "" && !here:
		return u.node.relay.Refuse(m, refused(performatives.CodeUnknownAgent, fmt.Sprintf("there is no agent %q", to)))
	case own:
		return u.node.relay.Refuse(m, refused(performatives.CodeForbidden, "an agent with the id of the sender runs on the receiving node"))
	case u.node.uplinkFor(m.Sender()) != u:
		return u.node.relay.Refuse(m, refused(performatives.CodeForbidden, "the receiving node reaches the sender by another connection"))
	case to == "":
		return u.node.system.Pass(m)
	case worker != "":
		return l.DeliverAs(m, worker, m.Sender())
	}
	return l.Deliver(m, m.Sender())
}

// Undelivered handles a message that the session did not deliver to the far node.
func (h *uplinkHandler) Undelivered(s *wire.Session, m *performatives.Message, why *performatives.Refusal) {
	h.uplink().linkOf(s).Undelivered(m, why)
}

// linkLost is the reason that agents get when the session with the far node ends.
var linkLost = performatives.Failure{ErrorCode: performatives.CodeDisconnected, ErrorText: "the connection to the agent's node was lost"}

// Closed ends the link of a session.
func (h *uplinkHandler) Closed(s *wire.Session, _ error) {
	u := h.uplink()
	l := u.linkOf(s)
	l.Finish(linkLost, u.distantPeers()...)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.current.CompareAndSwap(l, nil)
}

// distantPeers returns the peers of open conversations that are beyond the uplink.
func (u *Uplink) distantPeers() []performatives.AgentID {
	peers := make(map[performatives.AgentID]bool)
	for c := range u.node.system.Conversations() {
		peers[c.Key().Peer] = true
	}
	for id := range peers {
		if u.node.knows(id) || u.node.uplinkFor(id) != u {
			delete(peers, id)
		}
	}
	return slices.Collect(maps.Keys(peers))
}

// agentChanged updates the introduction of an agent of the node while there is a session.
func (u *Uplink) agentChanged(id performatives.AgentID) {
	if l := u.current.Load(); l != nil && u.opts.Introduce {
		l.updateIntroduction(id)
	}
}

func (u *Uplink) introduceAll(l *uplinkSession) {
	if !u.opts.Introduce {
		return
	}
	for agent := range u.node.system.Agents() {
		l.updateIntroduction(agent.ID())
	}
}

// updateIntroduction sends the far node the current capabilities of a visible agent, or
// empty capabilities for an agent that is not visible any more. When the far node refuses
// an agent because it has too many, the agent is introduced again at its next Announce.
func (l *uplinkSession) updateIntroduction(id performatives.AgentID) {
	l.introduceMu.Lock()
	defer l.introduceMu.Unlock()
	key := id.Fold()
	agent, runs := l.uplink.node.system.Find(id)
	switch visible := runs && agent.Visible(); {
	case visible:
		l.introduced[key] = true
		l.sendIntroduction(id, agent.Describe())
	case l.introduced[key]:
		delete(l.introduced, key)
		l.sendIntroduction(id, performatives.Capabilities{})
	}
}

// sendIntroduction sends a QUERY_CAPABILITIES with the capabilities of an agent.
func (l *uplinkSession) sendIntroduction(id performatives.AgentID, c performatives.Capabilities) {
	s := l.uplink.node.system.Stamp()
	m, err := performatives.New(performatives.Envelope{
		ID: s.ID, Timestamp: s.Time, Sender: id, Receiver: namespace.System, ReplyWith: string(s.ID),
		Ontology: performatives.OntologyCapabilityQuery, Payload: performatives.QueryCapabilities{Type: performatives.QuerySummary, Capabilities: &c},
	})
	if err != nil {
		return // the error is an invalid stamp
	}
	l.mu.Lock()
	if len(l.asked) < l.uplink.opts.MaxOpen { // bounds the map for a peer that does not reply
		l.asked[string(m.ID())] = id
	}
	l.mu.Unlock()
	if err := l.session.Send(m); err != nil {
		l.takeIntroduction(string(m.ID()))
		l.uplink.node.system.Logger().Warn("agent not introduced", "agent", string(id), "err", err)
	}
}

// handleIntroductionReply reports whether m replies to an introduction. Such a reply is
// not routed to the agent, which has not sent a request. A refusal is logged.
func (l *uplinkSession) handleIntroductionReply(m *performatives.Message) bool {
	agent, ok := l.takeIntroduction(m.InReplyTo())
	if !ok {
		return false
	}
	if r := m.AsRefusal(); r != nil {
		l.uplink.node.system.Logger().Warn("agent not introduced", "agent", string(agent), "err", r)
	}
	return true
}

func (l *uplinkSession) takeIntroduction(id string) (performatives.AgentID, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	agent, ok := l.asked[id]
	delete(l.asked, id)
	return agent, ok
}

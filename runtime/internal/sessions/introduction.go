package sessions

import (
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/internal/namespace"
)

func (u *Uplink) introduceAll(l *uplinkSession) {
	if !u.opts.Introduce {
		return
	}
	for agent := range u.node.System.Agents() {
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
	agent, runs := l.uplink.node.System.Find(id)
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
	s := l.uplink.node.System.Stamp()
	m, err := performatives.New(performatives.Envelope{
		ID: s.ID, Timestamp: s.Time, Sender: id, Receiver: namespace.System, ReplyWith: string(s.ID),
		Ontology: performatives.OntologyCapabilityQuery, Payload: performatives.QueryCapabilities{Type: performatives.QuerySummary, Capabilities: &c},
	})
	if err != nil {
		return // the error is an invalid stamp
	}
	if err := l.session.Send(m); err != nil {
		l.uplink.node.System.Logger().Warn("agent not introduced", "agent", string(id), "err", err)
	}
}

// handleIntroductionReply reports whether m replies to an introduction: it is of the far node, and
// answers nothing that the agent itself has asked. It is not routed to the agent. A refusal is
// logged.
func (l *uplinkSession) handleIntroductionReply(m *performatives.Message) bool {
	if !l.uplink.opts.Introduce || m.InReplyTo() == "" || !m.Sender().Is(namespace.System) || l.Continues(m, m.Sender()) {
		return false
	}
	if r := m.AsRefusal(); r != nil {
		l.uplink.node.System.Logger().Warn("agent not introduced", "agent", string(m.Receiver()), "err", r)
	}
	return true
}

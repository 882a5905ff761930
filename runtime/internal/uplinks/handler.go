package uplinks

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/internal/chain"
	"github.com/ribosome-agents/ribosome/runtime/internal/namespace"
	"github.com/ribosome-agents/ribosome/wire"
)

var _ wire.Handler = (*Uplink)(nil)

// Opened makes a new session the uplink's: what the far node sends first may be answered at once.
func (u *Uplink) Opened(s *wire.Session) { u.attach(s) }

func linkOf(s *wire.Session) *session { return s.Value().(*session) }

// Receive routes a message to an agent of this node. A message for an unknown id is
// refused and not sent back to the far node.
func (u *Uplink) Receive(s *wire.Session, m *performatives.Message) error {
	l := linkOf(s)
	if l.handleIntroductionReply(m) {
		return nil
	}
	passed, routed, err := u.chain.Run(chain.Uplink, m)
	if err != nil {
		return u.relay.Refuse(m, err)
	}
	m = passed
	l.BeginReceive()
	defer l.EndReceive()
	worker := u.relay.WorkerOf(m.Sender(), m, routed)
	to := cmp.Or(worker, m.Receiver())
	here := u.knows(to)
	_, own := u.system.Find(m.Sender())
	switch {
	case to != "" && !here && u.system.HasRun(to):
		return u.relay.Refuse(m, u.stopped(to))
	case to != "" && !here:
		return u.relay.Refuse(m, refused(performatives.CodeUnknownAgent, fmt.Sprintf("there is no agent %q", to)))
	case own:
		return u.relay.Refuse(m, refused(performatives.CodeForbidden, "an agent with the id of the sender runs on the receiving node"))
	case u.For(m.Sender()) != u:
		return u.relay.Refuse(m, refused(performatives.CodeForbidden, "the receiving node reaches the sender by another connection"))
	case to == "":
		return u.system.Pass(m)
	case worker != "":
		return l.DeliverAs(m, worker, m.Sender(), false)
	}
	return l.Deliver(m, m.Sender())
}

// Undelivered handles a message that the session did not deliver to the far node.
func (u *Uplink) Undelivered(s *wire.Session, m *performatives.Message, why *performatives.Refusal) {
	linkOf(s).Undelivered(m, why)
}

// linkLost is the reason that agents get when the session with the far node ends.
var linkLost = performatives.Failure{ErrorCode: performatives.CodeDisconnected, ErrorText: "the connection to the agent's node was lost"}

// Closed ends the link of a session.
func (u *Uplink) Closed(s *wire.Session, _ error) {
	l := linkOf(s)
	l.Finish(linkLost, u.distantPeers()...)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.current.CompareAndSwap(l, nil)
}

// distantPeers returns the peers of open conversations that are beyond the uplink.
func (u *Uplink) distantPeers() []performatives.AgentID {
	peers := make(map[performatives.AgentID]bool)
	for c := range u.system.Conversations() {
		peers[c.Key().Peer] = true
	}
	for id := range peers {
		if u.knows(id) || u.For(id) != u {
			delete(peers, id)
		}
	}
	return slices.Collect(maps.Keys(peers))
}

func (u *Uplink) introduceAll(l *session) {
	if !u.opts.Introduce {
		return
	}
	for agent := range u.system.Agents() {
		l.updateIntroduction(agent.ID())
	}
}

// updateIntroduction sends the far node the current capabilities of a visible agent, or
// empty capabilities for an agent that is not visible any more. When the far node refuses
// an agent because it has too many, the agent is introduced again at its next Announce.
func (l *session) updateIntroduction(id performatives.AgentID) {
	l.introduceMu.Lock()
	defer l.introduceMu.Unlock()
	key := id.Fold()
	agent, runs := l.uplink.system.Find(id)
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
func (l *session) sendIntroduction(id performatives.AgentID, c performatives.Capabilities) {
	s := l.uplink.system.Stamp()
	m, err := performatives.New(performatives.Envelope{
		ID: s.ID, Timestamp: s.Time, Sender: id, Receiver: namespace.System, ReplyWith: string(s.ID),
		Ontology: performatives.OntologyCapabilityQuery, Payload: performatives.QueryCapabilities{Type: performatives.QuerySummary, Capabilities: &c},
	})
	if err != nil {
		return // the error is an invalid stamp
	}
	if err := l.session.Send(m); err != nil {
		l.uplink.system.Logger().Warn("agent not introduced", "agent", string(id), "err", err)
	}
}

// handleIntroductionReply reports whether m replies to an introduction: it is of the far node, and
// answers nothing that the agent itself has asked. It is not routed to the agent. A refusal is
// logged.
func (l *session) handleIntroductionReply(m *performatives.Message) bool {
	if !l.uplink.opts.Introduce || m.InReplyTo() == "" || !m.Sender().Is(namespace.System) || l.Continues(m, m.Sender()) {
		return false
	}
	if r := m.AsRefusal(); r != nil {
		l.uplink.system.Logger().Warn("agent not introduced", "agent", string(m.Receiver()), "err", r)
	}
	return true
}

func refused(code performatives.Code, text string) *performatives.Refusal {
	return &performatives.Refusal{Code: code, Text: text}
}

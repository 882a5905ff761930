package runtime

import (
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// uplinkHandler is an Uplink as its sessions see it.
type uplinkHandler Uplink

var _ wire.Handler = (*uplinkHandler)(nil)

func (h *uplinkHandler) uplink() *Uplink { return (*Uplink)(h) }

// Opened begins a session.
func (h *uplinkHandler) Opened(s *wire.Session) { h.uplink().linkOf(s) }

// Receive passes a message on to the agent of this node that it is for. One for nobody
// here does not go back to where it came from.
func (h *uplinkHandler) Receive(s *wire.Session, m *performatives.Message) error {
	u := h.uplink()
	l := u.linkOf(s)
	if l.answered(m) {
		return nil
	}
	to := m.Receiver()
	switch _, own := u.node.system.Lookup(m.Sender()); {
	case own:
		return u.node.turnAway(m, refused(performatives.CodeForbidden, "an agent of that name runs on the node that the message is for"))
	case to == "":
		u.node.told.asked(true, m)
		return u.node.Send(m)
	case !u.node.system.Knew(to):
		return u.node.turnAway(m, refused(performatives.CodeUnknownAgent, fmt.Sprintf("there is no agent %q", to)))
	}
	return l.deliver(m, to, m.Sender())
}

// Undelivered tells the sender of a message that the far node has not got it.
func (h *uplinkHandler) Undelivered(s *wire.Session, m *performatives.Message, why *performatives.Refusal) {
	h.uplink().linkOf(s).undelivered(m, why)
}

// linkLost is what agents are told whose conversations were with agents of the far node.
var linkLost = performatives.Failure{ErrorCode: performatives.CodeDisconnected, ErrorText: "the connection to the agent's node was lost"}

// Closed ends what is open over the session.
func (h *uplinkHandler) Closed(s *wire.Session, _ error) {
	u := h.uplink()
	l := u.linkOf(s)
	l.end(linkLost)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.current.CompareAndSwap(l, nil)
}

// heard is told of the node's agents, to introduce them.
func (u *Uplink) heard(ev actors.Event) {
	l := u.current.Load()
	if l == nil {
		return
	}
	switch e := ev.(type) {
	case actors.AgentStarted:
		l.tell(e.Agent)
	case actors.AgentAnnounced:
		l.tell(e.Agent)
	case actors.AgentStopped:
		l.tell(e.Agent)
	}
}

func (u *Uplink) introduceAll(l *upLink) {
	if !u.opts.Introduce {
		return
	}
	for agent := range u.node.system.Agents() {
		l.tell(agent.ID())
	}
}

// tell tells the far node what an agent can do now, or that it can do nothing any more.
// An agent that comes beyond what the session has room for is introduced when it next
// announces something.
func (l *upLink) tell(id performatives.AgentID) {
	l.telling.Lock()
	defer l.telling.Unlock()
	key := id.Fold()
	agent, runs := l.node.system.Lookup(id)
	switch visible := runs && agent.Visible(); {
	case visible:
		l.introduced[key] = true
		l.introduce(id, agent.Describe())
	case l.introduced[key]:
		delete(l.introduced, key)
		l.introduce(id, performatives.Capabilities{})
	}
}

// introduce has the far node know what an agent can do.
func (l *upLink) introduce(id performatives.AgentID, c performatives.Capabilities) {
	s := l.node.system.Stamp()
	m, err := performatives.New(performatives.Envelope{
		ID: s.ID, Timestamp: s.Time, Sender: id, Receiver: namespaceSystem, ReplyWith: string(s.ID),
		Ontology: performatives.OntologyCapabilityQuery, Payload: performatives.QueryCapabilities{Type: performatives.QuerySummary, Capabilities: &c},
	})
	if err != nil {
		return // only an invalid stamp
	}
	l.mu.Lock()
	if len(l.asked) < l.ledger.limits.open { // a peer that does not answer costs no more
		l.asked[string(m.ID())] = id
	}
	l.mu.Unlock()
	if err := l.session.Send(m); err != nil {
		l.taken(string(m.ID()))
		l.node.system.Logger().Warn("agent not introduced", "agent", string(id), "err", err)
	}
}

// answered takes what answers an introduction, and reports whether m does so: the agent
// has not asked anything.
func (l *upLink) answered(m *performatives.Message) bool {
	agent, ok := l.taken(m.InReplyTo())
	if !ok {
		return false
	}
	if r := m.AsRefusal(); r != nil {
		l.node.system.Logger().Warn("agent not introduced", "agent", string(agent), "err", r)
	}
	return true
}

func (l *upLink) taken(id string) (performatives.AgentID, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	agent, ok := l.asked[id]
	delete(l.asked, id)
	return agent, ok
}

// over reports whether the session has ended.
func (l *link) over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended
}

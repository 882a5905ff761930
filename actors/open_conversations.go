package actors

import (
	"iter"

	"github.com/ribosome-agents/ribosome/performatives"
)

func (cs *conversations) list() (all []Conversation) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for e := range cs.all {
		all = append(all, e.conversation)
	}
	return all
}

// with returns the open conversations that have an id.
func (cs *conversations) with(id performatives.ConversationID) (all []Conversation) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for e := range cs.named(id) {
		all = append(all, e.conversation)
	}
	return all
}

// has reports whether a conversation with that id and peer is open, in either role.
func (cs *conversations) has(id performatives.ConversationID, peer performatives.AgentID) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for e := range cs.named(id) {
		if e.key.Peer.Is(peer) {
			return true
		}
	}
	return false
}

// hasPeer reports whether the peer of a conversation is one of those.
func (cs *conversations) hasPeer(peers map[performatives.AgentID]bool) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for e := range cs.all {
		if hasFolded(peers, e.key.Peer) {
			return true
		}
	}
	return false
}

// Conversing reports whether the agent of this process has a conversation with that id and peer
// open, in either role.
func (s *System) Conversing(agent performatives.AgentID, id performatives.ConversationID, peer performatives.AgentID) bool {
	r, ok := s.Find(agent)
	return ok && r.Conversing(id, peer)
}

// Conversing is [System.Conversing] for an agent that was found. It is false for one of another
// process.
func (r *Registration) Conversing(id performatives.ConversationID, peer performatives.AgentID) bool {
	return r.local != nil && r.local.conversations.has(id, peer)
}

// AccountFor makes a call of [Self.Ask] the only memory of m, its request: the call is told of the
// loss of the receiver. It reports false if m is no request that waits, has no deadline, or expects
// no reply. The caller then has to remember m.
func (r *Registration) AccountFor(m *performatives.Message) bool {
	return r.local != nil && r.local.requests.Load().when(m, func(r *pendingRequest) bool {
		r.accounts = r.ends
		return r.accounts
	})
}

// AccountsFor reports whether the sender of m waits for the reply in a call of [Self.Ask] that is
// the only memory of m: see [Registration.AccountFor].
func (s *System) AccountsFor(m *performatives.Message) bool {
	c, ok := s.cellAt(m.Sender()) // also while it starts
	return ok && c.requests.Load().when(m, func(r *pendingRequest) bool { return r.accounts })
}

// Converses reports whether the agent of this process handles m, a request to it, by a
// conversation: one that is open, or one that m opens. Else it is a message for its Receive. Of a
// [Protocol] that is not [RoleProtocol], it is not known, and Converses reports false.
func (s *System) Converses(agent performatives.AgentID, m *performatives.Message) bool {
	r, ok := s.Find(agent)
	return ok && r.Converses(m)
}

// Converses is [System.Converses] for an agent that was found. It is false for one of another
// process.
func (r *Registration) Converses(m *performatives.Message) bool {
	c := r.local
	if c == nil {
		return false
	}
	if p := c.sys.protocolFor(m.Header()); p >= 0 && c.roles.plays[p] {
		return true
	}
	if c.conversations.has(m.ConversationID(), m.Sender()) {
		return true
	}
	// The sender may call the conversation by the id of a message.
	return m.InReplyTo() != "" && c.conversations.hasPeer(map[performatives.AgentID]bool{m.Sender().Fold(): true})
}

// Conversations yields the open conversations of all agents, in no order. It may be
// called from any goroutine. A conversation that ends meanwhile may be among them.
func (s *System) Conversations() iter.Seq[Conversation] {
	return func(yield func(Conversation) bool) {
		for c := range s.registrations.locals() {
			for _, conversation := range c.conversations.list() {
				if !yield(conversation) {
					return
				}
			}
		}
	}
}

// ConversationsWith yields the open conversations of all agents that have an id, in no order:
// mostly both sides of one. It looks the id up at each agent, whatever the number of its
// conversations. Else it is as [System.Conversations].
func (s *System) ConversationsWith(id performatives.ConversationID) iter.Seq[Conversation] {
	return func(yield func(Conversation) bool) {
		for c := range s.registrations.locals() {
			for _, conversation := range c.conversations.with(id) {
				if !yield(conversation) {
					return
				}
			}
		}
	}
}

// ProtocolOf returns the name of the protocol of which m opens a conversation here, and an empty
// name when it opens none.
func (s *System) ProtocolOf(m *performatives.Message) string {
	if p := s.protocolFor(m.Header()); p >= 0 {
		return s.protocols[p].name
	}
	return ""
}

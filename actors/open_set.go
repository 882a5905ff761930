package actors

import (
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/ribosome-agents/ribosome/performatives"
)

// openSet holds the open conversations of one agent for other goroutines. The zero value
// is empty.
type openSet struct {
	mu  sync.Mutex
	all map[Key]Conversation // by the key with the folded peer
}

func (o *openSet) add(c Conversation) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all == nil {
		o.all = make(map[Key]Conversation)
	}
	o.all[c.Key().folded()] = c
}

func (o *openSet) remove(c Conversation) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if k := c.Key().folded(); o.all[k] == c { // else a later conversation has the key
		delete(o.all, k)
	}
}

func (o *openSet) clear() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = nil // a map does not shrink
}

func (o *openSet) list() []Conversation {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Collect(maps.Values(o.all))
}

// has reports whether a conversation with that id and peer is open, in either role.
func (o *openSet) has(id performatives.ConversationID, peer performatives.AgentID) bool {
	k := Key{ID: id, Peer: peer}.folded()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all[k] != nil {
		return true
	}
	k.Initiator = true
	return o.all[k] != nil
}

// folded returns the key by which conversations are compared.
func (k Key) folded() Key {
	k.Peer = k.Peer.Fold()
	return k
}

// Conversing reports whether the agent of this process has a conversation with that id and peer open, in either role.
func (s *System) Conversing(agent performatives.AgentID, id performatives.ConversationID, peer performatives.AgentID) bool {
	c, ok := s.lookup(agent)
	return ok && c.openConversations.has(id, peer)
}

// Converses reports whether the agent of this process handles m, a request to it, by a conversation: one that is
// open, or one that m opens. Else it is a message for its Receive. Of a [Protocol] that is not [Played], it is not
// known, and Converses reports false.
func (s *System) Converses(agent performatives.AgentID, m *performatives.Message) bool {
	c, ok := s.lookup(agent)
	if !ok {
		return false
	}
	if p := s.protocolFor(m.Header()); p >= 0 && c.plays[p] {
		return true
	}
	if c.openConversations.has(m.ConversationID(), m.Sender()) {
		return true
	}
	// The sender may call the conversation by the id of a message.
	return m.InReplyTo() != "" && c.openConversations.hasPeer(map[performatives.AgentID]bool{m.Sender().Fold(): true})
}

// Conversations yields the open conversations of all agents, in no order. It may be
// called from any goroutine. A conversation that ends meanwhile may be among them.
func (s *System) Conversations() iter.Seq[Conversation] {
	return func(yield func(Conversation) bool) {
		for r := range s.registered() {
			if r.local == nil {
				continue
			}
			for _, conversation := range r.local.openConversations.list() {
				if !yield(conversation) {
					return
				}
			}
		}
	}
}

// ProtocolOf returns the name of the protocol of which m opens a conversation here, and an empty name when it opens none.
func (s *System) ProtocolOf(m *performatives.Message) string {
	if p := s.protocolFor(m.Header()); p >= 0 {
		return s.opts.Protocols[p].Name()
	}
	return ""
}

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
	all map[performatives.ConversationID]sameID
}

// sameID holds the open conversations that have one id: mostly a single one, or the two sides of an
// agent that asks itself.
type sameID struct {
	few  [2]Conversation      // nil where there is none
	more map[Key]Conversation // the others, by the key with the folded peer; nil without any
}

// add adds c, in place of a conversation that has its key.
func (o *openSet) add(c Conversation) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all == nil {
		o.all = make(map[performatives.ConversationID]sameID)
	}
	k := c.Key()
	s := o.all[k.ID]
	place := slices.IndexFunc(s.few[:], func(other Conversation) bool { return other != nil && other.Key().is(k) })
	if place < 0 && (s.more == nil || s.more[k.folded()] == nil) {
		place = slices.Index(s.few[:], nil)
	}
	switch {
	case place >= 0:
		s.few[place] = c
	case s.more == nil:
		s.more = map[Key]Conversation{k.folded(): c}
	default:
		s.more[k.folded()] = c
	}
	o.all[k.ID] = s
}

func (o *openSet) remove(c Conversation) {
	o.mu.Lock()
	defer o.mu.Unlock()
	k := c.Key()
	s := o.all[k.ID]
	if i := slices.Index(s.few[:], c); i >= 0 {
		s.few[i] = nil
	} else if f := k.folded(); s.more[f] == c { // else a later conversation has the key
		delete(s.more, f)
	}
	if s.few == [2]Conversation{} && len(s.more) == 0 {
		delete(o.all, k.ID)
		return
	}
	o.all[k.ID] = s
}

func (o *openSet) clear() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = nil // a map does not shrink
}

func (o *openSet) list() []Conversation {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := make([]Conversation, 0, len(o.all))
	for _, s := range o.all {
		all = s.appendTo(all)
	}
	return all
}

// with returns the open conversations that have an id.
func (o *openSet) with(id performatives.ConversationID) []Conversation {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all[id].appendTo(nil)
}

func (s sameID) appendTo(all []Conversation) []Conversation {
	for _, c := range s.few {
		if c != nil {
			all = append(all, c)
		}
	}
	return slices.AppendSeq(all, maps.Values(s.more))
}

// has reports whether a conversation with that id and peer is open, in either role.
func (o *openSet) has(id performatives.ConversationID, peer performatives.AgentID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.all[id]
	for _, c := range s.few {
		if c != nil && c.Key().Peer.Is(peer) {
			return true
		}
	}
	if len(s.more) == 0 {
		return false
	}
	k := Key{ID: id, Peer: peer}.folded()
	if s.more[k] != nil {
		return true
	}
	k.Initiator = true
	return s.more[k] != nil
}

// is reports whether both are keys of the same conversation.
func (k Key) is(other Key) bool {
	return k.ID == other.ID && k.Initiator == other.Initiator && k.Peer.Is(other.Peer)
}

// folded returns the key by which conversations are compared.
func (k Key) folded() Key {
	k.Peer = k.Peer.Fold()
	return k
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
	return r.local != nil && r.local.openConversations.has(id, peer)
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
	r, ok := s.Find(m.Sender())
	return ok && r.local != nil && r.local.requests.Load().when(m, func(r *pendingRequest) bool { return r.accounts })
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
		for c := range s.registrations.locals() {
			for _, conversation := range c.openConversations.list() {
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
			for _, conversation := range c.openConversations.with(id) {
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
		return s.opts.Protocols[p].Name()
	}
	return ""
}

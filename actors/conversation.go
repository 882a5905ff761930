package actors

import (
	"iter"
	"slices"
	"sync"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Key identifies a conversation of one agent.
type Key struct {
	ID   performatives.ConversationID
	Peer performatives.AgentID
	// Initiator is true when the agent opened the conversation. An agent that sends a
	// request to itself has two conversations, one for each role.
	Initiator bool
}

// Conversation is one side of a conversation: an actor of its own that its agent opens,
// supervises, and stops with itself. Its [ConversationActor] calls Start, Receive and Stop,
// one at a time. When it is over it must call [Self.End] once. No method is called after
// that, but for Stop after a failure. A panic ends the conversation and does not affect the
// agent.
//
// A conversation may have three optional methods. Abandon(error) is called once, instead
// of opening it, when it cannot begin. Priority() performatives.Priority is the band of the
// command that begins it. LongLived() bool is called once at the beginning and reports that
// the conversation is long-lived: [System.Stop] does not wait for its end but stops it.
type Conversation interface {
	// Key returns the key of the conversation. It is constant.
	Key() Key
	// Actor returns the actor, which is a field of the conversation.
	Actor() *ConversationActor
	// Start is called first, unless the conversation is stopped before.
	Start()
	// Receive handles a message of the peer, which is a *performatives.Message, or one that
	// [ConversationActor.Tell] was given.
	Receive(message any)
	// Stop ends the conversation because its agent stops or restarts, or because it has
	// failed.
	Stop()
}

// Protocol lets agents answer the conversations of one codon.
type Protocol interface {
	// Name returns the Protocol field of the codon's messages. It is constant.
	Name() string
	// Opens reports whether m opens a conversation of this codon for a responder. m
	// belongs to no open conversation.
	Opens(m *performatives.Message) bool
	// Bind returns the responder of one agent, or nil when the agent does not play the
	// role. It is called on the agent's actor, for the first message that any protocol
	// Opens, and again after a restart.
	Bind(self Self, agent Agent) Responder
}

// Responder is the responder of one codon for one agent. It creates the conversations.
type Responder interface {
	// Open returns the conversation for the request m. m is then delivered as its first
	// message. Open is called on the agent's actor.
	Open(m *performatives.Message) Conversation
}

// NoticeResponder is a [Responder] whose conversations end with their first message. No
// conversation is opened and no actor spawned.
type NoticeResponder interface {
	Responder
	// Take handles the message on the agent's actor, instead of Open. It must not block.
	Take(m *performatives.Message)
}

// entry is an agent's record of an open conversation. Entries with the same id are chained.
type entry struct {
	key          Key
	conversation Conversation
	withSelf     bool                           // the peer is the agent itself
	longLived    bool                           // System.Stop does not wait for it
	load         *Load                          // in which it counts; nil for none
	losses       uint64                         // how many had begun when this agent opened it; 0 for one that the peer has opened
	weight       int                            // of the message that opened it
	aliases      []performatives.ConversationID // further ids in the index
	next         *entry
}

func (e *entry) is(k Key) bool { return e.key.Initiator == k.Initiator && e.key.Peer.Is(k.Peer) }

// conversations is the index of one agent's open conversations by id. Only the agent's actor
// changes it, with mu held, and reads it without. Other goroutines hold mu to read. The zero value
// is empty.
type conversations struct {
	mu   sync.Mutex
	byID map[performatives.ConversationID]*entry
}

func (cs *conversations) add(e *entry) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.byID == nil {
		cs.byID = make(map[performatives.ConversationID]*entry)
	}
	e.next = cs.byID[e.key.ID]
	cs.byID[e.key.ID] = e
}

// addAlias adds the id ref for the conversation with key k.
func (cs *conversations) addAlias(k Key, ref performatives.ConversationID) {
	e := cs.find(k)
	if e == nil || ref == k.ID || slices.Contains(e.aliases, ref) {
		return
	}
	e.aliases = append(e.aliases, ref)
	alias := *e
	cs.mu.Lock()
	defer cs.mu.Unlock()
	alias.next = cs.byID[ref]
	cs.byID[ref] = &alias
}

func (cs *conversations) find(k Key) *entry {
	for e := cs.byID[k.ID]; e != nil; e = e.next {
		if e.is(k) {
			return e
		}
	}
	return nil
}

// remove removes and returns the conversation with key k, with its aliases. It returns
// nil when there is none.
func (cs *conversations) remove(k Key) *entry {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	e := cs.unlinkLocked(k)
	if e != nil {
		for _, ref := range e.aliases {
			cs.unlinkLocked(Key{ref, k.Peer, k.Initiator})
		}
	}
	return e
}

func (cs *conversations) unlinkLocked(k Key) *entry {
	var previous *entry
	for e := cs.byID[k.ID]; e != nil; previous, e = e, e.next {
		if !e.is(k) {
			continue
		}
		switch {
		case previous != nil:
			previous.next = e.next
		case e.next != nil:
			cs.byID[k.ID] = e.next
		default:
			delete(cs.byID, k.ID)
		}
		e.next = nil // a conversation that its caller still has keeps no other
		return e
	}
	return nil
}

func (cs *conversations) clear() {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.byID = nil // a map does not shrink
}

// all yields each conversation once, in no order.
func (cs *conversations) all(yield func(*entry) bool) {
	for id := range cs.byID {
		for e := range cs.named(id) {
			if !yield(e) {
				return
			}
		}
	}
}

// named yields the conversations that have an id, and none that has it as an alias.
func (cs *conversations) named(id performatives.ConversationID) iter.Seq[*entry] {
	return func(yield func(*entry) bool) {
		for e := cs.byID[id]; e != nil; e = e.next {
			if e.key.ID == id && !yield(e) {
				return
			}
		}
	}
}

func (*conversations) withSelf(e *entry) bool { return e.withSelf }

// keyed is an index of conversations, open or ended, by their keys.
type keyed[E any] interface {
	find(k Key) *E
	withSelf(*E) bool // the peer of the conversation is the agent itself
}

// forMessage returns the conversation that m belongs to, or nil. The key is the
// conversation id, or else InReplyTo, for dialects without conversation ids.
//
// A request belongs to the responder's side and any other act to the initiator's. An act that
// expects a reply can also come from a responder, such as a PROPOSE or the acceptance of a
// proposal. It does when its InReplyTo is the conversation id (the id of the opening request), or
// identifies a conversation with this agent as the responder. When the expected side has no
// conversation, the other side gets the message, unless the agent talks to itself: there the
// expected side is certain.
func forMessage[E any](in keyed[E], m *performatives.Message) *E {
	act, about := m.Performative(), performatives.ConversationID(m.InReplyTo())
	toResponder := act.ExpectsReply()
	if toResponder && about != "" && (act.IsReply() || act == performatives.ActPropose) {
		toResponder = about != m.ConversationID() && in.find(Key{about, m.Sender(), false}) == nil
	}
	for _, initiator := range [...]bool{!toResponder, toResponder} {
		e := in.find(Key{m.ConversationID(), m.Sender(), initiator})
		if e == nil && about != "" {
			e = in.find(Key{about, m.Sender(), initiator})
		}
		if e != nil && (initiator == !toResponder || !in.withSelf(e)) {
			return e
		}
	}
	return nil
}

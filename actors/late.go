package actors

import "github.com/ribosome-agents/ribosome/performatives"

// rememberedConversations is how many ended conversations an agent remembers, to
// answer what still arrives for them as the codon's table says. It bounds the
// memory; a message that is later than that is taken for the first of its
// conversation.
const rememberedConversations = 256

// ended remembers the last conversations of an agent, restarts included: what
// was done is done, whatever became of the agent since. Nil is none.
type ended struct {
	conversations conversations
	ring          []*entry // in the order of their end
	next          int
}

func newEnded() *ended { return &ended{conversations: make(conversations)} }

// remember keeps the epilogue of a conversation, which answers the messages that
// come after the end and reports whether it did. A message that it does not answer
// may begin a conversation anew.
func (e *ended) remember(c *entry, late func(*performatives.Message) bool) {
	c.pid, c.conv, c.late = nil, nil, late
	e.makeRoom(c)
	e.conversations.add(c)
	for _, ref := range c.aliases {
		e.conversations.index(c, ref)
	}
}

// makeRoom forgets the former conversation of the same name, or else the oldest.
func (e *ended) makeRoom(c *entry) {
	if former := e.conversations.remove(c.key); former != nil {
		for i := range e.ring {
			if e.ring[i] == former {
				e.ring[i] = c
				return
			}
		}
	}
	if len(e.ring) < rememberedConversations {
		e.ring = append(e.ring, c)
		return
	}
	e.conversations.remove(e.ring[e.next].key)
	e.ring[e.next] = c
	e.next = (e.next + 1) % rememberedConversations
}

// answer gives m to the epilogue of its conversation, if that is remembered.
func (e *ended) answer(m *performatives.Message) bool {
	if e == nil {
		return false
	}
	c := e.conversations.of(m)
	return c != nil && c.late(m)
}

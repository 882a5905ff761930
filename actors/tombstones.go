package actors

import "github.com/ribosome-agents/ribosome/performatives"

// maxTombstones is the largest number of ended conversations that an agent remembers. A
// message that arrives after its tombstone was removed is treated as the first message of
// its conversation.
const maxTombstones = 256

// tombstones holds the last ended conversations of an agent, to answer duplicates and
// drop late replies. They survive restarts of the agent: an ended conversation stays
// ended. A nil *tombstones is empty.
type tombstones struct {
	conversations conversations
	ring          []*entry // circular, in the order of their end
	next          int
}

func newTombstones() *tombstones { return &tombstones{conversations: make(conversations)} }

// add keeps a tombstone of the conversation e. late handles a message that arrives
// after the end, and reports whether it did. A message that it does not handle may open a
// new conversation.
func (t *tombstones) add(e *entry, late func(*performatives.Message) bool) {
	e.conversation, e.answerLate = nil, late
	t.makeRoom(e)
	t.conversations.add(e)
	for _, ref := range e.aliases {
		t.conversations.index(e, ref)
	}
}

// makeRoom removes the tombstone with the same key as e, or else the oldest one if there
// are too many, and records e in the ring.
func (t *tombstones) makeRoom(e *entry) {
	if former := t.conversations.remove(e.key); former != nil {
		for i := range t.ring {
			if t.ring[i] == former {
				t.ring[i] = e
				return
			}
		}
	}
	if len(t.ring) < maxTombstones {
		t.ring = append(t.ring, e)
		return
	}
	t.conversations.remove(t.ring[t.next].key)
	t.ring[t.next] = e
	t.next = (t.next + 1) % maxTombstones
}

// handle passes m to the tombstone of its conversation, and reports whether there is one
// that handled it.
func (t *tombstones) handle(m *performatives.Message) bool {
	if t == nil {
		return false
	}
	e := t.conversations.forMessage(m)
	return e != nil && e.answerLate(m)
}

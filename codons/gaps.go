package codons

import (
	"hash/maphash"
	"sync/atomic"

	"github.com/ribosome-agents/ribosome/performatives"
)

// gapSlots is how many conversations and messages a [Watch] tells apart when it has
// missed something. Two that fall into one slot are left together.
const gapSlots = 1 << 14

// gaps remembers, in bounded memory, what a [Watch] has missed: a conversation with
// a gap must not be judged any further, since what comes next may answer what was
// not seen. All its methods may be called from any goroutine.
type gaps struct {
	seed maphash.Seed
	lose [gapSlots]atomic.Uint32 // by conversation: how many messages were dropped
	left [gapSlots]atomic.Uint64 // by message: the latest that is not to be taken for the beginning of a conversation
}

// losses returns how many messages of a conversation, or of others in its slot,
// were dropped so far.
func (g *gaps) losses(id performatives.ConversationID) uint32 {
	return g.lose[g.hash(string(id))%gapSlots].Load()
}

// lost notes a message that was dropped. A peer whose dialect has no conversation
// ids names the conversation by the message that it answers.
func (g *gaps) lost(m *performatives.Message) {
	g.leave(m.ID())
	g.lose[g.hash(string(m.ConversationID()))%gapSlots].Add(1)
	if ref := m.InReplyTo(); ref != "" {
		g.lose[g.hash(ref)%gapSlots].Add(1)
	}
}

// leave notes the opening act of a conversation that is not watched, so that the
// same message, sent again, does not pass for a beginning.
func (g *gaps) leave(opening performatives.MessageID) {
	h := g.hash(string(opening))
	g.left[h%gapSlots].Store(h)
}

// isLeft reports whether that message is known to open a conversation that is not
// watched. The latest in a slot is remembered.
func (g *gaps) isLeft(opening performatives.MessageID) bool {
	h := g.hash(string(opening))
	return g.left[h%gapSlots].Load() == h
}

func (g *gaps) hash(s string) uint64 { return maphash.String(g.seed, s) }

package watch

import (
	"hash/maphash"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// leftSlots is the number of opening acts that gaps tells apart.
const leftSlots = 1 << 14

// gaps records, in bounded memory, which messages a [Watch] has missed and which
// conversations it has given up. A conversation with a missed message is not checked any
// further, because its next message may answer the missed one. Only the handler's goroutine
// uses it.
type gaps struct {
	missed *actors.Losses // of the watch's subscription
	seed   maphash.Seed
	left   [leftSlots]uint64 // by slot, the hash of the latest opening act
}

func newGaps(missed *actors.Losses) *gaps { return &gaps{missed: missed, seed: maphash.MakeSeed()} }

// since reports whether a message of the conversation was dropped after the event seq. It
// may report a dropped message of another conversation with the same slot.
func (g *gaps) since(seq uint64, id performatives.ConversationID) bool {
	return g.missed.Conversation(id) > seq
}

// leave records the opening act of a conversation that is not watched, so that a copy of the
// same message does not begin a new conversation.
func (g *gaps) leave(opening performatives.MessageID) {
	h := g.hash(opening)
	g.left[h%leftSlots] = h
}

// isLeft reports whether the message opened a conversation that is not watched. Each slot
// holds only the latest opening act.
func (g *gaps) isLeft(opening performatives.MessageID) bool {
	h := g.hash(opening)
	return g.left[h%leftSlots] == h || g.missed.Message(opening)
}

func (g *gaps) hash(id performatives.MessageID) uint64 { return maphash.String(g.seed, string(id)) }

package watch

import (
	"hash/maphash"
	"time"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/performatives"
)

// leftSlots is the number of slots for opening acts, by their hash.
const leftSlots = 1 << 14

// leftSlot is what gaps knows of the opening acts in one slot.
type leftSlot struct {
	latest uint64 // the hash of the opening act that was left last
	until  int64  // when it was left, in Unix microseconds; zero for none
}

// gaps records, in bounded memory, which messages a [Watch] has missed and which
// conversations it has given up. A conversation with a missed message is not checked any
// further, because its next message may answer the missed one. Only the handler's goroutine
// uses it.
type gaps struct {
	missed *events.Losses // of the watch's subscription
	seed   maphash.Seed
	left   [leftSlots]leftSlot
}

func newGaps(missed *events.Losses) *gaps { return &gaps{missed: missed, seed: maphash.MakeSeed()} }

// since reports whether a message of the conversation was dropped after the event seq. It
// may report a dropped message of another conversation with the same slot.
func (g *gaps) since(seq uint64, id performatives.ConversationID) bool {
	return g.missed.Conversation(id) > seq
}

// leave records the time at which the conversation of an opening act was given up: then a copy of
// the same message begins no new conversation.
func (g *gaps) leave(opening performatives.MessageID, at time.Time) {
	h := g.hash(opening)
	g.left[h%leftSlots] = leftSlot{h, at.UnixMicro()}
}

// isLeft reports whether the message opened a conversation that is not watched. It may report
// a fresh message that was made before another conversation of its slot was given up.
func (g *gaps) isLeft(opening *performatives.Message) bool {
	h := g.hash(opening.ID())
	s := g.left[h%leftSlots]
	return s.latest == h || s.until != 0 && opening.Timestamp().UnixMicro() <= s.until || g.missed.Message(opening)
}

func (g *gaps) hash(id performatives.MessageID) uint64 { return maphash.String(g.seed, string(id)) }

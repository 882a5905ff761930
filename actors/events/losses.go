package events

import (
	"hash/maphash"
	"sync/atomic"

	"github.com/ribosome-agents/ribosome/performatives"
)

// lossSlots is how many conversations and messages [Losses] tells apart.
const lossSlots = 1 << 14

// Losses records, in 384 KiB, which messages the lost events of a subscription are about:
// a subscriber that follows conversations has to know of which it has missed something.
// Two conversations that share one of 16384 slots are taken for one. Methods may be called
// from any goroutine.
type Losses struct {
	seed          maphash.Seed
	conversations [lossSlots]atomic.Uint64 // the Seq of the latest loss
	messages      [lossSlots]atomic.Uint64 // the hash of the latest message
	until         [lossSlots]atomic.Int64  // the time of the latest loss, in Unix microseconds; zero for none
}

// NewLosses returns a record of no losses, for one [SubscribeOptions].
func NewLosses() *Losses { return &Losses{seed: maphash.MakeSeed()} }

// Conversation returns the Seq of the latest lost event about that conversation, or about another
// in its slot. Zero means none. A message is about its conversation and about the one in its
// in_reply_to: a dialect without conversation ids names a conversation by its opening message.
func (l *Losses) Conversation(id performatives.ConversationID) uint64 {
	return l.conversations[l.hash(string(id))%lossSlots].Load()
}

// Message reports whether an event about m was lost. It may report a message that was made
// before the loss of another one in its slot.
func (l *Losses) Message(m *performatives.Message) bool {
	h := l.hash(string(m.ID()))
	until := l.until[h%lossSlots].Load()
	return l.messages[h%lossSlots].Load() == h || until != 0 && m.Timestamp().UnixMicro() <= until
}

// note records a lost event. It runs on the publisher's goroutine, in constant time.
func (l *Losses) note(r Record) {
	m := messageOf(r.Event)
	if m == nil {
		return
	}
	h := l.hash(string(m.ID()))
	l.messages[h%lossSlots].Store(h)
	l.until[h%lossSlots].Store(r.EventTime().UnixMicro())
	l.conversations[l.hash(string(m.ConversationID()))%lossSlots].Store(r.Seq)
	if ref := m.InReplyTo(); ref != "" {
		l.conversations[l.hash(ref)%lossSlots].Store(r.Seq)
	}
}

func (l *Losses) hash(s string) uint64 { return maphash.String(l.seed, s) }

// messageOf returns the message that an event is about, nil when it is about none.
func messageOf(ev Event) *performatives.Message {
	switch e := ev.(type) {
	case MessageSent:
		return e.Message
	case MessageReceived:
		return e.Message
	case MessageRefused:
		return e.Message
	case DeadLetter:
		m, _ := e.Message.(*performatives.Message)
		return m
	}
	return nil
}

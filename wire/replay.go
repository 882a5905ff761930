package wire

import (
	"hash/maphash"
	"strconv"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// replays recognizes messages that somebody has recorded and sends again. The key is who
// sends, the id and the timestamp, since field clients number their messages from one in
// each connection. A repetition by the same session is no replay: conversations repeat
// their requests, and recognize that by themselves.
type replays struct {
	window time.Duration
	room   int // for the messages of a generation
	seed   maphash.Seed

	mu       sync.Mutex
	now, old generation // each is as long as two windows
	since    time.Time
}

// generation is what has been let through in some time. All are hashes: it has no pointers
// for the garbage collector to follow, and no text whose length a peer decides.
type generation struct {
	by    map[uint64]uint64 // message → session
	count map[uint64]int    // party → how many of by are its own
}

func newGeneration() generation {
	return generation{make(map[uint64]uint64), make(map[uint64]int)}
}

// maxRemembered is how many messages of one generation are remembered.
const maxRemembered = 1 << 21

func newReplays(window time.Duration) *replays {
	return &replays{window: window, room: maxRemembered, seed: maphash.MakeSeed(), now: newGeneration()}
}

// check says whether what came in is too old, too new, or a replay.
func (r *replays) check(session string, id Identity, in Inbound) error {
	if r.window == 0 {
		return nil
	}
	m := in.Message
	now := time.Now()
	if d := now.Sub(m.Timestamp()); d > r.window || d < -r.window {
		return &performatives.Refusal{Code: performatives.CodeUnauthorized, About: m.ID(), Field: "timestamp", Text: "the timestamp is too far from now"}
	}
	party := string(id.Name.Fold())
	if party == "" { // it may call itself what it likes
		party = session
	}
	switch r.remember(now, r.key(id, in), r.sum(session), r.sum(party)) {
	case replayed:
		return &performatives.Refusal{Code: performatives.CodeUnauthorized, About: m.ID(), Field: "id", Text: "the message has been sent before"}
	case crowded:
		return &performatives.Refusal{Code: performatives.CodeBusy, About: m.ID(), Text: "too many messages to guard against replay"}
	case fresh:
	}
	return nil
}

// memory is what is known of a message.
type memory uint8

const (
	fresh memory = iota
	replayed
	crowded // it is new, and there is no room for more of its party
)

// remember notes that a message came by a session. A party has room for as many messages
// as there is room left, so that one that floods leaves half of all to the others, and two
// that do a third.
func (r *replays) remember(now time.Time, key, session, party uint64) memory {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.since) >= 2*r.window { // a message is acceptable for at most two windows
		r.old, r.now, r.since = r.now, newGeneration(), now
	}
	by, known := r.now.by[key]
	if known && by == session {
		return fresh
	}
	if !known {
		by, known = r.old.by[key]
	}
	switch {
	case known && by != session:
		return replayed
	case r.now.count[party] >= r.room-len(r.now.by):
		return crowded
	}
	r.now.by[key] = session
	r.now.count[party]++
	return fresh
}

// key is of what makes a message the same.
func (r *replays) key(id Identity, in Inbound) uint64 {
	m, own := in.Message, in.ID
	if own == "" {
		own = string(in.Message.ID())
	}
	return r.sum(string(id.Name), string(m.Sender().Fold()), own, strconv.FormatInt(m.Timestamp().UnixNano(), 10))
}

func (r *replays) sum(texts ...string) uint64 {
	var h maphash.Hash
	h.SetSeed(r.seed)
	for _, s := range texts {
		_, _ = h.WriteString(s) // never fails
		_ = h.WriteByte(0)
	}
	return h.Sum64()
}

package wire

import (
	"hash/maphash"
	"strconv"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// replays detects messages that were recorded and sent again. A message is identified by its
// identity, sender, id and timestamp, because clients number their messages from one in each
// connection. A repetition in the same session is not a replay: codons retry requests and
// detect the duplicates themselves.
type replays struct {
	window   time.Duration
	capacity int // largest number of messages in a generation
	seed     maphash.Seed

	mu       sync.Mutex
	now, old generation // each covers two windows
	since    time.Time
}

// generation holds the messages that were accepted in a period. Keys and values are hashes,
// so that the garbage collector has no pointers to follow and peers cannot choose the size of
// an entry.
type generation struct {
	sessions map[uint64]uint64 // owner → number of its entries in sessions
	perOwner map[uint64]int    // owner → number of its entries in by
}

func newGeneration() generation {
	return generation{make(map[uint64]uint64), make(map[uint64]int)}
}

// maxRemembered is the largest number of messages in a generation.
const maxRemembered = 1 << 21

func newReplays(window time.Duration) *replays {
	return &replays{window: window, capacity: maxRemembered, seed: maphash.MakeSeed(), now: newGeneration()}
}

// check refuses a message whose timestamp is outside the window, and a replay.
func (r *replays) check(session string, id Identity, in Inbound) error {
	if r.window == 0 {
		return nil
	}
	m := in.Message
	now := time.Now()
	if d := now.Sub(m.Timestamp()); d > r.window || d < -r.window {
		return &performatives.Refusal{Code: performatives.CodeUnauthorized, About: m.ID(), Field: "timestamp", Text: "the timestamp is too far from now"}
	}
	owner := string(id.Name.Fold())
	if owner == "" { // without a name the peer could choose any owner
		owner = session
	}
	switch r.remember(now, r.key(id, in), r.sum(session), r.sum(owner)) {
	case replayDuplicate:
		return &performatives.Refusal{Code: performatives.CodeUnauthorized, About: m.ID(), Field: "id", Text: "the message has been sent before"}
	case replayFull:
		return &performatives.Refusal{Code: performatives.CodeBusy, About: m.ID(), Text: "too many messages for the replay protection"}
	case replayNew:
	}
	return nil
}

// replayResult is the result of looking up and recording a message.
type replayResult uint8

const (
	replayNew replayResult = iota
	replayDuplicate
	replayFull // the message is new, and its owner has no capacity left
)

// remember records that a session received a message. An owner may have as many entries as
// the generation has free capacity. Thus one flooding owner occupies at most half of the
// capacity, and two at most two thirds.
func (r *replays) remember(now time.Time, key, session, owner uint64) replayResult {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.since) >= 2*r.window { // a timestamp is acceptable for at most two windows
		r.old, r.now, r.since = r.now, newGeneration(), now
	}
	receivedBy, known := r.now.sessions[key]
	if known && receivedBy == session {
		return replayNew
	}
	if !known {
		receivedBy, known = r.old.sessions[key]
	}
	switch {
	case known && receivedBy != session:
		return replayDuplicate
	case r.now.perOwner[owner] >= r.capacity-len(r.now.sessions):
		return replayFull
	}
	r.now.sessions[key] = session
	r.now.perOwner[owner]++
	return replayNew
}

// key returns the hash that identifies a message.
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

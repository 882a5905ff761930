package wire

import (
	"hash/maphash"
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
	seed   maphash.Seed

	mu       sync.Mutex
	now, old map[uint64]string // key → session; each generation is as long as two windows
	since    time.Time
}

// maxRemembered is how many messages of one generation are remembered.
const maxRemembered = 1 << 20

func newReplays(window time.Duration) *replays {
	return &replays{window: window, seed: maphash.MakeSeed(), now: make(map[uint64]string)}
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
	key := r.key(id, in)
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.since) >= 2*r.window { // a message is acceptable for at most two windows
		r.old, r.now, r.since = r.now, make(map[uint64]string), now
	}
	by, ok := r.now[key]
	if !ok {
		by, ok = r.old[key]
	}
	switch {
	case ok && by != session:
		return &performatives.Refusal{Code: performatives.CodeUnauthorized, About: m.ID(), Field: "id", Text: "the message has been sent before"}
	case !ok && len(r.now) >= maxRemembered:
		return &performatives.Refusal{Code: performatives.CodeBusy, About: m.ID(), Text: "too many messages to guard against replay"}
	}
	r.now[key] = session
	return nil
}

func (r *replays) key(id Identity, in Inbound) uint64 {
	m, own := in.Message, in.ID
	if own == "" {
		own = string(in.Message.ID())
	}
	var h maphash.Hash
	h.SetSeed(r.seed)
	for _, s := range []string{string(id.Name), string(m.Sender().Fold()), own, m.Timestamp().UTC().Format(time.RFC3339Nano)} {
		_, _ = h.WriteString(s) // never fails
		_ = h.WriteByte(0)
	}
	return h.Sum64()
}

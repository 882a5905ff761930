package wire

import (
	"strconv"
	"time"

	"github.com/ribosome-agents/ribosome/internal/expiring"
	"github.com/ribosome-agents/ribosome/performatives"
)

// replays detects messages that were recorded and sent again. A message is identified by its
// identity, sender, id and timestamp, because clients number their messages from one in each
// connection. A repetition in the same session is not a replay: codons retry requests and
// detect the duplicates themselves.
type replays struct {
	window time.Duration
	known  *expiring.Map[expiring.Owner] // the sessions that have received the messages
}

// maxReplays is the largest number of messages that are remembered. Each is remembered for two
// windows, because its timestamp is acceptable for at most so long.
const maxReplays = 1 << 21

func newReplays(window time.Duration, capacity int) *replays {
	return &replays{window, expiring.New[expiring.Owner](capacity)}
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
	of := r.known.Owner(session)
	switch first, result := r.known.Add(r.key(id, in), r.known.Owner(owner), of, now, now.Add(2*r.window)); {
	case result == expiring.Known && first != of:
		return &performatives.Refusal{Code: performatives.CodeUnauthorized, About: m.ID(), Field: "id", Text: "the message has been sent before"}
	case result == expiring.Full:
		return &performatives.Refusal{Code: performatives.CodeBusy, About: m.ID(), Text: "too many messages for the replay protection"}
	}
	return nil
}

// key returns the key of a message.
func (r *replays) key(id Identity, in Inbound) expiring.Key {
	m, own := in.Message, in.ID
	if own == "" {
		own = string(in.Message.ID())
	}
	return r.known.Key(string(id.Name), string(m.Sender().Fold()), own, strconv.FormatInt(m.Timestamp().UnixNano(), 10))
}

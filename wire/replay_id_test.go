package wire

import (
	"errors"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// The replay check uses the peer's own id of a message when the dialect generates Message.ID.
func TestReplayUsesThePeersID(t *testing.T) {
	now := time.Now()
	inbound := func(id performatives.MessageID, own string) Inbound {
		m, err := performatives.New(performatives.Envelope{ID: id, Sender: "a", Timestamp: now, Performative: performatives.ActInform})
		if err != nil {
			t.Fatal(err)
		}
		return Inbound{Message: m, ID: own}
	}
	r := newReplays(time.Minute, maxReplays)
	defer r.known.Close()
	for _, c := range []struct {
		session string
		in      Inbound
		replay  bool
	}{
		{"one", inbound("1", "own"), false},
		{"one", inbound("2", "own"), false}, // a retry
		{"two", inbound("3", "own"), true},
		{"two", inbound("1", "other"), false},
		{"two", inbound("4", ""), false},
		{"one", inbound("4", ""), true},
	} {
		err := r.check(c.session, Identity{Name: "a"}, c.in)
		if got := errors.Is(err, performatives.CodeUnauthorized); got != c.replay {
			t.Errorf("session %s, %s called %q: %v", c.session, c.in.Message.ID(), c.in.ID, err)
		}
	}
}

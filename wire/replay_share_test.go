package wire

import (
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// One who floods has room for half of what can be remembered, under whatever names and by
// however many sessions, and leaves the rest to others; and it is remembered in the end.
func TestReplayMemoryIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const room = 1000
		r := newReplays(time.Minute)
		r.room = room
		n := 0
		send := func(session string, id Identity, sender performatives.AgentID) error {
			n++
			m, err := performatives.New(performatives.Envelope{
				ID: performatives.MessageID(strconv.Itoa(n)), Sender: sender, Timestamp: time.Now(), Performative: performatives.ActInform,
			})
			if err != nil {
				t.Fatal(err)
			}
			return r.check(session, id, Inbound{Message: m})
		}
		flood := func(id Identity) (let int) {
			for i := range 2 * room {
				session := "s"
				if id.Name != "" {
					session = strconv.Itoa(i)
				}
				err := send(session, id, performatives.AgentID("x/"+strconv.Itoa(i)))
				switch {
				case err == nil:
					let++
				case !errors.Is(err, performatives.CodeBusy):
					t.Fatal(err)
				}
			}
			return let
		}
		if let := flood(Identity{Name: "x"}); let != room/2 {
			t.Errorf("%d messages of one are let through, want %d", let, room/2)
		}
		if let := flood(Identity{}); let != room/4 {
			t.Errorf("%d messages of a session that is nobody are let through, want %d", let, room/4)
		}
		for range 10 {
			if err := send("other", Identity{Name: "y"}, "y"); err != nil {
				t.Errorf("who sends little: %v", err)
			}
		}
		time.Sleep(2 * time.Minute)
		if err := send("1", Identity{Name: "x"}, "x"); err != nil {
			t.Errorf("after two windows: %v", err)
		}
	})
}

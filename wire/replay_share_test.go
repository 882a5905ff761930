package wire

import (
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// One identity fills at most half of the capacity, over any number of senders and sessions,
// and its messages are accepted again after two windows and a third.
func TestReplayCapacityIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const capacity = 1000
		r := newReplays(time.Minute, capacity)
		defer r.known.Close()
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
		flood := func(id Identity) (accepted int) {
			for i := range 2 * capacity {
				session := "s"
				if id.Name != "" {
					session = strconv.Itoa(i)
				}
				err := send(session, id, performatives.AgentID("x/"+strconv.Itoa(i)))
				switch {
				case err == nil:
					accepted++
				case !errors.Is(err, performatives.CodeBusy):
					t.Fatal(err)
				}
			}
			return accepted
		}
		if accepted := flood(Identity{Name: "x"}); accepted != capacity/2 {
			t.Errorf("%d messages of one identity are accepted, want %d", accepted, capacity/2)
		}
		if accepted := flood(Identity{}); accepted != capacity/4 {
			t.Errorf("%d messages of an anonymous session are accepted, want %d", accepted, capacity/4)
		}
		for range 10 {
			if err := send("other", Identity{Name: "y"}, "y"); err != nil {
				t.Errorf("another identity: %v", err)
			}
		}
		time.Sleep(2*time.Minute + 40*time.Second)
		if err := send("1", Identity{Name: "x"}, "x"); err != nil {
			t.Errorf("after two windows: %v", err)
		}
	})
}

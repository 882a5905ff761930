package actors

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

func TestRetainedUntil(t *testing.T) {
	now := time.Unix(1000, 0)
	for name, c := range map[string]struct {
		by        time.Time
		otherwise time.Duration
		want      time.Duration
	}{
		"its ReplyBy":       {now.Add(time.Minute), time.Second, time.Minute},
		"a far ReplyBy":     {now.Add(5 * MaxRequestAge), time.Second, MaxRequestAge},
		"that of the role":  {time.Time{}, time.Minute, time.Minute},
		"that of long role": {time.Time{}, 5 * MaxRequestAge, MaxRequestAge},
	} {
		m, err := recordedMessage(t, "c", "m", performatives.Normal).With(func(e *performatives.Envelope) { e.ReplyBy = c.by })
		if err != nil {
			t.Fatal(err)
		}
		if got := retainedUntil(m, now, c.otherwise).Sub(now); got != c.want {
			t.Errorf("%s: remembered for %v, want %v", name, got, c.want)
		}
	}
}

// One sender outside of the system gets at most half of the room for ids, an agent of the system
// all that is left.
func TestRequestIDsHaveShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const room = 8
		p := &numbers{}
		s, r := routedSystem(t, Options{RequestIDs: room, Protocols: []Protocol{p}}, numbered(1))
		if _, err := s.Spawn(t.Context(), Spec{ID: "b", New: func() Agent { return silent{} }}); err != nil {
			t.Fatal(err)
		}
		opened := func(sender performatives.AgentID) int {
			before := len(p.opened)
			for i := range room {
				id := fmt.Sprintf("%s%d", sender, i)
				m, err := recordedMessage(t, id, id, performatives.Normal).With(func(e *performatives.Envelope) { e.Sender = sender })
				if err != nil {
					t.Fatal(err)
				}
				deliverAll(t, s, m)
				synctest.Wait()
			}
			return len(p.opened) - before
		}
		if n := opened("x"); n != room/2 {
			t.Errorf("%d requests of an agent outside were taken on, want %d", n, room/2)
		}
		if len(r.to) != room/2 || r.to[0].AsRefusal().Code != performatives.CodeBusy || !r.to[0].Undeliverable() {
			t.Errorf("the agent outside got %v, want %d refusals of copies as busy", r.to, room/2)
		}
		if n := opened("b"); n != room/2 {
			t.Errorf("%d requests of an agent of the system were taken on, want %d", n, room/2)
		}
		for _, id := range []performatives.AgentID{"a", "b"} {
			if err := s.StopAgent(t.Context(), id); err != nil {
				t.Error(err)
			}
		}
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

package wire

import (
	"testing"
	"time"
)

func TestLifePingsAndGivesUp(t *testing.T) {
	start := time.Unix(1000, 0)
	l := life{state: stateOpen, keep: KeepAlive{Interval: 30 * time.Second, Timeout: time.Minute}, heard: start}
	if e := l.step(event{what: ticked, at: start.Add(30 * time.Second)}); len(e.send) != 1 || e.send[0].Kind != KindPing {
		t.Fatalf("after 30 s of silence: %+v", e)
	}
	if e := l.step(event{what: ticked, at: start.Add(59 * time.Second)}); len(e.send) != 0 || e.end {
		t.Fatalf("a ping is out: %+v", e)
	}
	if e := l.step(event{what: ticked, at: start.Add(time.Minute)}); !e.end || l.reason != ErrDead {
		t.Fatalf("after 60 s of silence: %+v, %v", e, l.reason)
	}
}

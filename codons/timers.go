package codons

import (
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// maxClocks is how many clocks of one side may run at a time. A test holds the tables
// to it.
const maxClocks = 4

// timers are the clocks of one conversation. They share one timer of the runtime,
// which is set to the earliest of them.
type timers struct {
	ring  func()           // called, on a goroutine of its own, when a clock is due
	due   [maxClocks]clock // those that run, in no order
	n     int
	alarm *time.Timer
}

type clock struct {
	name string
	at   time.Time
}

// tick says that a clock may be due. One that comes too late or too early is
// harmless: what is due is looked up.
type tick struct{}

// arm starts a clock, or starts it anew.
func (t *timers) arm(name string, d time.Duration) {
	t.disarm(name)
	t.due[t.n] = clock{name, time.Now().Add(d)}
	t.n++
	if t.alarm == nil {
		t.alarm = time.AfterFunc(max(d, 0), t.ring)
		return
	}
	t.set()
}

func (t *timers) disarm(name string) {
	for i := range t.due[:t.n] {
		if t.due[i].name == name {
			t.remove(i)
			return
		}
	}
}

// at returns when a clock is due, if it runs.
func (t *timers) at(name string) (time.Time, bool) {
	for _, c := range t.due[:t.n] {
		if c.name == name {
			return c.at, true
		}
	}
	return time.Time{}, false
}

func (t *timers) remove(i int) {
	t.n--
	t.due[i] = t.due[t.n]
	t.due[t.n] = clock{}
}

// expired returns the name of the clock that was due first, which ends by it, and
// false when none is due.
func (t *timers) expired(now time.Time) (string, bool) {
	first := t.earliest()
	if first < 0 || t.due[first].at.After(now) {
		t.set()
		return "", false
	}
	name := t.due[first].name
	t.remove(first)
	return name, true
}

// set sets the alarm to the earliest clock.
func (t *timers) set() {
	if first := t.earliest(); first >= 0 {
		t.alarm.Reset(max(time.Until(t.due[first].at), 0))
	}
}

// earliest returns the index of the clock that is due first, or -1.
func (t *timers) earliest() int {
	first := -1
	for i := range t.due[:t.n] {
		if first < 0 || t.due[i].at.Before(t.due[first].at) {
			first = i
		}
	}
	return first
}

// stop ends all clocks.
func (t *timers) stop() {
	t.due, t.n = [maxClocks]clock{}, 0
	if t.alarm != nil {
		t.alarm.Stop()
	}
}

// Priority lets a deadline overtake a backlog of messages.
func (tick) Priority() performatives.Priority { return performatives.High }

// Control exempts ticks from the bounds of the conversation's mailbox.
func (tick) Control() {}

package codons

import (
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// MaxTimers is the largest number of timers of one side, with the standard ones: the deadline, the
// grace and, at the initiator, the retry. [Define] refuses a table with more.
const MaxTimers = 4

// timers are the clocks of one conversation. They share one [time.Timer], which is set to the
// earliest clock.
type timers struct {
	began time.Time        // of the conversation
	ring  func()           // called, on a goroutine of its own, when a clock is due
	due   [MaxTimers]clock // the running clocks, in no order
	n     int
	alarm *time.Timer
}

type clock struct {
	name string
	at   time.Duration // since timers.began
}

// tick is sent to the conversation when a clock may be due. A late or early tick is harmless,
// because its receiver looks for due clocks.
type tick struct{}

// arm starts a clock, or restarts it: it is due that time after now.
func (t *timers) arm(name string, now time.Time, d time.Duration) {
	t.disarm(name)
	at := now.Sub(t.began)
	t.due[t.n] = clock{name, at + min(d, Never-at)}
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

func (t *timers) remove(i int) {
	t.n--
	t.due[i] = t.due[t.n]
	t.due[t.n] = clock{}
}

// expired removes the clock that was due first and returns its name. It returns false when no
// clock is due.
func (t *timers) expired(now time.Time) (string, bool) {
	first := t.earliest()
	if first < 0 || t.due[first].at > now.Sub(t.began) {
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
		t.alarm.Reset(max(t.due[first].at-time.Since(t.began), 0))
	}
}

// earliest returns the index of the clock that is due first, or -1.
func (t *timers) earliest() int {
	first := -1
	for i := range t.due[:t.n] {
		if first < 0 || t.due[i].at < t.due[first].at {
			first = i
		}
	}
	return first
}

// stop ends all clocks.
func (t *timers) stop() {
	t.due, t.n = [MaxTimers]clock{}, 0
	if t.alarm != nil {
		t.alarm.Stop()
	}
}

// Priority returns High, so that a deadline overtakes a backlog of messages.
func (tick) Priority() performatives.Priority { return performatives.High }

// Control exempts ticks from the bounds of the conversation's mailbox.
func (tick) Control() {}

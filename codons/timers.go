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
	due   [MaxTimers]clock // the n running clocks, that which is due first before the others
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
	at += min(d, Never-at)
	i := t.n
	for ; i > 0 && t.due[i-1].at > at; i-- {
		t.due[i] = t.due[i-1]
	}
	t.due[i] = clock{name, at}
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
			t.n--
			copy(t.due[i:], t.due[i+1:])
			return
		}
	}
}

// expired removes the clock that was due first and returns its name. It returns false when no
// clock is due.
func (t *timers) expired(now time.Time) (string, bool) {
	first := t.due[0]
	if t.n == 0 || first.at > now.Sub(t.began) {
		t.set()
		return "", false
	}
	t.disarm(first.name)
	return first.name, true
}

// set sets the alarm to the first clock.
func (t *timers) set() {
	if t.n > 0 {
		t.alarm.Reset(max(t.due[0].at-time.Since(t.began), 0))
	}
}

// stop ends all clocks.
func (t *timers) stop() {
	t.n = 0
	if t.alarm != nil {
		t.alarm.Stop()
	}
}

// Priority returns High, so that a deadline overtakes a backlog of messages.
func (tick) Priority() performatives.Priority { return performatives.High }

// Control exempts ticks from the bounds of the conversation's mailbox.
func (tick) Control() {}

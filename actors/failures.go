package actors

import (
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// keptTimes is how many failures of one child are remembered at most, and
// keptChildren how many children are before old ones are looked for.
const (
	keptTimes    = 1024
	keptChildren = 64
)

// failures remembers when children failed, for as long as it matters. The
// engine's RestartStatistics, which would remember for ever, only say which
// child it is: they outlive its restarts.
type failures struct {
	mu       sync.Mutex
	children map[*actor.RestartStatistics]*history
	sweepAt  int // number of children at which to forget
}

// history is what is remembered of one child.
type history struct {
	times   []time.Time // of failures within the window, oldest first
	last    time.Time
	attempt int // failures in a row without a healthy time between
}

// add notes a failure of the child whose statistics those are. It returns the
// number of failures within window, and of those that no time without failure of
// resetAfter or more separates.
func (f *failures) add(child *actor.RestartStatistics, window, resetAfter time.Duration) (recent, attempt int) {
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	h := f.children[child]
	if h == nil {
		h = new(history)
		f.rememberLocked(child, h, now.Add(-max(window, resetAfter)))
	}
	h.add(now, window, resetAfter)
	return len(h.times), h.attempt
}

// rememberLocked adds a child, and forgets those that last failed before the
// given time, which are as good as new.
func (f *failures) rememberLocked(child *actor.RestartStatistics, h *history, before time.Time) {
	if f.children == nil {
		f.children = make(map[*actor.RestartStatistics]*history)
		f.sweepAt = keptChildren
	}
	if len(f.children) >= f.sweepAt {
		for c, old := range f.children {
			if !old.last.After(before) {
				delete(f.children, c)
			}
		}
		f.sweepAt = max(keptChildren, 2*len(f.children))
	}
	f.children[child] = h
}

func (h *history) add(now time.Time, window, resetAfter time.Duration) {
	if now.Sub(h.last) >= resetAfter {
		h.attempt = 0
	}
	h.attempt++
	h.last = now
	h.times = append(h.times, now)
	old := 0
	for now.Sub(h.times[old]) >= window || len(h.times)-old > keptTimes {
		old++
	}
	h.times = append(h.times[:0], h.times[old:]...)
}

package actors

import (
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Bounds of failures: keptTimes is the largest number of failure times per child,
// keptChildren the number of children from which old ones are removed.
const (
	keptTimes    = 1024
	keptChildren = 64
)

// failures records the failure times of children, for as long as the restart limits need
// them. The engine's RestartStatistics never forget a failure. They serve only as the key
// of a child, because they survive its restarts.
type failures struct {
	mu       sync.Mutex
	children map[*actor.RestartStatistics]*history
	sweepAt  int // number of children at which old ones are removed
}

// history is the record of one child.
type history struct {
	times   []time.Time // failures within the window, oldest first
	last    time.Time
	attempt int // consecutive failures with less than resetAfter between them
}

// add records a failure of a child, identified by its statistics. It returns the number
// of failures within window, and the number of consecutive failures with less than
// resetAfter between them.
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

// rememberLocked adds a child. It removes the children whose last failure is not after
// the given time; their history no longer affects any limit.
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

package actors

import (
	"sync/atomic"
	"time"
)

// delayMeter measures how long tasks wait in a queue, by one of them at a time, and none while
// the queue is short. The zero value is for an empty queue.
type delayMeter struct {
	ahead  int          // tasks that are popped before the measured one, and itself; guarded by the queue's lock
	since  atomic.Int64 // when the measured one was pushed, in Unix nanoseconds; zero for none
	waited atomic.Int64 // of the latest one that was popped, in nanoseconds
}

// shortQueue is a length up to which a queue has no delay.
const shortQueue = 64

// pushed is called after a push, with the length of the queue.
func (d *delayMeter) pushed(n int) {
	if n > shortQueue && d.ahead == 0 {
		d.ahead = n
		d.since.Store(time.Now().UnixNano())
	}
}

// popped is called before a pop, with the length of the queue.
func (d *delayMeter) popped(n int) {
	switch {
	case d.ahead > 1:
		d.ahead--
	case d.ahead == 1:
		d.ahead = 0
		d.waited.Store(time.Now().UnixNano() - d.since.Swap(0))
	case n <= shortQueue && d.waited.Load() != 0:
		d.waited.Store(0)
	}
}

// delay returns the wait of the latest task that was measured, or that of the one which is
// measured now if it is longer. Safe for concurrent use.
func (d *delayMeter) delay() time.Duration {
	waited := d.waited.Load()
	if since := d.since.Load(); since != 0 {
		waited = max(waited, time.Now().UnixNano()-since)
	}
	return time.Duration(waited)
}

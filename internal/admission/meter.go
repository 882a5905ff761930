package admission

import (
	"sync/atomic"
	"time"
)

// Meter estimates how long a new task would wait in a queue, by the number of those before it and
// the rate at which they leave the queue. The zero value is for an empty queue. All methods but
// Delay are called with the queue's lock held.
type Meter struct {
	n     atomic.Int64 // tasks in the queue, up to measured too many; zero while it is short
	each  atomic.Int64 // time between two pops, in nanoseconds; zero if it is not known
	begun atomic.Int64 // when the queue became long, or the last measurement ended, in Unix nanoseconds
	left  int          // pops since then
}

const (
	shortQueue = 64 // a length up to which a queue has no delay
	measured   = 64 // pops of one measurement
	coarse     = 8  // of whose multiples a push stores the length: a store costs as much as the push
)

// Pushed is called after each push, with the length of the queue.
func (d *Meter) Pushed(n int) {
	if n > shortQueue && (n%coarse == 0 || d.n.Load() == 0) {
		d.pushed(n)
	}
}

func (d *Meter) pushed(n int) {
	if d.n.Load() == 0 {
		d.left = 0
		d.each.Store(0)
		d.begun.Store(time.Now().UnixNano())
	}
	d.n.Store(int64(n))
}

// Popped is called after k tasks have left the queue, with the length of the queue.
func (d *Meter) Popped(n, k int) {
	if d.n.Load() != 0 {
		d.popped(n, k)
	}
}

func (d *Meter) popped(n, k int) {
	d.left += k
	if n <= shortQueue {
		d.n.Store(0)
		return
	}
	if d.left < measured {
		return
	}
	d.n.Store(int64(n))
	now := time.Now().UnixNano()
	took := (now - d.begun.Load()) / int64(d.left)
	if before := d.each.Load(); before != 0 {
		took = (took + 3*before) / 4
	}
	d.left = 0
	d.each.Store(took)
	d.begun.Store(now)
}

// Delay returns the estimate. It is zero while the queue is short, and no less than the time since
// the queue moves slowly or not at all. Safe for concurrent use.
func (d *Meter) Delay() time.Duration {
	n := d.n.Load()
	if n == 0 {
		return 0
	}
	return time.Duration(max(n*d.each.Load(), time.Now().UnixNano()-d.begun.Load()))
}

package actors

import "sync/atomic"

// latch is a one-time event that goroutines can wait for. Its channel is created by the
// first waiter, because most agents have no waiter.
type latch struct {
	c atomic.Pointer[chan struct{}]
}

// opened is the value of an open latch: a closed channel.
var opened = func() *chan struct{} {
	c := make(chan struct{})
	close(c)
	return &c
}()

func (l *latch) open() {
	if c := l.c.Swap(opened); c != nil && c != opened {
		close(*c)
	}
}

func (l *latch) isOpen() bool { return l.c.Load() == opened }

// done returns a channel that is closed when the latch opens.
func (l *latch) done() <-chan struct{} {
	if c := l.c.Load(); c != nil {
		return *c
	}
	c := make(chan struct{})
	if l.c.CompareAndSwap(nil, &c) {
		return c
	}
	return *l.c.Load()
}

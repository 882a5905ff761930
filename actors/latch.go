package actors

import "sync/atomic"

// latch is opened once, and can be waited for. It is a channel that is made only
// when someone waits, because most agents are never waited for.
type latch struct {
	c atomic.Pointer[chan struct{}]
}

// opened is what an open latch holds.
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

// done is closed once the latch is open.
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

package actors

import (
	"context"
	"sync"
	"sync/atomic"
)

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

// gauge counts running items, and lets its owner wait until the count is zero.
type gauge struct {
	n    atomic.Int64
	mu   sync.Mutex
	zero chan struct{} // closed when n reaches zero; nil while no goroutine waits
}

func (g *gauge) add(d int) {
	if g.n.Add(int64(d)) != 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.zero != nil && g.n.Load() == 0 {
		close(g.zero)
		g.zero = nil
	}
}

func (g *gauge) value() int { return int(g.n.Load()) }

// wait blocks until the count is zero. When ctx ends first, it returns the cause.
func (g *gauge) wait(ctx context.Context) error {
	for g.value() > 0 {
		select {
		case <-g.reached():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (g *gauge) reached() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.n.Load() == 0 {
		done := make(chan struct{})
		close(done)
		return done
	}
	if g.zero == nil {
		g.zero = make(chan struct{})
	}
	return g.zero
}

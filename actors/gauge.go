package actors

import (
	"context"
	"sync"
	"sync/atomic"
)

// gauge counts what is under way and lets its owner wait until nothing is.
type gauge struct {
	n    atomic.Int64
	mu   sync.Mutex
	zero chan struct{} // closed when n reaches zero; nil while nobody waits
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

// wait returns once the gauge is at zero, or ctx's error.
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

package actors

import (
	"slices"
	"sync"
)

// stopCalls are the functions to be called once an agent has stopped, in the order in
// which they were registered.
type stopCalls struct {
	mu      sync.Mutex
	stopped bool
	calls   []*func()
}

// stoppedCalls are those of an agent that stopped before one was registered.
var stoppedCalls = &stopCalls{stopped: true}

// AfterStop has fn called once the agent has stopped for good, at once if it has. fn runs
// on a goroutine that the system joins when it stops: see [System.Work]. cancel has fn not
// be called, and reports whether it came in time.
func (s Self) AfterStop(fn func()) (cancel func() bool) {
	if s.c.afterStop.Load() == nil {
		s.c.afterStop.CompareAndSwap(nil, &stopCalls{})
	}
	calls := s.c.afterStop.Load()
	if !calls.add(&fn) {
		s.c.sys.Work(fn)
		return func() bool { return false }
	}
	return func() bool { return calls.remove(&fn) }
}

// add registers a call, and reports whether the agent has not stopped yet.
func (c *stopCalls) add(fn *func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stopped {
		c.calls = append(c.calls, fn)
	}
	return !c.stopped
}

// remove forgets a call, and reports whether it was registered.
func (c *stopCalls) remove(fn *func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.calls, fn)
	if i >= 0 {
		c.calls = slices.Delete(c.calls, i, i+1)
	}
	return i >= 0
}

func (c *stopCalls) stop() []*func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := c.calls
	c.stopped, c.calls = true, nil
	return calls
}

// runAfterStop starts the functions that AfterStop registered.
func (c *cell) runAfterStop() {
	if c.afterStop.CompareAndSwap(nil, stoppedCalls) {
		return
	}
	for _, fn := range c.afterStop.Load().stop() {
		c.sys.Work(*fn)
	}
}

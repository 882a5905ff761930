package actors

import (
	"sync"
	"time"
)

// timers are those of [Self.After] that have not fired. They end with the agent.
type timers struct {
	mu    sync.Mutex
	ended bool
	all   map[*timer]struct{}
}

// timer is one call of [Self.After]. What still points to it after its end, such as the clock or
// the caller, keeps neither the function nor the agent.
type timer struct {
	mu   sync.Mutex
	cell *cell       // nil after its end
	fn   func(Agent) // nil after its end
	stop func() bool // of the clock
}

// After runs fn on the agent's actor after d, unless the agent has stopped by then or
// stop was called. stop reports whether it prevented the call. The command is exempt from
// the mailbox's bounds, so that no timer is lost. It survives a restart: fn gets the
// agent's current value, and an agent that begins a timer in its Start stops it in its Stop.
// The stop of the agent ends its timers, and releases fn.
func (s Self) After(d time.Duration, fn func(Agent)) (stop func() bool) {
	t := &timer{cell: s.c, fn: fn}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !s.c.timers.add(t) {
		t.cell, t.fn = nil, nil
		return t.end
	}
	t.stop = s.c.sys.AfterFunc(d, t.fire)
	return t.end
}

func (ts *timers) add(t *timer) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.ended {
		return false
	}
	if ts.all == nil {
		ts.all = make(map[*timer]struct{})
	}
	ts.all[t] = struct{}{}
	return true
}

// fire posts the function to the agent.
func (t *timer) fire() {
	if c, fn := t.take(); c != nil {
		_ = Self{c}.post(&timerFired{do{fn: fn}}) // the only error is that the agent has stopped
	}
}

// end stops the timer, and reports whether it had not ended before.
func (t *timer) end() bool {
	c, _ := t.take()
	return c != nil
}

// take ends the timer, and returns what it had.
func (t *timer) take() (c *cell, fn func(Agent)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c, fn = t.cell, t.fn; c != nil {
		t.cell, t.fn = nil, nil
		t.stop()
		c.timers.mu.Lock()
		delete(c.timers.all, t)
		c.timers.mu.Unlock()
	}
	return c, fn
}

// end stops all timers, and those that begin later.
func (ts *timers) end() {
	ts.mu.Lock()
	all := ts.all
	ts.ended, ts.all = true, nil
	ts.mu.Unlock()
	for t := range all {
		t.end()
	}
}

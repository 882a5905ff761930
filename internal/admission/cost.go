package admission

import (
	goruntime "runtime"
	"time"
)

// Handlers that compute are told from those that wait by the processor time that they take. It is
// measured of a few handlers at a time, which keep a thread each while they run. A long handler is
// read while it runs, and is then the only one of its agent: handlers that wait for hours leave
// room for those of other agents.

const (
	samples     = 16
	unknownCost = 5 * time.Millisecond  // of handlers of an agent of which none was measured
	computes    = time.Millisecond      // the least cost of a handler that is said to compute
	longSample  = 20 * time.Millisecond // after which the cost so far is as good as the whole
	burst       = 10 * time.Millisecond // of each processor, the most that is saved for a burst of handlers
	maxCosts    = 4096                  // agents whose costs are kept
)

// Sample measures the processor time of a handler.
type Sample struct {
	gate   *Gate
	agent  string
	thread int
	began  time.Time
	before time.Duration // processor time of the thread
}

// Sample begins to measure the handler on whose goroutine it is called, if the gate has use for it.
// It returns nil otherwise. What other goroutines do for the handler is not measured.
func (t *Ticket) Sample() *Sample {
	g := t.gate
	if !g.sampled.Load() {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range g.samples {
		if s != nil && s.agent == t.agent && time.Since(s.began) >= longSample {
			return nil
		}
	}
	for i := range g.samples {
		if g.samples[i] != nil {
			continue
		}
		goruntime.LockOSThread()
		s := &Sample{gate: g, agent: t.agent, thread: threadID(), began: time.Now()}
		var ok bool
		if s.before, ok = threadTime(s.thread); !ok {
			goruntime.UnlockOSThread()
			break
		}
		g.samples[i] = s
		return s
	}
	g.sampled.Store(false)
	return nil
}

// End ends the measurement, on the same goroutine.
func (s *Sample) End() {
	g := s.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if cost, ok := s.cost(); ok {
		before, known := g.costs[s.agent]
		if known {
			cost = (cost + 3*before) / 4
		}
		g.setCostLocked(s.agent, cost)
	}
	for i := range g.samples {
		if g.samples[i] == s {
			g.samples[i] = nil
		}
	}
	goruntime.UnlockOSThread()
}

func (s *Sample) cost() (time.Duration, bool) {
	now, ok := threadTime(s.thread)
	return now - s.before, ok
}

// weighLocked learns from the handlers that are being measured.
func (g *Gate) weighLocked(now time.Time) {
	for _, s := range g.samples {
		if s == nil || now.Sub(s.began) < longSample {
			continue
		}
		known, ok := g.costs[s.agent]
		if cost, read := s.cost(); read && (!ok || cost > known) {
			g.setCostLocked(s.agent, cost)
		}
	}
	g.sampled.Store(true)
}

func (g *Gate) setCostLocked(agent string, cost time.Duration) {
	if _, ok := g.costs[agent]; g.costs == nil || !ok && len(g.costs) >= maxCosts {
		g.costs = make(map[string]time.Duration)
	}
	g.costs[agent] = cost
}

// affordsLocked reports whether a handler of an agent may begin while the scheduler keeps up: one
// that waits, or the processors have had time for one that computes.
func (g *Gate) affordsLocked(agent string) bool {
	if g.costs[agent] <= computes || g.credit > 0 {
		return true
	}
	g.sampled.Store(true) // the cost may be another one now
	return false
}

func (g *Gate) costLocked(agent string) time.Duration {
	if cost, ok := g.costs[agent]; ok {
		return cost
	}
	return unknownCost
}

package admission

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// TestSample measures a handler that computes, and one that waits.
func TestSample(t *testing.T) {
	if _, ok := threadTime(threadID()); !ok {
		t.Skip("the system does not tell the processor time of a thread")
	}
	g := New(nil)
	run := func(agent string, handler func(*Sample)) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			s := take(t, g, Request{Band: 5, Agent: agent}).Sample()
			if s != nil {
				defer s.End()
			}
			handler(s)
		}()
		<-done
	}
	run("early", func(s *Sample) {
		if s != nil {
			t.Error("a handler is measured although the scheduler is not behind")
		}
	})
	weigh := func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.weighLocked(time.Now().Add(longSample))
	}
	weigh()
	const work = 10 * computes
	compute := func(s *Sample) {
		for cost, ok := s.cost(); ok && cost < work; cost, ok = s.cost() {
		}
	}
	run("computes", func(s *Sample) {
		compute(s)
		weigh()
		if g.costs["computes"] < work {
			t.Errorf("it has taken %v so far", g.costs["computes"])
		}
	})
	weigh()
	run("waits", func(s *Sample) {
		g.mu.Lock()
		s.began = s.began.Add(-longSample)
		g.mu.Unlock()
		weigh()
		run("waits", func(second *Sample) {
			if second != nil {
				t.Error("a second handler of the agent is measured beside one that runs for long")
			}
		})
		run("another", func(other *Sample) {
			if other == nil {
				t.Error("a handler that runs for long is in the way of another agent")
			}
		})
	})
	if g.costs["computes"] < work || g.costs["waits"] >= work/2 {
		t.Errorf("costs %v", g.costs)
	}
	before := g.costs["computes"]
	run("computes", func(*Sample) {})
	if got := g.costs["computes"]; got >= before || got < before/2 {
		t.Errorf("after a handler without work the cost is %v, was %v", got, before)
	}
	for i := range 2 * maxCosts {
		g.setCostLocked(strconv.Itoa(i), 1)
	}
	if n := len(g.costs); n > maxCosts {
		t.Errorf("%d costs are kept", n)
	}
}

// TestCredit has handlers that are known to compute begin by the time that the processors have had.
func TestCredit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(nil)
		g.procs, g.budget, g.probing = 2, maxBudget, true
		g.setCostLocked("computes", 5*time.Millisecond)
		b, now := new(began), time.Now()
		probe := func(after time.Duration) {
			now = now.Add(after)
			g.mu.Lock()
			g.probed(now, 0, 0)
		}
		probe(time.Hour)
		begin := func(agent string) { take(t, g, Request{Band: 5, Agent: agent, Asker: "x"}).Begin(handler{agent, b}) }
		want := func(what string, want int) {
			t.Helper()
			if got := len(b.all()); got != want {
				t.Errorf("%s: %d have begun, want %d", what, got, want)
			}
		}
		for range 20 {
			begin("computes")
		}
		want("a burst", 4) // 10 ms of two processors
		if !g.sampled.Load() {
			t.Error("the cost is not measured again")
		}
		begin("waits")
		want("one that waits", 4) // the other one has its turn
		probe(5 * time.Millisecond)
		want("after 5 ms", 7) // two that compute, and the one that waits
		probe(time.Minute)
		want("after a minute", 11)
		g.setCostLocked("computes", time.Hour)
		probe(5 * time.Millisecond)
		want("an hour of work", 12)
		if g.credit != -burst*time.Duration(g.procs) {
			t.Errorf("a debt of %v", -g.credit)
		}
	})
}

// TestFewSamples measures few handlers at a time.
func TestFewSamples(t *testing.T) {
	g := New(nil)
	g.sampled.Store(true)
	end := make(chan struct{})
	ended := make(chan struct{}, 2*samples)
	measured := 0
	for i := range 2 * samples {
		began := make(chan bool)
		go func() {
			s := take(t, g, Request{Band: 5, Agent: strconv.Itoa(i)}).Sample()
			began <- s != nil
			<-end
			if s != nil {
				s.End()
			}
			ended <- struct{}{}
		}()
		if <-began {
			measured++
		}
	}
	close(end)
	for range 2 * samples {
		<-ended
	}
	if _, ok := threadTime(threadID()); ok && measured != samples || g.samples != [samples]*Sample{} {
		t.Errorf("%d were measured, %v are left", measured, g.samples)
	}
}

package actors

import (
	"sync"
	"testing"
)

func TestSubscribeDropsAndCounts(t *testing.T) {
	var e Events
	s := Subscribe[AgentStarted](&e, 2)
	for range 5 {
		e.Publish(AgentStarted{Agent: "a"})
		e.Publish(AgentStopped{Agent: "a"})
	}
	if s.Dropped() != 3 || len(s.C) != 2 {
		t.Errorf("dropped %d, queued %d, want 3 and 2", s.Dropped(), len(s.C))
	}
	s.Stop()
	<-s.C
	e.Publish(AgentStarted{})
	if len(s.C) != 1 {
		t.Error("an event came after Stop")
	}
	s.Stop()
}

func TestSubscribeToAll(t *testing.T) {
	var e Events
	s := Subscribe[Event](&e, 0) // which is 1
	e.Publish(AgentStarted{})
	e.Publish(AgentStopped{})
	if _, first := (<-s.C).(AgentStarted); !first || s.Dropped() != 1 {
		t.Errorf("dropped %d", s.Dropped())
	}
}

func TestWants(t *testing.T) {
	var e Events
	wants := func(started, stopped bool) {
		t.Helper()
		if got := Wants[AgentStarted](&e); got != started {
			t.Errorf("AgentStarted is wanted: %t", got)
		}
		if got := Wants[AgentStopped](&e); got != stopped {
			t.Errorf("AgentStopped is wanted: %t", got)
		}
	}
	wants(false, false)
	one := e.Listen(func(Event) {}, About[AgentStarted](), About[DeadLetter]())
	wants(true, false)
	all := e.Listen(func(Event) {})
	wants(true, true)
	one()
	wants(true, true)
	all()
	all()
	wants(false, false)
	if e.Enabled() {
		t.Error("somebody listens")
	}
	if n := testing.AllocsPerRun(100, func() { _ = Wants[AgentStarted](&e) }); n != 0 {
		t.Errorf("Wants allocates %v times", n)
	}
}

// Listeners come and go while events are published; whoever listens all the time
// misses none.
func TestListenRaces(t *testing.T) {
	const publishers, each = 4, 500
	var e Events
	var mu sync.Mutex
	heard := 0
	defer e.Listen(func(Event) { mu.Lock(); heard++; mu.Unlock() })()
	var all sync.WaitGroup
	for range publishers {
		all.Go(func() {
			for range each {
				e.Publish(AgentStarted{})
			}
		})
		all.Go(func() {
			for range each {
				stop := e.Listen(func(Event) {}, About[AgentStopped]())
				s := Subscribe[AgentStarted](&e, 1)
				stop()
				s.Stop()
			}
		})
	}
	all.Wait()
	if heard != publishers*each {
		t.Errorf("heard %d events, want %d", heard, publishers*each)
	}
}

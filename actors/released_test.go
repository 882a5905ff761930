package actors

import (
	"context"
	goruntime "runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
)

// heavy is an agent that has begun all that an agent can leave behind.
type heavy struct {
	ballast []byte
}

// newSystemFor returns a system that the end of the test stops.
func newSystemFor(t *testing.T) *System {
	t.Helper()
	s, err := NewSystem(Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// sink is a destination that takes all messages.
type sink struct{}

func (sink) Deliver(*performatives.Message) error { return nil }

func (sink) Load() *Load { return nil }

func (sink) Wait() time.Duration { return 0 }

func (*heavy) Describe() performatives.Capabilities { return performatives.Capabilities{} }

// collected waits until the garbage collector has freed what p points to.
func collected[T any](t *testing.T, what string, p weak.Pointer[T]) {
	t.Helper()
	for end := time.Now().Add(patience.Time); p.Value() != nil; goruntime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%s is still reachable", what)
		}
		goruntime.GC()
	}
}

// A stopped agent, whose handle is kept, is kept by nothing: no timer, no watch of an agent of this
// process or another, no pending request. So is what these hold.
func TestStoppedAgentIsReleased(t *testing.T) {
	s := newSystemFor(t)
	remote, err := s.Register("Remote", sink{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Spawn(t.Context(), Spec{ID: "Local", New: func() Agent { return &heavy{} }}); err != nil {
		t.Fatal(err)
	}
	self, stopTimer, agent, held := func() (Self, func() bool, weak.Pointer[heavy], []weak.Pointer[heavy]) {
		a := &heavy{make([]byte, 1<<10)}
		self, err := s.Spawn(t.Context(), Spec{ID: "A", New: func() Agent { return a }})
		if err != nil {
			t.Fatal(err)
		}
		var held []weak.Pointer[heavy]
		holding := func() func(Agent) {
			h := &heavy{make([]byte, 1<<10)}
			held = append(held, weak.Make(h))
			return func(Agent) { h.ballast[0]++ }
		}
		stop := self.After(time.Hour, holding())
		for _, id := range []performatives.AgentID{"Remote", "Remote", "Local"} {
			if err := self.Watch(id, holding()); err != nil {
				t.Fatal(err)
			}
		}
		if err := self.Do(t.Context(), func(Agent) {}); err != nil { // the watches have begun
			t.Fatal(err)
		}
		return self, stop, weak.Make(a), held
	}()
	if err := s.StopAgent(t.Context(), "A"); err != nil {
		t.Fatal(err)
	}
	if stopTimer() {
		t.Error("a timer of a stopped agent was stopped again")
	}
	late := &heavy{}
	held = append(held, weak.Make(late))
	if stop := self.After(time.Hour, func(Agent) { late.ballast = nil }); stop() {
		t.Error("a timer began after the stop of its agent")
	}
	collected(t, "the agent", agent)
	for i, h := range held {
		collected(t, []string{"what a timer holds", "what a watch holds", "what a second watch holds", "what a local watch holds", "what a late timer holds"}[i], h)
	}
	if n := len(remote.removal.calls); n != 0 {
		t.Errorf("an agent of another process keeps %d watches", n)
	}
	goruntime.KeepAlive(self)
	goruntime.KeepAlive(stopTimer)
}

// remembering is a tombstone that keeps something.
type remembering struct{ of *heavy }

func (remembering) Receive(Self, *performatives.Message) bool { return true }
func (remembering) Size() int                                 { return 0 }
func (remembering) Shed()                                     {}

// A timer that has ended, and the tombstones of an agent that has stopped, are kept by nothing.
func TestEndsAreReleased(t *testing.T) {
	s, self := recordingSystem(t, Options{}, nil)
	timer, tombstone := func() (weak.Pointer[timer], weak.Pointer[heavy]) {
		stop := self.After(time.Hour, func(Agent) {})
		var one weak.Pointer[timer]
		for t := range self.c.timers.all {
			one = weak.Make(t)
		}
		stop()
		kept := &heavy{make([]byte, 1<<10)}
		c := &recording{key: Key{ID: "c", Peer: "x", Initiator: true}}
		if err := self.Begin(c); err != nil {
			t.Fatal(err)
		}
		self.End(c, remembering{kept})
		if err := self.Do(t.Context(), func(Agent) {}); err != nil {
			t.Fatal(err)
		}
		return one, weak.Make(kept)
	}()
	collected(t, "a timer", timer)
	if self.c.tombstones == nil {
		t.Error("there is no tombstone")
	}
	if err := s.StopAgent(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	collected(t, "a tombstone", tombstone)
	goruntime.KeepAlive(self)
	stopSystem(t, s)
}

// Timers end when they fire and when they are stopped, and the stop of the system ends the others.
func TestTimersEnd(t *testing.T) {
	s := newSystemFor(t)
	self, err := s.Spawn(t.Context(), Spec{ID: "A", New: func() Agent { return &heavy{} }})
	if err != nil {
		t.Fatal(err)
	}
	fired := make(chan struct{})
	var held []weak.Pointer[heavy]
	func() {
		holding := func(then func()) func(Agent) {
			h := &heavy{make([]byte, 1<<10)}
			held = append(held, weak.Make(h))
			return func(Agent) { h.ballast[0]++; then() }
		}
		self.After(0, holding(func() { close(fired) }))
		<-fired
		if stop := self.After(time.Hour, holding(func() {})); !stop() || stop() {
			t.Error("stop does not report whether it prevented the call")
		}
		self.After(time.Hour, holding(func() {}))
	}()
	collected(t, "what a timer held that has fired", held[0])
	collected(t, "what a stopped timer held", held[1])
	self.c.timers.mu.Lock()
	n := len(self.c.timers.all)
	self.c.timers.mu.Unlock()
	if n != 1 || held[2].Value() == nil {
		t.Errorf("%d timers run, want 1", n)
	}
	if err := s.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	collected(t, "what a timer holds after the stop of the system", held[2])
	goruntime.KeepAlive(self)
}

// A restart ends the watches of the former value, and keeps the timers.
func TestRestartReleasesWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystemFor(t)
		remote, err := s.Register("Remote", sink{})
		if err != nil {
			t.Fatal(err)
		}
		self, err := s.Spawn(t.Context(), Spec{ID: "A", New: func() Agent { return &heavy{} }})
		if err != nil {
			t.Fatal(err)
		}
		var before, after Agent
		if err := self.Do(t.Context(), func(a Agent) { before = a }); err != nil {
			t.Fatal(err)
		}
		self.After(time.Hour, func(a Agent) { after = a })
		if err := self.Watch("Remote", func(Agent) { t.Error("a watch has survived") }); err != nil {
			t.Fatal(err)
		}
		_ = self.Do(t.Context(), func(Agent) { panic("as the test wants it") })
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if after == nil || after == before {
			t.Errorf("the timer got %p, the former value is %p", after, before)
		}
		remote.removal.mu.Lock()
		n := len(remote.removal.calls)
		remote.removal.mu.Unlock()
		if n != 0 {
			t.Errorf("an agent of another process keeps %d watches", n)
		}
		remote.Remove()
		if err := self.Do(t.Context(), func(Agent) {}); err != nil {
			t.Fatal(err)
		}
	})
}

// The registry lists each agent of this process once, whatever the spelling of its id, and no agent
// that has stopped or is of another process.
func TestLocalAgentsAreListedOnce(t *testing.T) {
	s := newSystemFor(t)
	listed := func() (ids []performatives.AgentID) {
		for c := range s.registrations.locals() {
			ids = append(ids, c.id)
		}
		slices.Sort(ids)
		return ids
	}
	var all []Self
	for _, id := range []performatives.AgentID{"Ann", "bob", "CARL"} {
		self, err := s.Spawn(t.Context(), Spec{ID: id, New: func() Agent { return &heavy{} }})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, self)
	}
	if _, err := s.Register("Zoe", sink{}); err != nil {
		t.Fatal(err)
	}
	if got := listed(); !slices.Equal(got, []performatives.AgentID{"Ann", "CARL", "bob"}) {
		t.Errorf("listed: %q", got)
	}
	for _, self := range all[:2] {
		if err := s.StopAgent(patience.Context(t), self.ID()); err != nil {
			t.Fatal(err)
		}
	}
	if got := listed(); !slices.Equal(got, []performatives.AgentID{"CARL"}) {
		t.Errorf("listed after two have stopped: %q", got)
	}
}

package actors

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/actors/events"
)

var errBroken = errors.New("broken")

// testSupervisor is a supervisor with children that fail on request, in a synctest
// bubble.
type testSupervisor struct {
	t        *testing.T
	system   *actor.ActorSystem
	parent   *actor.PID
	children map[string]*actor.PID

	mu               sync.Mutex
	supervisorStarts int                        // number of starts of the supervisor
	starts           map[string][]time.Duration // start times of each child, since the creation of the supervisor
	got              map[string][]int
	events           []events.Decision
}

// newTestSupervisor spawns a supervisor of the named children.
func newTestSupervisor(t *testing.T, s Supervision, names ...string) *testSupervisor {
	return newTestSupervisorWith(t, MailboxProducer(MailboxOptions{}), s, names...)
}

// newTestSupervisorWith is newTestSupervisor with another mailbox.
func newTestSupervisorWith(t *testing.T, producer actor.MailboxProducer, s Supervision, names ...string) *testSupervisor {
	f := &testSupervisor{
		t: t, system: newSystem(), children: map[string]*actor.PID{},
		starts: map[string][]time.Duration{}, got: map[string][]int{},
	}
	s.OnEvent = func(e events.Decision) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.events = append(f.events, e)
	}
	pool := NewPool(PoolOptions{})
	t.Cleanup(func() {
		f.sleep(0)
		stopAndWait(t, f.system, f.parent)
		closePool(t, pool)
	})
	spawned := make(chan struct{})
	mailbox, dispatcher := actor.WithMailbox(producer), actor.WithDispatcher(pool)
	f.parent = f.system.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		if _, ok := c.Message().(*actor.Started); ok {
			for _, name := range names {
				pid, err := c.SpawnNamed(actor.PropsFromFunc(f.child(name, time.Now()), mailbox, dispatcher), name)
				if err != nil {
					t.Error(err)
				}
				f.children[name] = pid
			}
			if f.supervisorStarts++; f.supervisorStarts == 1 {
				close(spawned)
			}
		}
	}, mailbox, dispatcher, actor.WithSupervisor(s.Strategy())))
	<-spawned
	f.sleep(0)
	return f
}

func (f *testSupervisor) child(name string, born time.Time) actor.ReceiveFunc {
	return func(c actor.Context) {
		f.mu.Lock()
		defer f.mu.Unlock()
		switch m := c.Message().(type) {
		case *actor.Started:
			f.starts[name] = append(f.starts[name], time.Since(born))
		case int:
			f.got[name] = append(f.got[name], m)
		case error:
			panic(m)
		}
	}
}

// tell sends the messages to a child, and waits until all goroutines are blocked.
func (f *testSupervisor) tell(name string, messages ...any) {
	for _, m := range messages {
		f.system.Root.Send(f.children[name], m)
	}
	f.sleep(0)
}

// sleep advances the bubble's clock, and waits until all goroutines are blocked. The lock
// orders the test's reads before and after it.
func (f *testSupervisor) sleep(d time.Duration) {
	f.mu.Lock()
	f.mu.Unlock() //nolint:staticcheck // see above
	time.Sleep(d)
	synctest.Wait()
	f.mu.Lock()
	f.mu.Unlock() //nolint:staticcheck // see above
}

func (f *testSupervisor) alive(name string) bool {
	_, ok := f.system.ProcessRegistry.Get(f.children[name])
	return ok
}

func (f *testSupervisor) directives() []actor.Directive {
	var all []actor.Directive
	for _, e := range f.events {
		all = append(all, e.Directive)
	}
	return all
}

func TestSupervisionRestartsAfterTheBackoff(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newTestSupervisor(t, Supervision{Backoff: Backoff{Min: time.Second, Max: 5 * time.Second}}, "a", "b")
		for i := range 4 {
			f.tell("a", errBroken, i) // i is queued until the restart
			if len(f.got["a"]) != i {
				t.Fatalf("the child handled %v before it was restarted", f.got["a"])
			}
			f.sleep(5 * time.Second)
		}
		var delays []time.Duration
		for _, e := range f.events {
			delays = append(delays, e.Delay)
		}
		s := time.Second
		if diff := cmp.Diff([]time.Duration{s, 2 * s, 4 * s, 5 * s}, delays); diff != "" {
			t.Errorf("delays (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]time.Duration{0, s, 7 * s, 14 * s, 20 * s}, f.starts["a"]); diff != "" {
			t.Errorf("starts (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]int{0, 1, 2, 3}, f.got["a"]); diff != "" || len(f.starts["b"]) != 1 {
			t.Errorf("b started %d times, want 1; a's messages (-want +got):\n%s", len(f.starts["b"]), diff)
		}
		e := f.events[3]
		if !errors.Is(e.Reason, errBroken) || len(e.Stack) == 0 || e.Restarts != 4 || e.Child.Id != f.children["a"].Id {
			t.Errorf("event %+v", e)
		}
	})
}

func TestSupervisionBeginsAgainAfterAHealthyTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newTestSupervisor(t, Supervision{
			Backoff:    Backoff{Min: time.Second},
			ResetAfter: 10 * time.Second, Window: time.Hour, MaxRestarts: 3,
		}, "a")
		for range 3 {
			f.tell("a", errBroken)
			f.sleep(11 * time.Second)
		}
		for _, e := range f.events {
			if e.Delay != time.Second {
				t.Errorf("restart %d after %v, want the shortest delay", e.Restarts, e.Delay)
			}
		}
		f.tell("a", errBroken) // the window is longer than ResetAfter
		if d := f.directives(); d[3] != actor.StopDirective || f.alive("a") {
			t.Errorf("directives %v, want a stop at last", d)
		}
	})
}

func TestSupervisionLimit(t *testing.T) {
	for _, escalate := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			f := newTestSupervisor(t, Supervision{MaxRestarts: 2, Window: time.Minute, Escalate: escalate}, "a")
			for range 3 {
				f.tell("a", errBroken)
				f.sleep(time.Second)
			}
			synctest.Wait()
			want := []actor.Directive{actor.RestartDirective, actor.RestartDirective, actor.StopDirective}
			if escalate {
				want[2] = actor.EscalateDirective
			}
			if diff := cmp.Diff(want, f.directives()); diff != "" {
				t.Errorf("escalate=%v: directives (-want +got):\n%s", escalate, diff)
			}
			// The supervisor is restarted by its own supervisor, and spawns a new child.
			wantStarts := 1
			if escalate {
				wantStarts = 2
			}
			if f.supervisorStarts != wantStarts || f.alive("a") != escalate {
				t.Errorf("escalate=%v: the supervisor started %d times, its child is alive: %v", escalate, f.supervisorStarts, f.alive("a"))
			}
		})
	}
}

func TestSupervisionWindowSlides(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newTestSupervisor(t, Supervision{MaxRestarts: 1, Window: 10 * time.Second}, "a")
		for range 5 {
			f.tell("a", errBroken)
			f.sleep(10 * time.Second)
		}
		if slices.Contains(f.directives(), actor.StopDirective) {
			t.Errorf("directives %v, want restarts only", f.directives())
		}
	})
}

func TestSupervisionResumes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newTestSupervisor(t, Supervision{Decider: func(error) actor.Directive { return actor.ResumeDirective }}, "a")
		f.tell("a", errBroken, 1)
		if len(f.starts["a"]) != 1 || !slices.Equal(f.got["a"], []int{1}) {
			t.Errorf("started %d times, got %v", len(f.starts["a"]), f.got["a"])
		}
	})
}

func TestSupervisionAllForOne(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newTestSupervisor(t, Supervision{AllForOne: true, Backoff: Backoff{Min: time.Second}}, "a", "b")
		f.tell("a", errBroken)
		f.tell("b", 1)
		if len(f.got["b"]) != 0 {
			t.Error("a sibling was served between the failure and the restart")
		}
		f.sleep(time.Second)
		if len(f.starts["a"]) != 2 || len(f.starts["b"]) != 2 || len(f.got["b"]) != 1 {
			t.Errorf("starts %v, got %v; want two of each, and one message", f.starts, f.got)
		}
	})
}

func TestSupervisionStopsWhenTheDeciderPanics(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newTestSupervisor(t, Supervision{Decider: func(error) actor.Directive { panic("no idea") }}, "a")
		f.tell("a", errBroken)
		if f.alive("a") || f.events[0].Directive != actor.StopDirective {
			t.Errorf("alive %v, events %v; want a stop", f.alive("a"), f.events)
		}
	})
}

// A child that is stopped during the restart delay stays stopped, and a new actor with
// the same name is not restarted.
func TestDelayedRestartOfAStoppedChild(t *testing.T) {
	bubble(t, func(t *testing.T) {
		// The engine's mailbox would restart the stopped child.
		f := newTestSupervisorWith(t, actor.Unbounded(), Supervision{Backoff: Backoff{Min: time.Second}}, "a")
		f.tell("a", errBroken)
		stopAndWait(t, f.system, f.children["a"])
		starts, dead := 0, 0
		pid, err := f.system.Root.SpawnNamed(actor.PropsFromFunc(func(c actor.Context) {
			if _, ok := c.Message().(*actor.Started); ok {
				starts++
			}
		}), f.children["a"].Id)
		if err != nil {
			t.Fatal(err)
		}
		subscription := f.system.EventStream.SubscribeWithPredicate(func(any) { dead++ }, func(e any) bool {
			_, ok := e.(*actor.DeadLetterEvent)
			return ok
		})
		defer f.system.EventStream.Unsubscribe(subscription)
		f.sleep(2 * time.Second)
		if starts != 1 || dead != 0 || len(f.starts["a"]) != 1 {
			t.Errorf("the new actor started %d times, %d dead letters, the old one started %d times", starts, dead, len(f.starts["a"]))
		}
		stopAndWait(t, f.system, pid)
	})
}

// Without a supervising actor there is no escalation: the engine's guardian would panic
// and end the process.
func TestSupervisionByAGuardian(t *testing.T) {
	for _, directive := range []actor.Directive{actor.EscalateDirective, actor.StopDirective} {
		bubble(t, func(t *testing.T) {
			system := newSystem()
			s := Supervision{AllForOne: true, Decider: func(error) actor.Directive { return directive }}
			pid := system.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
				if err, ok := c.Message().(error); ok {
					panic(err)
				}
			}, actor.WithMailbox(MailboxProducer(MailboxOptions{})), actor.WithGuardian(s.Strategy())))
			system.Root.Send(pid, errBroken)
			synctest.Wait()
			if _, ok := system.ProcessRegistry.Get(pid); ok {
				t.Errorf("%v: the actor is alive", directive)
			}
		})
	}
}

func TestSupervisionForgetsChildren(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f failures
		for range 10 * keptChildren {
			f.add(actor.NewRestartStatistics(), time.Second, time.Second)
			time.Sleep(time.Second)
		}
		if n := len(f.children); n > keptChildren {
			t.Errorf("%d children are remembered, want at most %d", n, keptChildren)
		}
		child := actor.NewRestartStatistics()
		for range 2 * keptTimes {
			f.add(child, time.Hour, time.Hour)
		}
		if n := len(f.children[child].times); n != keptTimes {
			t.Errorf("%d failures are remembered, want %d", n, keptTimes)
		}
	})
}

// The default backoff reaches the default limit of restarts.
func TestSupervisionDefaultLimitIsReached(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newTestSupervisor(t, Supervision{}, "a")
		for range DefaultMaxRestarts + 1 {
			f.tell("a", errBroken)
			f.sleep(f.events[len(f.events)-1].Delay)
		}
		if f.alive("a") {
			t.Errorf("the child is alive after %v", f.directives())
		}
	})
}

// A child whose failure is escalated is stopped, because a resumed supervisor would not
// resume it.
func TestSupervisionEscalationStopsTheChild(t *testing.T) {
	bubble(t, func(t *testing.T) {
		always := func(d actor.Directive) actor.SupervisorStrategy {
			return Supervision{Decider: func(error) actor.Directive { return d }}.Strategy()
		}
		system, starts := newSystem(), 0
		var child *actor.PID
		parent := system.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if _, ok := c.Message().(*actor.Started); ok {
				starts++
				child = c.Spawn(actor.PropsFromFunc(func(c actor.Context) {
					if err, ok := c.Message().(error); ok {
						panic(err)
					}
				}))
			}
		}, actor.WithGuardian(always(actor.ResumeDirective)), actor.WithSupervisor(always(actor.EscalateDirective))))
		synctest.Wait()
		system.Root.Send(child, errBroken)
		synctest.Wait()
		if _, alive := system.ProcessRegistry.Get(child); alive || starts != 1 {
			t.Errorf("the child is alive: %v; the parent started %d times, want 1", alive, starts)
		}
		stopAndWait(t, system, parent)
	})
}

func TestSupervisionRejectsInvalidOptions(t *testing.T) {
	for _, s := range []Supervision{
		{MaxRestarts: -2},
		{Window: -1},
		{ResetAfter: -1},
		{Backoff: Backoff{Min: -1}},
		{Backoff: Backoff{Min: 2, Max: 1}},
		{Backoff: Backoff{Factor: 0.5}},
		{Backoff: Backoff{Jitter: 2}},
	} {
		if s.withDefaults().validate() == nil {
			t.Errorf("%+v is accepted", s)
		}
	}
}

// Children that have not failed for long are forgotten when there are many, and counted anew.
func TestFailuresAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const window, resetAfter = time.Minute, time.Hour
		var f failures
		children := make([]*actor.RestartStatistics, 3*keptChildren)
		for i := range children {
			children[i] = new(actor.RestartStatistics)
		}
		add := func(from, to, kept int) {
			t.Helper()
			for _, c := range children[from:to] {
				f.add(c, window, resetAfter)
			}
			if len(f.children) != kept {
				t.Errorf("after those from %d to %d, %d are known, want %d", from, to, len(f.children), kept)
			}
		}
		add(0, keptChildren, keptChildren)
		time.Sleep(resetAfter - 1)
		add(keptChildren, 2*keptChildren, 2*keptChildren) // all of them count still
		time.Sleep(time.Nanosecond)
		add(2*keptChildren, 2*keptChildren+1, keptChildren+1)
		if _, attempt := f.add(children[keptChildren], window, resetAfter); attempt != 2 {
			t.Errorf("attempt %d of one that is known", attempt)
		}
		if _, attempt := f.add(children[0], window, resetAfter); attempt != 1 {
			t.Errorf("attempt %d of one that was forgotten", attempt)
		}
		time.Sleep(resetAfter)
		add(0, 3*keptChildren, 3*keptChildren)
	})
}

package actors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/performatives"
)

// simulate lets five actors pass a message around, and returns the order of the
// deliveries.
func simulate(seed uint64) []string {
	sim := NewSim(SimOptions{Seed: seed})
	system := newSystem()
	var order []string
	props := actor.PropsFromFunc(func(c actor.Context) {
		if n, ok := c.Message().(int); ok {
			order = append(order, c.Self().Id)
			if n > 0 {
				c.Send(c.Self(), n-1)
			}
		}
	}, actor.WithMailbox(MailboxProducer(MailboxOptions{})), actor.WithDispatcher(sim))
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		pid, _ := system.Root.SpawnNamed(props, name)
		system.Root.Send(pid, 4)
	}
	sim.Run()
	return order
}

func TestSimOrderDependsOnTheSeedAlone(t *testing.T) {
	first := simulate(1)
	if len(first) != 25 {
		t.Fatalf("%d messages were handled, want 25", len(first))
	}
	if diff := cmp.Diff(first, simulate(1)); diff != "" {
		t.Errorf("the same seed gives another order (-first +second):\n%s", diff)
	}
	if cmp.Equal(first, simulate(2)) {
		t.Error("another seed gives the same order")
	}
}

// Between two steps, agents and conversations get messages in any order. The seed alone says which of
// them is served first.
func TestSimOrderIsThatOfTheActors(t *testing.T) {
	for seed := range uint64(4) {
		synctest.Test(t, func(t *testing.T) {
			first, second := simulateTells(t, seed, false), simulateTells(t, seed, true)
			if len(first) != 4 || !slices.Equal(first, second) {
				t.Errorf("seed %d: served %q, and %q when they got their messages in another order", seed, first, second)
			}
		})
	}
}

// simulateTells returns the order in which two agents and two conversations are served.
func simulateTells(t *testing.T, seed uint64, reverse bool) (order []string) {
	t.Helper()
	served := func(m any) { order = append(order, fmt.Sprint(m)) }
	c1, c2 := &recording{receive: served}, &recording{receive: served}
	sim := NewSim(SimOptions{Seed: seed, Settle: synctest.Wait})
	s, self := recordingSystem(t, Options{Dispatcher: sim}, map[performatives.ConversationID]*recording{"c1": c1, "c2": c2})
	other, err := s.Spawn(t.Context(), Spec{ID: "b", New: func() Agent { return silent{} }})
	if err != nil {
		t.Fatal(err)
	}
	deliverAll(t, s, recordedMessage(t, "c1", "m1", performatives.Normal), recordedMessage(t, "c2", "m2", performatives.Normal))
	sim.Run()
	order = nil
	tells := []func(){
		func() { c1.actor.Tell("c1") },
		func() { c2.actor.Tell("c2") },
		func() { _ = self.Later(func(Agent) { served("a") }) },
		func() { _ = other.Later(func(Agent) { served("b") }) },
	}
	if reverse {
		slices.Reverse(tells)
	}
	for _, tell := range tells {
		tell()
	}
	sim.Run()
	sim.Await(func() {
		if err := errors.Join(s.StopAgent(t.Context(), "a"), s.Stop(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return order
}

func TestSimWithVirtualTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim := NewSim(SimOptions{})
		start := time.Now()
		var after time.Duration
		time.AfterFunc(time.Hour, func() { sim.Schedule(func() { after = time.Since(start) }) })
		if sim.Run() != 0 || sim.Step() {
			t.Error("something ran too early")
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := sim.Run(); n != 1 || after != time.Hour {
			t.Errorf("%d steps, after %v; want 1, after 1h", n, after)
		}
	})
}

// withSettlingSim runs test in a bubble, with a system on a simulation that has Settle.
func withSettlingSim(t *testing.T, test func(t *testing.T, sim *Sim, sys *System)) {
	bubble(t, func(t *testing.T) {
		sim := NewSim(SimOptions{Settle: synctest.Wait})
		sys := newAgents(t, Options{Dispatcher: sim})
		test(t, sim, sys)
		sim.Await(func() {
			if err := sys.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		})
	})
}

func newAgents(t *testing.T, o Options) *System {
	t.Helper()
	sys, err := NewSystem(o)
	if err != nil {
		t.Fatal(err)
	}
	return sys
}

// starterAgent is an agent whose Start is a function.
type starterAgent func(*Context) error

func (starterAgent) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (b starterAgent) Start(c *Context) error { return b(c) }

func spawnStarter(ctx context.Context, sys *System, id performatives.AgentID, start func(*Context) error) error {
	_, err := sys.Spawn(ctx, Spec{ID: id, New: func() Agent { return starterAgent(start) }})
	return err
}

// spawnsInSim spawns agents whose Start succeeds, fails, panics, or spawns another agent.
func spawnsInSim(t *testing.T, sys *System) {
	t.Helper()
	ctx := t.Context()
	if err := spawnStarter(ctx, sys, "fails", func(*Context) error { return errBroken }); !errors.Is(err, errBroken) {
		t.Errorf("Spawn = %v, want what Start returned", err)
	}
	if err := spawnStarter(ctx, sys, "panics", func(*Context) error { panic("oops") }); err == nil {
		t.Error("Spawn of an agent that panics as it starts returned nil")
	}
	var inner error
	err := spawnStarter(ctx, sys, "outer", func(*Context) error {
		inner = spawnStarter(ctx, sys, "inner", func(*Context) error { return nil })
		return nil
	})
	if err != nil || inner != nil {
		t.Errorf("Spawn = %v, and within a Start %v", err, inner)
	}
	for id, want := range map[performatives.AgentID]bool{"fails": false, "panics": false, "outer": true, "inner": true} {
		if _, got := sys.Lookup(id); got != want {
			t.Errorf("%s runs: %t, want %t", id, got, want)
		}
	}
	if err := sys.StopAgent(ctx, "inner"); err != nil {
		t.Error(err)
	}
}

func TestSimSpawnsStarters(t *testing.T) {
	t.Run("on the owner's goroutine", func(t *testing.T) {
		sim := NewSim(SimOptions{})
		sys := newAgents(t, Options{Dispatcher: sim})
		spawnsInSim(t, sys)
		if err := sys.StopAgent(t.Context(), "outer"); err != nil {
			t.Error(err)
		}
		if err := sys.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
	t.Run("before a settling simulation runs", func(t *testing.T) {
		withSettlingSim(t, func(t *testing.T, _ *Sim, sys *System) { spawnsInSim(t, sys) })
	})
	t.Run("in a settling simulation", func(t *testing.T) {
		withSettlingSim(t, func(t *testing.T, sim *Sim, sys *System) { sim.Await(func() { spawnsInSim(t, sys) }) })
	})
}

// simulateSimultaneousWakeups wakes handlers, timers and waiting goroutines at the same
// instant, and returns the order in which they continue.
func simulateSimultaneousWakeups(t *testing.T, seed uint64) (order []string) {
	bubble(t, func(t *testing.T) {
		sim := NewSim(SimOptions{Seed: seed, Settle: synctest.Wait})
		sys := newAgents(t, Options{Dispatcher: sim})
		note := func(kind string, i int) { order = append(order, fmt.Sprint(kind, i, " ", time.Now().Nanosecond())) }
		wake := make(chan struct{})
		for i := range 8 {
			sys.Work(func() {
				note("began", i)
				<-wake
				sim.Yield(fmt.Sprint("worker ", i))
				note("went on", i)
			})
			sys.AfterFunc(time.Millisecond, func() { note("timer", i) })
			sys.AfterFunc(time.Hour, func() { note("never", i) })()
		}
		sim.RunFor(time.Millisecond)
		close(wake)
		sim.Await(func() {
			time.Sleep(time.Second)
			if err := sys.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		})
	})
	return order
}

func TestSimOrdersSimultaneousWakeups(t *testing.T) {
	first := simulateSimultaneousWakeups(t, 1)
	if len(first) != 24 {
		t.Fatalf("%d things happened, want 24: %q", len(first), first)
	}
	if slices.IsSorted(first[:8]) || slices.IsSorted(first[16:]) {
		t.Errorf("the order is not the seed's: %q", first)
	}
	for range 50 {
		if diff := cmp.Diff(first, simulateSimultaneousWakeups(t, 1)); diff != "" {
			t.Fatalf("the same seed gives another order (-first +second):\n%s", diff)
		}
	}
	if cmp.Equal(first, simulateSimultaneousWakeups(t, 2)) {
		t.Error("another seed gives the same order")
	}
}

// Other steps run while one step waits.
func TestSimContinuesWhileAStepWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sim := NewSim(SimOptions{Settle: synctest.Wait})
		var order []string
		done := make(chan struct{})
		sim.Schedule(func() {
			<-done
			order = append(order, "waited")
		})
		sim.Run()
		sim.Schedule(func() { order = append(order, "other") })
		sim.Run()
		close(done)
		if n := sim.Run(); n != 0 {
			t.Errorf("%d steps were left", n)
		}
		if diff := cmp.Diff([]string{"other", "waited"}, order); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
	})
}

// Nothing of a paused part runs: no function, handler, timer or goroutine that yields.
func TestSimPausesAPart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sim := NewSim(SimOptions{Settle: synctest.Wait})
		part := sim.Part()
		sys := newAgents(t, Options{Dispatcher: part})
		var order []string
		note := func(what string) func() { return func() { order = append(order, what) } }
		part.Schedule(note("queued"))
		part.Pause()
		sys.Work(note("worker"))
		sys.AfterFunc(time.Second, note("timer"))
		sim.Go(func() {
			time.Sleep(time.Second)
			part.Yield("goroutine")
			order = append(order, "goroutine")
		})
		sim.Schedule(note("other"))
		sim.RunFor(time.Minute)
		if diff := cmp.Diff([]string{"other"}, order); diff != "" {
			t.Errorf("in the pause (-want +got):\n%s", diff)
		}
		part.Resume()
		sim.Run()
		slices.Sort(order)
		if diff := cmp.Diff([]string{"goroutine", "other", "queued", "timer", "worker"}, order); diff != "" {
			t.Errorf("after the pause (-want +got):\n%s", diff)
		}
		sim.Await(func() {
			if err := sys.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		})
	})
}

// simulateStop stops an agent for many callers at once, and returns the order in which they
// continue.
func simulateStop(t *testing.T, seed uint64) (order []string) {
	bubble(t, func(t *testing.T) {
		sim := NewSim(SimOptions{Seed: seed, Settle: synctest.Wait})
		sys := newAgents(t, Options{Dispatcher: sim})
		sim.Await(func() {
			if err := spawnStarter(t.Context(), sys, "a", func(*Context) error { return nil }); err != nil {
				t.Error(err)
			}
		})
		for i := range 8 {
			sys.Work(func() {
				if err := sys.StopAgent(t.Context(), "a"); err != nil {
					t.Error(err)
				}
				order = append(order, fmt.Sprint(i))
			})
		}
		sim.Await(func() {
			time.Sleep(time.Second)
			if err := sys.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		})
	})
	return order
}

func TestSimOrdersWaitsForAStop(t *testing.T) {
	first := simulateStop(t, 1)
	if len(first) != 8 {
		t.Fatalf("%d callers continued, want 8: %q", len(first), first)
	}
	for range 50 {
		if diff := cmp.Diff(first, simulateStop(t, 1)); diff != "" {
			t.Fatalf("the same seed gives another order (-first +second):\n%s", diff)
		}
	}
}

// TestSimSettles counts how often a simulation waits until all goroutines are blocked: once before
// the first step and once after each, whether or not the step may block.
func TestSimSettles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		settled := 0
		sim := NewSim(SimOptions{Settle: func() {
			settled++
			synctest.Wait()
		}})
		done := false
		sim.Go(func() {
			sim.Yield("begun")
			done = true
		})
		for range 5 {
			sim.Schedule(func() {})
		}
		const steps = 5 + 2 // the goroutine's start and its turn
		if n := sim.Run(); n != steps || !done {
			t.Errorf("%d steps, want %d; done: %t", n, steps, done)
		}
		if settled != 1+steps {
			t.Errorf("settled %d times, want %d", settled, 1+steps)
		}
		if sim.Step() || settled != 2+steps {
			t.Errorf("settled %d times in an empty step", settled-1-steps)
		}
	})
}

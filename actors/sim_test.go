package actors

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/go-cmp/cmp"
)

// simulate has five actors pass a message around, and returns who got it when.
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

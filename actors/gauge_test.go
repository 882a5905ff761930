package actors

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
)

func TestGauge(t *testing.T) {
	var g gauge
	if err := g.wait(t.Context()); err != nil {
		t.Error(err)
	}
	g.add(2)
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errGoexit)
	if err := g.wait(ended); !errors.Is(err, errGoexit) || g.value() != 2 {
		t.Errorf("got %v at %d", err, g.value())
	}
	g.add(-2)
	if err := g.wait(ended); err != nil {
		t.Errorf("at zero: %v", err)
	}
}

// Every waiter wakes when the gauge reaches zero for the last time.
func TestGaugeWakesAll(t *testing.T) {
	for range 2000 {
		var g gauge
		g.add(3)
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { g.add(1); g.add(-1); g.add(-1) })
			all.Go(func() {
				if err := g.wait(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
}

func TestLatch(t *testing.T) {
	for range 500 {
		var l latch
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { <-l.done() })
		}
		all.Go(l.open)
		all.Wait()
		l.open()
		<-l.done()
	}
}

func TestStoppedAgentsIsBounded(t *testing.T) {
	var d stoppedAgents
	d.add("Jules")
	d.add("eliza")
	d.add("JULES")
	if !d.has("jules") || !d.has("Eliza") || d.has("eddy") {
		t.Error("ids are not folded")
	}
	for range maxStoppedAgents - 1 {
		d.add("crowd")
	}
	if d.has("eliza") || !d.has("jules") {
		t.Error("it removed the wrong ids")
	}
	d.add("crowd")
	if d.has("jules") || len(d.ids) != 1 || len(d.ring) != maxStoppedAgents {
		t.Errorf("%d ids, %d slots", len(d.ids), len(d.ring))
	}
	id := func(i int) performatives.AgentID { return performatives.AgentID(fmt.Sprint("a", i)) }
	for i := range 3 * maxStoppedAgents / 2 {
		d.add(id(i))
		if last := i - maxStoppedAgents; !d.has(id(i)) || last >= 0 && (d.has(id(last)) || !d.has(id(last+1))) {
			t.Fatalf("after %d ids it does not have the last %d", i+1, maxStoppedAgents)
		}
	}
}

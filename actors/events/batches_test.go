package events

import (
	"fmt"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
)

// A queue of batches keeps the order of events of several types, is ready at half of its capacity,
// and counts what finds it full, whichever way it was published.
func TestBatches(t *testing.T) {
	var e Stream
	got := ""
	b := e.SubscribeBatches(4,
		On(func(seq uint64, ev *AgentStopped) { got += fmt.Sprint("-", ev.Agent, seq) }),
		On(func(seq uint64, ev *AgentStarted) { got += fmt.Sprint("+", ev.Agent, seq) }))
	also := e.Subscribe(SubscribeOptions{})
	publish := func(ids string) {
		for i, id := range ids {
			id := performatives.AgentID(id)
			Publish(&e, MessageSent{}) // has no column
			switch i % 3 {
			case 0:
				Publish(&e, AgentStopped{Agent: id})
			case 1:
				e.Publish(AgentStopped{Agent: id})
			case 2:
				Publish(&e, AgentStarted{Agent: id})
			}
		}
	}
	handled := func() string {
		got = ""
		b.Handle()
		return got
	}
	ready := func() bool {
		select {
		case <-b.Ready:
			return true
		default:
			return false
		}
	}
	publish("a")
	if ready() {
		t.Error("ready at a quarter")
	}
	publish("bcdef")
	if got := handled(); got != "-a2-b4-c6+d8" || b.Lost() != 2 || !ready() || ready() {
		t.Errorf("handled %s, lost %d", got, b.Lost())
	}
	publish("gh")
	if got := handled(); got != "-g14-h16" || !ready() {
		t.Errorf("handled %s", got)
	}
	publish("i")
	b.Close()
	b.Close()
	publish("j")
	if got := handled(); got != "-i18" || !ready() || handled() != "" {
		t.Errorf("handled %s at the end", got)
	}
	also.Close()
	if e.routes.Load() != nil {
		t.Error("a closed subscription is kept")
	}
	n := uint64(0)
	for r := range also.C { // every event, once, in order
		if n++; r.Seq != n {
			t.Errorf("event %d is number %d", n, r.Seq)
		}
	}
	if n != 20 {
		t.Errorf("another subscription got %d events", n)
	}
}

// An event that finds the queue full is passed to the function for it, whichever way it was
// published; one that is queued is not.
func TestBatchesLost(t *testing.T) {
	var e Stream
	got, lost := "", ""
	b := e.SubscribeBatches(2,
		OnOrLost(func(_ uint64, ev *AgentStopped) { got += string(ev.Agent) }, func(ev AgentStopped) { lost += string(ev.Agent) }),
		On(func(_ uint64, ev *AgentStarted) { got += string(ev.Agent) }))
	defer b.Close()
	for _, id := range []performatives.AgentID{"a", "b", "c"} {
		Publish(&e, AgentStopped{Agent: id})
		e.Publish(AgentStarted{Agent: id + "+"})
	}
	e.Publish(AgentStopped{Agent: "d"})
	if b.Handle(); got != "aa+" || lost != "bcd" || b.Lost() != 5 {
		t.Errorf("handled %s, lost %s of %d", got, lost, b.Lost())
	}
}

func TestBatchesLostAllocs(t *testing.T) {
	var e Stream
	b := e.SubscribeBatches(1, OnOrLost(func(uint64, *AgentStopped) {}, func(AgentStopped) {}))
	defer b.Close()
	e.Publish(AgentStopped{})
	if allocs := testing.AllocsPerRun(100, func() { Publish(&e, AgentStopped{}) }); allocs != 0 || b.Lost() < 100 {
		t.Errorf("a lost event takes %v allocations, and %d were lost", allocs, b.Lost())
	}
}

// What is handled is let go, and an event needs no memory of its own once the queue has grown.
func TestBatchesAllocateNothing(t *testing.T) {
	var e Stream
	c := &column[MessageSent]{fn: func(uint64, *MessageSent) {}}
	b := e.SubscribeBatches(0, c)
	defer b.Close()
	round := func() {
		for range 10 {
			Publish(&e, MessageSent{Message: new(performatives.Message)})
		}
		b.Handle()
	}
	round()
	round()
	memory := 0
	for i := range c.parts {
		for _, all := range [][]MessageSent{c.parts[i].pending, c.parts[i].taken} {
			memory += cap(all)
			for _, ev := range all[:cap(all)] {
				if ev.Message != nil {
					t.Fatal("a message is kept")
				}
			}
		}
	}
	if memory < 20 {
		t.Fatalf("the queue has room for %d events", memory)
	}
	if allocs := testing.AllocsPerRun(100, func() { Publish(&e, AgentStopped{}); Publish(&e, MessageSent{}); b.Handle() }); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

// A queue wakes its receiver at 512 events at the latest, however large it is, and in whichever
// lanes they are.
func TestBatchesReady(t *testing.T) {
	for n := 1; n < 4; n++ {
		e := laned(n)
		b := e.SubscribeBatches(8*batchSize, On(func(uint64, *AgentStopped) {}))
		column := &e.routes.Load().to(KindAgentStopped).batches[0]
		for i := range batchSize {
			if len(b.Ready) != 0 && i < batchSize/n {
				t.Fatalf("%d lanes: ready after %d events", n, i)
			}
			queueInLane(column, i%n, uint64(i), &AgentStopped{}) // nobody else publishes
		}
		if len(b.Ready) != 1 {
			t.Errorf("%d lanes: not ready", n)
		}
		b.Close()
	}
}

func TestBatchesNegativeCapacity(t *testing.T) {
	defer func() {
		if v := recover(); v != "events: the capacity of batches is -1" {
			t.Error(v)
		}
	}()
	new(Stream).SubscribeBatches(-1)
}

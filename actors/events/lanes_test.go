package events

import (
	"fmt"
	goruntime "runtime"
	"slices"
	"sync"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
)

// laned returns a stream with so many lanes.
func laned(n int) *Stream { return &Stream{lanes: newLanes(n)} }

// Events that many goroutines publish are handled once each, in the order of their numbers, which
// is that in which one has caused the other, and no number is missing.
func TestLanesKeepTheOrder(t *testing.T) {
	const lanes, rounds = 3, 2000
	e := laned(lanes)
	last, seqs, next := uint64(0), 0, 0
	note := func(seq uint64) {
		if seq != last+1 {
			t.Errorf("number %d comes after %d", seq, last)
		}
		last = seq
		seqs++
	}
	b := e.SubscribeBatches(1<<20, // one queue whose events cause each other across goroutines, and noise
		On(func(seq uint64, ev *AgentStopped) {
			note(seq)
			if want := performatives.AgentID(fmt.Sprint(next)); ev.Agent != want {
				t.Errorf("%s comes in the place of %s", ev.Agent, want)
			}
			next++
		}), On(func(seq uint64, _ *MessageSent) { note(seq) }))
	defer b.Close()
	var all sync.WaitGroup
	token := make(chan int)
	for range 4 {
		all.Go(func() {
			for i := range token {
				if Publish(e, AgentStopped{Agent: performatives.AgentID(fmt.Sprint(i))}); i+1 < rounds {
					token <- i + 1
				} else {
					close(token)
				}
			}
		})
		all.Go(func() {
			for range rounds {
				Publish(e, MessageSent{})
			}
		})
	}
	token <- 0
	stop := make(chan struct{})
	go func() {
		defer close(stop)
		all.Wait()
	}()
	for open := true; open; {
		select {
		case <-stop:
			open = false
		default:
		}
		b.Handle()
	}
	if seqs != 5*rounds || b.Lost() != 0 {
		t.Errorf("%d events were handled, %d lost", seqs, b.Lost())
	}
}

// The queue of all lanes takes as many events as its capacity says, whichever lanes they are in,
// and each further one is counted, once.
func TestLanesShareTheCapacity(t *testing.T) {
	const capacity, publishers, each = 2*batchSize + 1, 8, 1000
	e := laned(3)
	handled, lost := 0, 0
	b := e.SubscribeBatches(capacity, OnOrLost(func(uint64, *AgentStopped) { handled++ }, func(AgentStopped) { lost++ }))
	defer b.Close()
	for range 2 { // again after the queue was emptied
		var all sync.WaitGroup
		for range publishers {
			all.Go(func() {
				for range each {
					Publish(e, AgentStopped{})
				}
			})
		}
		all.Wait()
		b.Handle()
	}
	if handled != 2*capacity || lost != 2*(publishers*each-capacity) || b.Lost() != uint64(lost) {
		t.Errorf("%d events were handled, %d passed as lost, and %d counted", handled, lost, b.Lost())
	}
}

// The first lane may take what the others leave of the capacity, and then none has room.
func TestOneLaneTakesAll(t *testing.T) {
	e := laned(4)
	handled := 0
	b := e.SubscribeBatches(batchSize, On(func(uint64, *AgentStopped) { handled++ }))
	defer b.Close()
	for range batchSize { // from one goroutine, with the stream locked where its lane is full
		Publish(e, AgentStopped{})
	}
	for i := range b.parts {
		if r := e.routes.Load(); r.to(KindAgentStopped).room(i) {
			t.Errorf("lane %d has room", i)
		}
	}
	e.Publish(AgentStopped{})
	if b.Handle(); handled != batchSize || b.Lost() != 1 {
		t.Errorf("%d events were handled, %d lost", handled, b.Lost())
	}
	for i := range b.parts {
		if r := e.routes.Load(); !r.to(KindAgentStopped).room(i) {
			t.Errorf("lane %d has no room in an empty queue", i)
		}
	}
}

// What is published after Close has returned is not queued, and what was published before is
// handled.
func TestCloseOfLanes(t *testing.T) {
	e := laned(3)
	handled := 0
	b := e.SubscribeBatches(0, On(func(uint64, *AgentStopped) { handled++ }))
	other := e.SubscribeBatches(0, On(func(uint64, *AgentStopped) {}))
	defer other.Close()
	Publish(e, AgentStopped{})
	before := e.routes.Load()
	b.Close()
	if publishInLane(e, before, &AgentStopped{}) { // by a publisher that was about to lock its lane
		t.Error("an event is published for subscriptions of which one is closed")
	}
	Publish(e, AgentStopped{})
	if b.Handle(); handled != 1 {
		t.Errorf("%d events were handled", handled)
	}
}

// The same while many publish.
func TestCloseOfLanesInUse(t *testing.T) {
	for range 10 {
		e := laned(3)
		handled := 0
		b := e.SubscribeBatches(1<<20, On(func(uint64, *AgentStopped) { handled++ }))
		other := e.SubscribeBatches(1<<20, On(func(uint64, *AgentStopped) {}))
		var all sync.WaitGroup
		began := make(chan struct{}, 4)
		for range 4 {
			all.Go(func() {
				Publish(e, AgentStopped{})
				began <- struct{}{}
				for range 5000 {
					Publish(e, AgentStopped{})
				}
			})
		}
		for range 4 {
			<-began
		}
		b.Close()
		b.Handle()
		before := handled
		all.Wait()
		if b.Handle(); before < 4 || handled != before {
			t.Fatalf("%d events were handled before the end, %d after it", before, handled-before)
		}
		other.Close()
	}
}

// A subscription without batches gets the events in the order of their numbers, and batches get the
// same numbers, while both are published to in parallel.
func TestLanesBesideASubscription(t *testing.T) {
	e := laned(3)
	var batched, single []uint64
	b := e.SubscribeBatches(1<<20, On(func(seq uint64, _ *AgentStopped) { batched = append(batched, seq) }), On(func(uint64, *MessageSent) {}))
	defer b.Close()
	s := e.Subscribe(SubscribeOptions{Capacity: 1 << 16, Kinds: []Kind{KindAgentStopped}})
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			for range 500 {
				if i%2 == 0 {
					Publish(e, AgentStopped{})
				} else {
					Publish(e, MessageSent{}) // only batches want it
				}
			}
		})
	}
	all.Wait()
	s.Close()
	for r := range s.C {
		single = append(single, r.Seq)
	}
	if b.Handle(); !slices.Equal(single, batched) || !slices.IsSorted(single) || len(single) != 1500 {
		t.Errorf("the subscription has %d events, the batches %d", len(single), len(batched))
	}
}

// Each processor gets a lane of its own as long as there are enough, and the one that it has put
// back.
func TestLanes(t *testing.T) {
	l := newLanes(3)
	a, b, c := l.take(), l.take(), l.take()
	if a == b || b == c || c == a {
		t.Error("two processors share a lane while one has none")
	}
	if len(newLanes(100).all) != maxLanes {
		t.Error("the number of lanes is not bounded")
	}
	one := newLanes(1)
	if l := one.take(); l != one.take() {
		t.Error("there is more than one lane")
	}
	for range 1000 {
		l.giveBack(c)
		c = l.take()
	}
	if given := l.given; given > 500 { // the race detector has the pool forget some
		t.Errorf("the pool has given out %d lanes", given)
	}
}

// There are as many lanes as processors.
func TestLanesOfAStream(t *testing.T) {
	var e Stream
	b := e.SubscribeBatches(0)
	defer b.Close()
	if n := len(e.lanes.all); n != min(goruntime.GOMAXPROCS(0), maxLanes) {
		t.Errorf("%d lanes", n)
	}
}

// An event that two queues want is queued only where both have room, in the lane or with all
// locked.
func TestLanesOfTwoQueues(t *testing.T) {
	e := laned(2)
	handled := map[string]int{}
	large := e.SubscribeBatches(4*batchSize, On(func(uint64, *AgentStopped) { handled["large"]++ }))
	small := e.SubscribeBatches(batchSize, On(func(uint64, *AgentStopped) { handled["small"]++ }))
	defer large.Close()
	defer small.Close()
	for range 2 * batchSize {
		Publish(e, AgentStopped{})
	}
	large.Handle()
	if small.Handle(); handled["large"] != 2*batchSize || handled["small"] != batchSize || small.Lost() != batchSize || large.Lost() != 0 {
		t.Errorf("%v, lost %d and %d", handled, large.Lost(), small.Lost())
	}
}

func TestTooManyColumns(t *testing.T) {
	defer func() {
		if v := recover(); v != "events: batches have 257 columns, at most 256 are possible" {
			t.Error(v)
		}
	}()
	new(Stream).SubscribeBatches(1, make([]Column, maxColumns+1)...)
}

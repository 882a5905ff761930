package actors

import (
	"fmt"
	"slices"
)

// Batches is a bounded queue of the events of one stream that are received many at a time, in the order of their
// publication. It costs a publisher less than a [Subscription], whose receiver is woken for each event. All its methods
// may be called from any goroutine. Its owner must call Close.
type Batches struct {
	// Ready gets a value when half of the capacity is used and when the subscription is closed. It may get one more for events
	// that have been taken since.
	Ready <-chan struct{}

	s     *Subscription
	ready chan struct{}

	// Guarded by Events.mu.
	pending []Record
	full    int // the capacity
}

// SubscribeBatches returns a queue of the events that are published from now on. The memory of the queue is allocated as it
// is used. It panics if o.Capacity is negative.
func (e *Events) SubscribeBatches(o SubscribeOptions) *Batches {
	switch {
	case o.Capacity < 0:
		panic(fmt.Sprintf("actors: SubscribeOptions.Capacity is %d", o.Capacity))
	case o.Capacity == 0:
		o.Capacity = DefaultSubscriptionCapacity
	}
	ready := make(chan struct{}, 1)
	b := &Batches{Ready: ready, ready: ready, full: o.Capacity}
	b.s = &Subscription{events: e, kinds: slices.Clone(o.Kinds), losses: o.Losses, batches: b}
	e.add(b.s)
	return b
}

// Take returns all queued events and empties the queue, without waiting. The queue uses the memory of buffer from now on,
// whose records it overwrites: the result of an earlier call that is no longer needed, or nil.
func (b *Batches) Take(buffer []Record) []Record {
	clear(buffer) // else the queue would keep what its records refer to
	b.s.events.mu.Lock()
	defer b.s.events.mu.Unlock()
	taken := b.pending
	b.pending = buffer[:0]
	return taken
}

// Lost returns how many events found the queue full.
func (b *Batches) Lost() uint64 { return b.s.Lost() }

// Close ends the subscription. Events that are queued can still be taken. Closing again does nothing.
func (b *Batches) Close() {
	b.s.Close()
	b.wake()
}

func (b *Batches) wake() {
	select {
	case b.ready <- struct{}{}:
	default:
	}
}

// offerLocked queues r and reports whether there was room. Events.mu is held.
func (b *Batches) offerLocked(r Record) bool {
	if len(b.pending) >= b.full {
		return false
	}
	b.pending = append(b.pending, r)
	if len(b.pending) == (b.full+1)/2 {
		b.wake()
	}
	return true
}

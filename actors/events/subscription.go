package events

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
)

// DefaultCapacity is the capacity of a [Subscription] whose options name none.
const DefaultCapacity = 1024

// ErrClosed is returned by [Subscription.Next] once the subscription is closed
// and its queue is empty.
var ErrClosed = errors.New("events: subscription closed")

// SubscribeOptions configures a [Subscription]. The zero value works: it wants every event.
type SubscribeOptions struct {
	// Capacity is how many events the queue holds, in events. Zero means
	// [DefaultCapacity]. An event that finds the queue full is lost: the
	// publisher does not wait, the older events stay, and [Subscription.Lost] counts it.
	// The memory of the queue, 24 bytes per event, is allocated at once.
	Capacity int

	// Kinds are the kinds that are wanted. Nil means all of them. Kinds that the
	// subscription does not want stay as cheap as without it.
	Kinds []Kind

	// Losses is told which messages the lost events are about. Nil means that the
	// losses are only counted.
	Losses *Losses
}

// Subscription is a bounded queue of the events of one stream, in the order of their
// publication. All its methods may be called from any goroutine; each record is received
// once, by one of the receivers. Its owner must call Close.
type Subscription struct {
	// C carries the records. It is closed by Close, after those that are queued.
	C <-chan Record

	events  *Stream
	records chan Record
	kinds   []Kind // nil for all
	losses  *Losses
	batches *Batches // has the queue in the place of records; nil without one
	lost    atomic.Uint64
}

// Subscribe returns a subscription to the events that are published from now on. It panics
// if o.Capacity is negative.
func (e *Stream) Subscribe(o SubscribeOptions) *Subscription {
	switch {
	case o.Capacity < 0:
		panic(fmt.Sprintf("events: SubscribeOptions.Capacity is %d", o.Capacity))
	case o.Capacity == 0:
		o.Capacity = DefaultCapacity
	}
	c := make(chan Record, o.Capacity)
	s := &Subscription{C: c, events: e, records: c, kinds: slices.Clone(o.Kinds), losses: o.Losses}
	e.add(s)
	return s
}

// Next waits for the next record. The error is the cause of ctx's end, or
// [ErrClosed].
func (s *Subscription) Next(ctx context.Context) (Record, error) {
	select {
	case r, ok := <-s.C:
		return received(r, ok)
	case <-ctx.Done():
		return Record{}, context.Cause(ctx)
	}
}

func received(r Record, ok bool) (Record, error) {
	if !ok {
		return Record{}, ErrClosed
	}
	return r, nil
}

// Next waits for the next event of type E in s, and drops those of other types before it.
// The errors are those of [Subscription.Next].
func Next[E Event](ctx context.Context, s *Subscription) (E, error) {
	for {
		r, err := s.Next(ctx)
		if e, ok := r.Event.(E); ok || err != nil {
			return e, err
		}
	}
}

// Lost returns how many events found the queue full.
func (s *Subscription) Lost() uint64 { return s.lost.Load() }

// Close ends the subscription. Events that are queued can still be received. Closing again
// does nothing.
func (s *Subscription) Close() { s.events.remove(s) }

// offerLocked queues r, or counts it. Events.mu is held.
func (s *Subscription) offerLocked(r Record) {
	select {
	case s.records <- r:
	default:
		s.lost.Add(1)
		if s.losses != nil {
			s.losses.note(r)
		}
	}
}

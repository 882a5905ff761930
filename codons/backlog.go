package codons

import (
	"sync"
	"time"
)

// Event is one of those that a [Stream] brings.
type Event[T any] struct {
	Position // where it stands in what the publisher publishes; zero of a peer that does not say
	Value    T

	// Lost is how many events for this consumer were lost since the one before,
	// whether at the publisher, on the way, or here because they were not read.
	Lost uint64
	// Uncounted says that besides there may have been others that nobody can count:
	// the publisher has no memory of the time between.
	Uncounted bool
	// Break is how the subscription was interrupted since the event before, nil when
	// it was not.
	Break *Break
}

// Break is an interruption of a subscription.
type Break struct {
	At       time.Time // when it was noticed
	Cause    error     // an [*EndError]: why the subscription ended
	Attempts int       // how often it was then asked for, until it was had again
}

// item is an event that waits for its consumer, and what is to be done once it is
// gone; nil is nothing.
type item[T any] struct {
	Event[T]
	gone func()
}

// backlog is what waits for a consumer: so many events at most, of which the oldest are
// lost, and counted, when there is no room.
type backlog[T any] struct {
	mu   sync.Mutex
	ring ring[item[T]]
	news chan struct{} // holds a token when there is something to take
}

func newBacklog[T any](room int) *backlog[T] {
	return &backlog[T]{ring: ring[item[T]]{room: room}, news: make(chan struct{}, 1)}
}

// put adds an event. What is to be done about one that makes room is the caller's.
func (b *backlog[T]) put(e item[T]) (dropped func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ring.full() {
		old, heir := b.ring.pop(), &e
		if b.ring.n > 0 {
			heir = b.ring.oldest()
		}
		heir.inherit(old.Event)
		dropped = old.gone
	}
	b.ring.push(e)
	b.tell()
	return dropped
}

// inherit has an event tell of the one before it, which is lost.
func (e *Event[T]) inherit(old Event[T]) {
	e.Lost += old.Lost + 1
	e.Uncounted = e.Uncounted || old.Uncounted
	if e.Break == nil {
		e.Break = old.Break
	}
}

// take returns the oldest event, and false when there is none.
func (b *backlog[T]) take() (Event[T], bool) {
	b.mu.Lock()
	if b.ring.n == 0 {
		b.mu.Unlock()
		return Event[T]{}, false
	}
	e := b.ring.pop()
	if b.ring.n > 0 {
		b.tell()
	}
	b.mu.Unlock()
	if e.gone != nil {
		e.gone()
	}
	return e.Event, true
}

func (b *backlog[T]) tell() {
	select {
	case b.news <- struct{}{}:
	default:
	}
}

package subscribe

import (
	"cmp"
	"sync"
	"time"
)

// Event is one event of a [Stream].
type Event[T any] struct {
	Position // its place in the topic; zero if the peer sends none
	Value    T

	// Lost is the number of events for this subscriber that were lost since the previous
	// one: at the publisher, on the network, or in the Stream because they were not read.
	Lost uint64
	// Uncounted says that further events may have been lost that cannot be counted,
	// because the publisher does not remember them.
	Uncounted bool
	// Break is the first interruption of the subscription since the previous event; nil if
	// there was none.
	Break *Break
}

// Break is an interruption of a subscription.
type Break struct {
	At       time.Time // when the stream noticed it
	Cause    error     // an [*codons.EndError]: why the conversation ended
	Attempts int       // number of attempts to subscribe again
}

// item is an event that waits for the reader. gone, if not nil, is called when the event was read
// or dropped: in the backlog it is that of a later event, which may be confirmed then.
type item[T any] struct {
	Event[T]
	gone func()
}

// backlog holds the events of a Stream that wait for the reader. It is bounded: when it is full,
// it drops and counts its oldest event.
//
// Invariant: at most spare events up to a confirmed one are unread, so that there is room for
// another window.
type backlog[T any] struct {
	mu    sync.Mutex
	ring  ring[item[T]]
	spare int           // the room beyond a window
	news  chan struct{} // holds a token while the backlog is not empty
}

// newBacklog returns a backlog. room is at least window, the largest number of unconfirmed events.
func newBacklog[T any](room, window int) *backlog[T] {
	return &backlog[T]{ring: ring[item[T]]{room: room}, spare: room - window, news: make(chan struct{}, 1)}
}

// put adds an event. It returns a gone function that the caller must call: that of the event
// itself if there is room for another window, or that of the event that was dropped for it. Nil
// means none.
func (b *backlog[T]) put(e item[T]) (gone func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ring.full() {
		old, heir := b.ring.pop(), &e
		if b.ring.n > 0 {
			heir = b.ring.oldest()
		}
		heir.inherit(old.Event)
		gone = old.gone
	}
	b.ring.push(item[T]{Event: e.Event})
	b.tell()
	switch last := b.ring.n - 1 - b.spare; { // the event after which no more than the spare room is taken up to e
	case e.gone == nil:
	case last >= 0:
		b.ring.at(last).gone = e.gone
	default: // the ring was not full
		gone = e.gone
	}
	return gone
}

// inherit adds the losses of a dropped event, and the event itself, to the next one.
func (e *Event[T]) inherit(old Event[T]) {
	e.Lost += old.Lost + 1
	e.Uncounted = e.Uncounted || old.Uncounted
	e.Break = cmp.Or(e.Break, old.Break)
}

// take removes and returns the oldest event, or false if there is none.
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

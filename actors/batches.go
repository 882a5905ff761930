package actors

import "fmt"

// Batches is a bounded queue of the events of one stream that are handled many at a time, in the order of their
// publication. It keeps the events of each type as values, side by side, so that [Publish] needs no memory for an event,
// and its receiver is not woken for each. All its methods may be called from any goroutine. Its owner must call Close.
type Batches struct {
	// Ready gets a value when 512 events are queued, or half of the capacity if that is less, and when the subscription is closed.
	// It may get one more for events that have been handled since.
	Ready <-chan struct{}

	s       *Subscription
	ready   chan struct{}
	full    int // the capacity
	columns []Column

	// Guarded by Events.mu.
	pending []slot

	handled []slot // those that Handle works through; its memory serves the next pending
}

// slot is an event in a queue of batches: the next one of a column.
type slot struct {
	seq    uint64
	column int
}

// batchSize is how many events wake the receiver.
const batchSize = 512

// Column is the place of the events of one type in a [Batches]: see [On].
type Column interface {
	kind() Kind
	offerLocked(ev Event) bool // queues ev if it is of the type. Events.mu is held
	loseLocked(ev Event)
	swapLocked()       // moves the queued events to those that handle gets. Events.mu is held
	handle(seq uint64) // the next event
	clear()
}

type column[E Event] struct {
	fn             func(seq uint64, ev *E)
	lost           func(ev E) // nil unless [OnOrLost] gave one
	pending, taken []E
	next           int // of taken
}

// On returns a column for the events of type E, which is a struct type. fn is called for each with its number ([Record]); the event is
// overwritten after fn has returned. A column belongs to one [Batches].
func On[E Event](fn func(seq uint64, ev *E)) Column { return &column[E]{fn: fn} }

func (c *column[E]) kind() Kind {
	var event E
	return event.Kind()
}

func (c *column[E]) offerLocked(ev Event) bool {
	e, ok := ev.(E)
	if ok {
		c.pending = append(c.pending, e)
	}
	return ok
}

func (c *column[E]) swapLocked() { c.pending, c.taken, c.next = c.taken[:0], c.pending, 0 }

func (c *column[E]) handle(seq uint64) {
	c.next++
	c.fn(seq, &c.taken[c.next-1])
}

// clear drops the references of the handled events.
func (c *column[E]) clear() { clear(c.taken) }

// SubscribeBatches returns a queue of the events that are published from now on and that have a column. The memory of the queue is
// allocated as it is used. Zero as capacity means [DefaultSubscriptionCapacity]; it panics if capacity is negative.
func (e *Events) SubscribeBatches(capacity int, columns ...Column) *Batches {
	switch {
	case capacity < 0:
		panic(fmt.Sprintf("actors: the capacity of batches is %d", capacity))
	case capacity == 0:
		capacity = DefaultSubscriptionCapacity
	}
	ready := make(chan struct{}, 1)
	b := &Batches{Ready: ready, ready: ready, full: capacity, columns: columns}
	b.s = &Subscription{events: e, kinds: make([]Kind, len(columns)), batches: b}
	for i, c := range columns {
		b.s.kinds[i] = c.kind()
	}
	e.add(b.s)
	return b
}

// Handle calls the functions of the columns for all queued events, in the order of their publication, and empties the queue. Events
// that are published meanwhile wait for the next call. The caller sees to it that one call at a time is under way, and that the
// functions do not call Handle.
func (b *Batches) Handle() {
	b.swap()
	for _, s := range b.handled {
		b.columns[s.column].handle(s.seq)
	}
	for _, c := range b.columns {
		c.clear()
	}
}

func (b *Batches) swap() {
	b.s.events.mu.Lock()
	defer b.s.events.mu.Unlock()
	b.pending, b.handled = b.handled[:0], b.pending
	for _, c := range b.columns {
		c.swapLocked()
	}
}

// Lost returns how many events found the queue full.
func (b *Batches) Lost() uint64 { return b.s.Lost() }

// Close ends the subscription. Events that are queued can still be handled. Closing again does nothing.
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

// offerLocked queues an event or counts it. Events.mu is held.
func (b *Batches) offerLocked(t recipient, r Record) {
	if len(b.pending) >= b.full {
		b.s.lost.Add(1)
		b.columns[t.column].loseLocked(r.Event)
	} else if b.columns[t.column].offerLocked(r.Event) {
		b.queuedLocked(r.Seq, t.column)
	}
}

// offerValueLocked is offerLocked for an event whose type is known.
func offerValueLocked[E Event](t recipient, seq uint64, ev *E) {
	b := t.s.batches
	if len(b.pending) >= b.full {
		b.s.lost.Add(1)
		if c, ok := b.columns[t.column].(*column[E]); ok && c.lost != nil {
			c.lost(*ev)
		}
	} else if c, ok := b.columns[t.column].(*column[E]); ok {
		c.pending = append(c.pending, *ev)
		b.queuedLocked(seq, t.column)
	}
}

func (b *Batches) queuedLocked(seq uint64, column int) {
	b.pending = append(b.pending, slot{seq, column})
	if len(b.pending) == min(batchSize, (b.full+1)/2) {
		b.wake()
	}
}

package events

import (
	"fmt"
	"math"
)

// Batches is a bounded queue of the events of one stream that are handled many at a time, in the
// order of their publication. It keeps the events of each type as values, side by side, so that
// [Publish] needs no memory for an event, and its receiver is not woken for each. All its methods
// may be called from any goroutine. Its owner must call Close.
type Batches struct {
	// Ready gets a value before more than 512 events wait, or half of the capacity if that is less,
	// and when the subscription is closed. Fewer events may wait without a value: a receiver that
	// wants them calls Handle. If all events come from one processor, Ready has a value for each
	// 512 divided by the number of processors (at most eight). It may get one more for events that
	// have been handled since.
	Ready <-chan struct{}

	s       *Subscription
	ready   chan struct{}
	columns []Column
	full    int    // the capacity
	lanes   *lanes // of the stream
	parts   []batchPart
	share   int // how many events a part may have while the others have as many; zero in a small queue, which is not divided
	wakes   int // how many events of one part wake the receiver

	// crowded says that a part has more than its share, so that all are to be counted for each
	// event. While it is false, no part has. It is written with all lanes locked, and read with
	// one.
	crowded bool
}

// batchPart is the part of a queue that is in one lane.
type batchPart struct {
	pending []slot // under the lock of the lane

	_ [cachePad]byte

	taken   []slot // those that Handle has taken; their memory serves the next pending
	handled int    // how many of them are handled
	index   int    // that of the lane

	_ [cachePad]byte
}

// firstLane is the lane of the events that are published with all lanes locked. Its part of a queue
// may grow beyond its share.
const firstLane = 0

// slot is an event in a lane: the next one of a column. It has the number of the event, and in the
// lowest byte the index of the column: slots have the order of the events.
type slot uint64

const columnBits = 8

func slotOf(seq uint64, column int) slot { return slot(seq<<columnBits | uint64(column)) } //nolint:gosec // an index of maxColumns
func (s slot) seq() uint64               { return uint64(s >> columnBits) }
func (s slot) column() int               { return int(s & (maxColumns - 1)) } //nolint:gosec // so few bits

const maxColumns = 1 << columnBits

// noSlot comes after each slot.
const noSlot slot = math.MaxUint64

// batchColumn is the column of a queue for the events of one kind.
type batchColumn struct {
	b      *Batches
	column Column
	index  int
}

// batchSize is how many events wake the receiver.
const batchSize = 512

// Column is the place of the events of one type in a [Batches]: see [On].
type Column interface {
	kind() Kind
	divide(lanes int)
	queueInLane(lane int, ev Event) bool // false if ev is of another type
	loseLocked(ev Event)
	swapLocked(lane int)         // moves the queued events to those that handle gets
	handle(lane int, seq uint64) // the next event of the lane
	clear()
}

type column[E Event] struct {
	fn    func(seq uint64, ev *E)
	lost  func(ev E) // nil unless [OnOrLost] gave one
	parts []columnPart[E]
}

// columnPart is the part of a column that is in one lane.
type columnPart[E Event] struct {
	pending []E

	_ [cachePad]byte

	taken []E
	next  int // of taken

	_ [cachePad]byte
}

// On returns a column for the events of type E, which is a struct type. fn is called for each with
// its number ([Record]); the event is overwritten after fn has returned. A column belongs to one
// [Batches].
func On[E Event](fn func(seq uint64, ev *E)) Column { return &column[E]{fn: fn} }

func (c *column[E]) kind() Kind {
	var event E
	return event.Kind()
}

func (c *column[E]) divide(lanes int) { c.parts = make([]columnPart[E], lanes) }

func (c *column[E]) queueInLane(lane int, ev Event) bool {
	e, ok := ev.(E)
	if ok {
		c.parts[lane].pending = append(c.parts[lane].pending, e)
	}
	return ok
}

func (c *column[E]) swapLocked(lane int) {
	p := &c.parts[lane]
	p.pending, p.taken, p.next = p.taken[:0], p.pending, 0
}

func (c *column[E]) handle(lane int, seq uint64) {
	p := &c.parts[lane]
	p.next++
	c.fn(seq, &p.taken[p.next-1])
}

// clear drops the references of the handled events.
func (c *column[E]) clear() {
	for i := range c.parts {
		clear(c.parts[i].taken)
	}
}

// SubscribeBatches returns a queue of the events that are published from now on and that have a
// column. The memory of the queue is allocated as it is used. Zero as capacity means
// [DefaultCapacity]; it panics if capacity is negative, or if there are more than 256 columns.
func (e *Stream) SubscribeBatches(capacity int, columns ...Column) *Batches {
	switch {
	case capacity < 0:
		panic(fmt.Sprintf("events: the capacity of batches is %d", capacity))
	case len(columns) > maxColumns:
		panic(fmt.Sprintf("events: batches have %d columns, at most %d are possible", len(columns), maxColumns))
	case capacity == 0:
		capacity = DefaultCapacity
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

// divide divides the queue among the lanes of the stream. A small one is not divided: all its
// events are in the first lane.
func (b *Batches) divide(l *lanes) {
	n := len(l.all)
	b.lanes, b.parts, b.wakes = l, make([]batchPart, n), min(batchSize, (b.full+1)/2)
	if b.full >= batchSize {
		b.share, b.wakes = b.full/n, b.wakes/n
	}
	for i := range b.parts {
		b.parts[i].index = i
	}
	for _, c := range b.columns {
		c.divide(n)
	}
}

// Handle calls the functions of the columns for all queued events, in the order of their
// publication, and empties the queue. Events that are published meanwhile wait for the next call.
// The caller sees to it that one call at a time is under way, and that the functions do not call
// Handle.
func (b *Batches) Handle() {
	b.swap()
	for p, until := b.next(); p != nil; p, until = b.next() {
		for p.handled < len(p.taken) && p.taken[p.handled] < until {
			s := p.taken[p.handled]
			p.handled++
			b.columns[s.column()].handle(p.index, s.seq())
		}
	}
	for _, c := range b.columns {
		c.clear()
	}
}

// next returns the part with the earliest event that is not handled, nil for none, and the earliest
// slot of the other parts.
func (b *Batches) next() (p *batchPart, until slot) {
	first := noSlot
	until = noSlot
	for i := range b.parts {
		other := &b.parts[i]
		if other.handled == len(other.taken) {
			continue
		}
		if s := other.taken[other.handled]; s < first {
			p, first, until = other, s, first
		} else {
			until = min(until, s)
		}
	}
	return p, until
}

// swap takes the queued events.
func (b *Batches) swap() {
	b.lanes.lock()
	defer b.lanes.unlock()
	for i := range b.parts {
		p := &b.parts[i]
		p.pending, p.taken, p.handled = p.taken[:0], p.pending, 0
		for _, c := range b.columns {
			c.swapLocked(i)
		}
	}
	b.crowded = false
}

// Lost returns how many events found the queue full.
func (b *Batches) Lost() uint64 { return b.s.Lost() }

// Close ends the subscription. Events that are queued can still be handled. Closing again does
// nothing.
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

// roomLocked reports whether one more event fits into the queue, and counts it if not. All lanes
// are locked.
func (b *Batches) roomLocked() bool {
	n := 0
	for i := range b.parts {
		n += len(b.parts[i].pending)
	}
	if n >= b.full {
		b.s.lost.Add(1)
	}
	return n < b.full
}

// offerLocked queues an event or counts it. All lanes are locked.
func (c *batchColumn) offerLocked(seq uint64, ev Event) {
	if !c.b.roomLocked() {
		c.column.loseLocked(ev)
	} else if c.column.queueInLane(firstLane, ev) {
		c.b.queued(firstLane, seq, c.index)
	}
}

// queued notes that an event was queued in a column and a lane, which is locked.
func (b *Batches) queued(lane int, seq uint64, column int) {
	p := &b.parts[lane]
	p.pending = append(p.pending, slotOf(seq, column))
	n := len(p.pending)
	if n > b.share {
		b.crowded = true // all lanes are locked: publishInLane leaves a part within its share
	}
	if n == b.wakes {
		b.wake()
	}
}

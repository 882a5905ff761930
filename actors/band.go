package actors

import "sync"

// segmentSize is how many messages one segment holds; with its header a segment
// fills 512 bytes.
const segmentSize = 31

// segment is a piece of a band's queue. Segments are what makes a queue grow
// without copying and give its memory back after a burst.
type segment struct {
	next  *segment
	n     int32 // how many items have been written, guarded by the band's mu
	items [segmentSize]any
}

// segments keeps what bursts leave behind for other mailboxes, until the
// garbage collector takes it.
var segments = sync.Pool{New: func() any { return new(segment) }}

// band is the queue of one priority: producers append to a chain of segments,
// and the one consumer takes the chain whole and serves it without a lock. Each
// side keeps one segment while the band is empty, so that steady traffic
// allocates nothing.
//
// Its 128 bytes put the fields of the two sides on cache lines of their own.
type band struct {
	// The producers' side.
	mu         sync.Mutex
	head, tail *segment // tail is nil until the first message
	queued     int32    // messages in head..tail
	claimed    int32    // messages that the consumer took and whose places are not free yet
	closed     bool
	_          [64 - 33]byte

	// The consumer's side.
	out   *segment // what it took
	spare *segment // empty, to be the producers' head at the next claim
	next  int32    // index in out
	left  int32    // messages not served yet
	owed  int32    // places to give back
	_     [64 - 28]byte
}

// closedBand stands in for a band that had no message before its mailbox
// closed. Nothing is ever written to it but its lock.
var closedBand = &band{closed: true}

// push appends message, and returns why it could not. A message that is exempt
// is queued even when the band is full.
func (b *band) push(message any, capacity int32, exempt bool) Reason {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return ReasonStopped
	}
	if b.queued+b.claimed >= capacity && !exempt {
		b.mu.Unlock()
		return ReasonFull
	}
	s := b.tail
	if s == nil || s.n == segmentSize {
		s = b.growLocked()
	}
	s.items[s.n] = message
	s.n++
	b.queued++
	b.mu.Unlock()
	return 0
}

// growLocked appends an empty segment.
func (b *band) growLocked() *segment {
	s := segments.Get().(*segment)
	if b.tail == nil {
		b.head = s
	} else {
		b.tail.next = s
	}
	b.tail = s
	return s
}

// claim takes the whole queue for the consumer, whose last claim must be served,
// and reports whether there was anything.
func (b *band) claim() bool {
	b.mu.Lock()
	n := b.queued
	if n == 0 {
		b.claimed = 0
		b.mu.Unlock()
		return false
	}
	out := b.head
	b.head, b.tail = b.spare, b.spare
	b.queued = 0
	b.claimed = n - 1 // the first is served at once
	b.mu.Unlock()
	b.out, b.spare = out, nil
	b.next, b.left, b.owed = 0, n, -1
	return true
}

// pop takes the next message of the claim, which must not be used up. Places
// are given back step at a time, because each time costs a lock.
func (b *band) pop(step int32) any {
	s := b.out
	message := s.items[b.next]
	s.items[b.next] = nil
	b.next++
	b.left--
	b.owed++
	if b.owed > 0 && (b.owed >= step || b.left == 0) {
		b.giveBack()
	}
	if b.next == segmentSize || b.left == 0 {
		b.leave(s)
	}
	return message
}

// giveBack frees the places of the messages served since it was last called.
func (b *band) giveBack() {
	b.mu.Lock()
	b.claimed -= b.owed
	b.mu.Unlock()
	b.owed = 0
}

// leave goes on to the segment after s, which has been served.
func (b *band) leave(s *segment) {
	b.out, b.next = s.next, 0
	s.next, s.n = nil, 0
	if b.spare == nil {
		b.spare = s
		return
	}
	segments.Put(s)
}

// release gives back the segments of a band that is closed, unless a message was
// queued before that and has yet to be announced.
func (b *band) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.queued > 0 {
		return
	}
	for _, s := range [...]*segment{b.head, b.spare} {
		if s != nil {
			segments.Put(s)
		}
	}
	b.head, b.tail, b.spare = nil, nil, nil
}

// close makes every later push fail. What is queued stays for the consumer.
func (b *band) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
}

// len returns the number of messages that hold a place.
func (b *band) len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return int(b.queued + b.claimed)
}

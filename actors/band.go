package actors

import (
	"math/bits"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// segmentSize is the number of messages in one segment. A segment with its header fills
// 512 bytes.
const segmentSize = 31

// segment is a part of a band's queue. A chain of segments grows without copying, and
// returns its memory after a burst.
type segment struct {
	next  *segment
	n     int32 // number of items written; guarded by the band's mu
	items [segmentSize]any
}

// segments holds the empty segments of all mailboxes for reuse, until the garbage
// collector frees them.
var segments = sync.Pool{New: func() any { return new(segment) }}

// band is the queue of one priority. Producers append to a chain of segments. The single
// consumer takes the whole chain and serves it without a lock. Each side keeps one
// segment while the band is empty, so that steady traffic allocates nothing.
//
// Padding puts the fields of the two sides on separate cache lines. The size is 128
// bytes.
type band struct {
	// Fields of the producers.
	mu         sync.Mutex
	head, tail *segment // tail is nil until the first message
	queued     int32    // messages in head..tail
	claimed    int32    // messages taken by the consumer whose slots are still in use
	closed     bool
	waits      time.Time // when the oldest of claimed arrived; zero for values that are no messages; without meaning while claimed is 0

	// Fields of the consumer.
	out        *segment // the chain taken by the last claim
	spare      *segment // empty; becomes the producers' head at the next claim
	next       int32    // index in out
	remaining  int32    // messages of the claim that are not served yet
	unreleased int32    // slots of served messages that are not released yet
	crowded    bool     // the band was a crowd when slots were released last
	released   int64    // when slots of a crowd were released last, in Unix nanoseconds; zero if the band was none then
	each       int64    // time between two messages of a crowd, in nanoseconds; zero if it is not known; written with mu held
	_          [64 - 48]byte
}

// closedBand replaces a band that had received no message when its mailbox closed. Only
// its lock is ever written.
var closedBand = &band{closed: true}

// A bound says when a band is full for a message.
type bound uint8

const (
	unbounded bound = iota // never
	bounded                // at its capacity
	timely                 // at its capacity, and for a request that would wait for too long
)

// push appends message, or returns the reason why it cannot.
func (b *band) push(message any, capacity int32, until bound) Reason {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return ReasonStopped
	}
	n := b.queued + b.claimed
	if n >= capacity && until != unbounded || n >= crowd && until == timely && b.hopelessLocked(message) {
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

// The bounds of a wait in a mailbox.
const (
	crowd       = 256             // queued messages, below which a band takes any
	longestWait = 5 * time.Second // of a request that the band takes
)

// hopelessLocked reports whether message is a request of NORMAL or LOW priority that would wait for
// too long: for more than a quarter of its remaining time. The rest is for the queues behind this
// one, and for the work.
func (b *band) hopelessLocked(message any) bool {
	m := requestIn(message)
	if m == nil || m.Priority() > performatives.Normal {
		return false
	}
	most := longestWait
	if by := m.ReplyBy(); !by.IsZero() {
		most = min(most, time.Until(by)/4)
	}
	return b.waitLocked() > most
}

// waitLocked returns how long a new message would wait: by the number of messages before it and the
// rate of the band, or as long as the oldest one has waited, if that is more. It is zero for a band
// that is no crowd.
func (b *band) waitLocked() time.Duration {
	n := b.queued + b.claimed
	if n < crowd {
		return 0
	}
	wait := time.Duration(n) * time.Duration(b.each)
	if oldest := b.oldestLocked(); !oldest.IsZero() {
		wait = max(wait, time.Since(oldest))
	}
	return wait
}

// delay returns how long a new message would wait. Safe for concurrent use.
func (b *band) delay() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.waitLocked()
}

// requestIn returns the request that a value of a mailbox is, or begins a conversation with; nil
// for any other value.
func requestIn(value any) *performatives.Message {
	switch v := value.(type) {
	case *performatives.Message:
		if v.Performative().ExpectsReply() && v.InReplyTo() == "" {
			return v
		}
	case *begin:
		if o, ok := v.conversation.(interface{ Opening() *performatives.Message }); ok {
			return o.Opening()
		}
	}
	return nil
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

// claim takes the whole queue for the consumer, and reports whether there was any
// message. The previous claim must have been served completely.
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
	b.claimed = n - 1 // the first message is served at once and needs no slot
	b.out, b.spare = out, nil
	b.next, b.remaining, b.unreleased = 0, n, -1
	if n > 1 {
		b.waits = arrivalAt(out, 1)
	}
	b.mu.Unlock()
	return true
}

// pop returns the next message of the claim, which must not be empty. Slots are released
// in groups of step, because each release takes the lock.
func (b *band) pop(step int32) any {
	s := b.out
	message := s.items[b.next]
	s.items[b.next] = nil
	b.next++
	b.remaining--
	b.unreleased++
	if b.unreleased > 0 && (b.unreleased >= step || b.remaining == 0) {
		b.releaseSlots()
	}
	if b.next == segmentSize || b.remaining == 0 {
		b.out, b.next = s.next, 0
		s.next, s.n = nil, 0
		if b.spare == nil {
			b.spare = s
		} else {
			segments.Put(s)
		}
	}
	return message
}

// releaseSlots releases the slots of the messages served since the last call.
func (b *band) releaseSlots() {
	var waits time.Time // what the lock need not be held for is done before it: producers wait for it
	if b.remaining > 0 {
		waits = arrivalAt(b.out, b.next)
	}
	each := b.measure()
	b.mu.Lock()
	b.claimed -= b.unreleased
	b.waits, b.each = waits, each
	b.crowded = b.queued+b.claimed >= crowd
	b.mu.Unlock()
	b.unreleased = 0
}

// measure returns the time between two messages of a crowd, and zero while it is not known.
func (b *band) measure() int64 {
	if !b.crowded {
		b.released = 0
		return 0
	}
	now, each := time.Now().UnixNano(), int64(0)
	if b.released != 0 {
		each = (now - b.released) / int64(b.unreleased)
		if b.each != 0 {
			each = (each + 3*b.each) / 4
		}
	}
	b.released = now
	return each
}

// release returns the segments of a closed band to the pool. It does nothing while
// messages are queued: a producer may have appended one and not yet set the band's bit.
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

// close makes every later push fail. It reports whether there are queued messages, which stay for
// the consumer.
func (b *band) close() (queued bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return b.queued > 0
}

// len returns the number of messages that occupy a slot.
func (b *band) len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return int(b.queued + b.claimed)
}

// oldest returns when the first message that waits arrived, the zero time without one. It may be
// that of a message which was served since the last release of slots.
func (b *band) oldest() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.oldestLocked()
}

func (b *band) oldestLocked() time.Time {
	switch {
	case b.claimed > 0 && !b.waits.IsZero(): // claimed before those that are queued
		return b.waits
	case b.queued > 0:
		return arrivalAt(b.head, 0)
	}
	return time.Time{}
}

// arrivalAt returns when the first message at index i of a chain or behind it arrived. A command
// that begins a conversation arrived with its request. It passes over other values, up to the end
// of the segment, and returns the zero time if there are only such values.
func arrivalAt(s *segment, i int32) time.Time {
	if i == segmentSize {
		s, i = s.next, 0
	}
	for _, value := range s.items[i:s.n] {
		switch v := value.(type) {
		case *performatives.Message:
			return v.Arrived()
		case *begin:
			if m := requestIn(v); m != nil {
				return m.Arrived()
			}
		}
	}
	return time.Time{}
}

// fairnessLimit is the number of messages from other bands after which a waiting band is
// served. When three bands reach it at the same time, the last of them has waited for two
// more messages, 62. So each waiting band gets at least one of any 63 messages.
const fairnessLimit = 60

// bandScheduler selects the band to serve next: the highest waiting band, unless a lower
// band has waited for fairnessLimit messages. Each band has its own limit: a shared one
// would always go to the lowest band, and starve the bands between.
type bandScheduler struct {
	served  uint16                      // messages served so far, modulo 2^16
	last    [performatives.Bands]uint16 // value of served when the band was last served or began to wait
	waiting uint8                       // the bands that waited at the last call of next
	claimed uint8                       // the bands whose claim is not empty
}

// next returns the band to serve, and counts it as served. At least one band must wait.
func (s *bandScheduler) next(waiting uint8) int {
	for fresh := waiting &^ s.waiting; fresh != 0; fresh &= fresh - 1 { // bands that begin to wait
		s.last[bits.TrailingZeros8(fresh)] = s.served
	}
	s.waiting = waiting
	top := bits.Len8(waiting) - 1
	if lower := waiting &^ (1 << top); lower != 0 {
		top = s.overdue(lower, top)
	}
	s.served++
	s.last[top] = s.served
	return top
}

// overdue returns the band of lower that has waited longest, if it has waited for
// fairnessLimit messages, and otherwise top.
func (s *bandScheduler) overdue(lower uint8, top int) int {
	longest := uint16(fairnessLimit - 1)
	for lower != 0 {
		b := bits.TrailingZeros8(lower)
		lower &^= 1 << b
		if wait := s.served - s.last[b]; wait > longest {
			longest, top = wait, b
		}
	}
	return top
}

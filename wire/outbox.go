package wire

import (
	"sync"

	"github.com/ribosome-agents/ribosome/internal/admission"
	"github.com/ribosome-agents/ribosome/performatives"
)

// outbox is the bounded queue of a session's outgoing frames and messages. Frames that the
// session itself creates go first, then messages, higher bands before lower ones. When the
// outbox is full, a message is refused, and the reader blocks until there is space for its
// frame.
type outbox struct {
	mu       sync.Mutex
	frames   []Frame // pings, pongs and answers
	bytes    int     // size of frames
	bands    [performatives.Bands]ring
	messages int
	backlog  int     // estimated size of the messages
	last     []Frame // written after everything else
	sealed   bool    // refuses further frames and messages
	paused   bool    // messages are not written yet, because the dialect is unknown

	wait admission.Meter // of the messages

	capacity, maxBytes, maxBacklog int

	wake chan struct{} // has a value after an addition
	room chan struct{} // has a value after a removal
}

func newOutbox(l Limits) *outbox {
	return &outbox{
		capacity: l.Outbox, maxBytes: l.OutboxBytes, maxBacklog: l.Backlog, paused: true,
		wake: make(chan struct{}, 1), room: make(chan struct{}, 1),
	}
}

// putResult is the result of queueing a message.
type putResult uint8

const (
	putQueued putResult = iota
	putFull
	putSealed
)

// put queues a message. A message larger than maxBacklog is accepted when no other message is
// queued.
func (o *outbox) put(m *performatives.Message) putResult {
	q := queued{m, m.Size()}
	o.mu.Lock()
	switch {
	case o.sealed:
		o.mu.Unlock()
		return putSealed
	case o.messages >= o.capacity, o.messages > 0 && o.backlog+q.size > o.maxBacklog:
		o.mu.Unlock()
		return putFull
	}
	o.bands[m.Priority().Band()].push(q)
	o.messages++
	o.wait.Pushed(o.messages)
	o.backlog += q.size
	o.mu.Unlock()
	signal(o.wake)
	return putQueued
}

// putFrames queues frames that the session created. It returns false when they do not fit.
// Frames larger than maxBytes are accepted when no other frame is queued.
func (o *outbox) putFrames(frames ...Frame) bool {
	n := 0
	for _, f := range frames {
		n += len(f.Data) + frameCost
	}
	o.mu.Lock()
	switch {
	case o.sealed: // the frames are discarded, because the session is ending
		o.mu.Unlock()
		return true
	case o.bytes > 0 && o.bytes+n > o.maxBytes:
		o.mu.Unlock()
		return false
	}
	o.frames = append(o.frames, frames...)
	o.bytes += n
	o.mu.Unlock()
	signal(o.wake)
	return true
}

// frameCost is the size counted for a frame in addition to its data, so that the number of
// empty frames is bounded too.
const frameCost = 64

// resume allows messages to be written, since the dialect is known. A sealed outbox stays
// paused, because messages would follow last.
func (o *outbox) resume() {
	o.mu.Lock()
	o.paused = o.paused && o.sealed
	o.mu.Unlock()
	signal(o.wake)
}

// seal makes the outbox refuse everything that is put later. last is written after everything
// that is queued.
func (o *outbox) seal(last []Frame) {
	o.mu.Lock()
	if !o.sealed {
		o.sealed, o.last = true, last
	}
	o.mu.Unlock()
	signal(o.wake)
	signal(o.room)
}

// batch is the content of the next write.
type batch struct {
	frames   []Frame
	messages []*performatives.Message
	last     []Frame
	final    bool // nothing follows this batch
}

// reset empties b and keeps its capacity.
func (b *batch) reset() {
	clear(b.frames)
	clear(b.messages)
	*b = batch{frames: b.frames[:0], messages: b.messages[:0]}
}

// take moves the queued frames and up to maxMessages queued messages into b.
func (o *outbox) take(b *batch, maxMessages int) {
	b.reset()
	o.mu.Lock()
	b.frames = append(b.frames, o.frames...)
	clear(o.frames)
	o.frames, o.bytes = o.frames[:0], 0
	if cap(o.frames) > maxIdleFrames {
		o.frames = nil
	}
	for i := len(o.bands) - 1; i >= 0 && !o.paused; i-- {
		for len(b.messages) < maxMessages-o.reserved(i, maxMessages) && o.bands[i].n > 0 {
			b.messages = append(b.messages, o.pop(i))
		}
	}
	o.messages -= len(b.messages)
	o.wait.Popped(o.messages, len(b.messages))
	b.final = o.sealed && (o.messages == 0 || o.paused)
	if b.final {
		b.last, o.last = o.last, nil
	}
	o.mu.Unlock()
	signal(o.room)
}

// bandShare is the divisor for the slots of a batch that each band is guaranteed:
// maxMessages/bandShare. Without the guarantee, a stream of urgent messages would starve the
// lower bands.
const bandShare = 64

// reserved returns the number of slots of a batch that are reserved for the bands below i.
func (o *outbox) reserved(i, maxMessages int) int {
	n := 0
	for _, lower := range o.bands[:i] {
		n += min(lower.n, maxMessages/bandShare)
	}
	return n
}

// maxIdleFrames is the largest capacity that an empty queue keeps.
const maxIdleFrames = 256

// drain seals the outbox, empties it and returns its messages.
func (o *outbox) drain() []*performatives.Message {
	o.seal(nil)
	o.mu.Lock()
	defer o.mu.Unlock()
	var left []*performatives.Message
	for i := len(o.bands) - 1; i >= 0; i-- {
		for o.bands[i].n > 0 {
			left = append(left, o.pop(i))
		}
	}
	o.messages, o.frames, o.bytes = 0, nil, 0
	o.wait.Popped(0, 0)
	return left
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// pop removes and returns the next message of a band.
func (o *outbox) pop(band int) *performatives.Message {
	q := o.bands[band].pop()
	o.backlog -= q.size
	return q.message
}

// queued is a message in the outbox with its estimated size in bytes.
type queued struct {
	message *performatives.Message
	size    int
}

// ring is a FIFO queue. It releases a large buffer when it becomes empty.
type ring struct {
	items []queued
	head  int
	n     int
}

func (r *ring) push(q queued) {
	if r.n == len(r.items) {
		r.grow()
	}
	r.items[(r.head+r.n)%len(r.items)] = q
	r.n++
}

func (r *ring) pop() queued {
	q := r.items[r.head]
	r.items[r.head] = queued{}
	r.head = (r.head + 1) % len(r.items)
	r.n--
	if r.n == 0 && len(r.items) > maxIdleFrames {
		*r = ring{}
	}
	return q
}

func (r *ring) grow() {
	items := make([]queued, max(8, 2*len(r.items)))
	for i := range r.n {
		items[i] = r.items[(r.head+i)%len(r.items)]
	}
	r.items, r.head = items, 0
}

package wire

import (
	"sync"

	"github.com/ribosome-agents/ribosome/performatives"
)

// outbox holds what a session has to write: frames of its own first, then messages,
// a higher band before a lower one. It is bounded: who puts a message in learns that it
// is full, and the session's own answers wait for room.
type outbox struct {
	mu       sync.Mutex
	frames   []Frame // pings, pongs and answers
	bytes    int     // of frames
	bands    [performatives.Bands]ring
	messages int
	backlog  int     // bytes of messages, as far as can be told
	last     []Frame // after everything else; nothing gets in once it is set
	sealed   bool
	mute     bool // messages wait: nobody knows yet how to write them

	capacity, maxBytes, maxBacklog int

	wake chan struct{} // there may be something to write
	room chan struct{} // there may be room for a frame
}

func newOutbox(l Limits) *outbox {
	return &outbox{
		capacity: l.Outbox, maxBytes: l.OutboxBytes, maxBacklog: l.Backlog, mute: true,
		wake: make(chan struct{}, 1), room: make(chan struct{}, 1),
	}
}

// putResult is what became of a message.
type putResult uint8

const (
	putQueued putResult = iota
	putFull
	putSealed
)

// put queues a message. One that is longer than all the room gets in when nothing else
// waits.
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
	o.backlog += q.size
	o.mu.Unlock()
	signal(o.wake)
	return putQueued
}

// putFrames queues frames of the session's own, and reports false when there is no room
// for them now. One that is longer than all the room gets in when nothing else waits.
func (o *outbox) putFrames(frames ...Frame) bool {
	n := 0
	for _, f := range frames {
		n += len(f.Data) + frameCost
	}
	o.mu.Lock()
	switch {
	case o.sealed: // nobody reads them any more
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

// frameCost is what a frame costs besides its bytes, so that empty ones are bounded too.
const frameCost = 64

// speak lets messages out: the session's dialect is known. It does not once the outbox is
// sealed, since they would come after last.
func (o *outbox) speak() {
	o.mu.Lock()
	o.mute = o.mute && o.sealed
	o.mu.Unlock()
	signal(o.wake)
}

// seal lets nothing in any more. last is written at the very end.
func (o *outbox) seal(last []Frame) {
	o.mu.Lock()
	if !o.sealed {
		o.sealed, o.last = true, last
	}
	o.mu.Unlock()
	signal(o.wake)
	signal(o.room)
}

// batch is what is to be written next.
type batch struct {
	frames   []Frame
	messages []*performatives.Message
	last     []Frame
	final    bool // nothing comes after it
}

// forget lets go of what b holds, and keeps its room.
func (b *batch) forget() {
	clear(b.frames)
	clear(b.messages)
	*b = batch{frames: b.frames[:0], messages: b.messages[:0]}
}

// take moves what waits, up to max messages, into b.
func (o *outbox) take(b *batch, maxMessages int) {
	b.forget()
	o.mu.Lock()
	b.frames = append(b.frames, o.frames...)
	clear(o.frames)
	o.frames, o.bytes = o.frames[:0], 0
	if cap(o.frames) > maxIdleFrames {
		o.frames = nil
	}
	for i := len(o.bands) - 1; i >= 0 && !o.mute; i-- {
		for len(b.messages) < maxMessages-o.kept(i, maxMessages) && o.bands[i].n > 0 {
			b.messages = append(b.messages, o.pop(i))
		}
	}
	o.messages -= len(b.messages)
	b.final = o.sealed && (o.messages == 0 || o.mute)
	if b.final {
		b.last, o.last = o.last, nil
	}
	o.mu.Unlock()
	signal(o.room)
}

// share is the part of a batch that is for each band, however many messages wait in those
// above: an agent that sends nothing but urgent ones must not silence the others.
const share = 64

// kept returns how many places of a batch are for the bands below the i-th.
func (o *outbox) kept(i, maxMessages int) int {
	n := 0
	for _, lower := range o.bands[:i] {
		n += min(lower.n, maxMessages/share)
	}
	return n
}

// maxIdleFrames is how many places for frames are kept.
const maxIdleFrames = 256

// drain empties the outbox and returns the messages in it.
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
	return left
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// pop takes the next message of a band.
func (o *outbox) pop(band int) *performatives.Message {
	q := o.bands[band].pop()
	o.backlog -= q.size
	return q.message
}

// queued is a message that waits.
type queued struct {
	message *performatives.Message
	size    int
}

// ring is a queue that gives its memory back when it is empty.
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

package subscribe

import (
	"runtime/debug"
	"sync"

	"github.com/ribosome-agents/ribosome/performatives"
)

// entry is one event of a topic.
type entry struct {
	seq   uint64
	value any
}

// queue holds the events that wait for one subscriber. It is bounded: when it is full, it drops
// and counts its oldest event. Any goroutine puts events in; the subscriber's conversation
// takes them out.
type queue struct {
	match func(any) bool // selects the events for the subscriber; nil selects all
	edge  bool           // of several selected events in a row only the first is put in
	wake  func()         // makes the conversation take events
	end   func(performatives.Failure)
	// panicked reports a panic of match, which ends this subscription and no other.
	panicked func(v any, stack []byte)

	mu      sync.Mutex
	ring    ring[entry]
	was     bool   // match selected the previous event
	lost    uint64 // events dropped before the oldest
	out     bool   // an event was taken, and may be put back
	claimed bool   // the conversation takes events, or will: it need not be woken
	closing *performatives.Failure
}

// put adds an event that is selected, and reports whether the caller must wake the conversation.
func (q *queue) put(e entry, matches bool) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.edge {
		matches, q.was = matches && !q.was, matches
	}
	if !matches {
		return false
	}
	if q.ring.full() {
		q.ring.pop()
		q.lost++
	}
	q.ring.push(e)
	wake := !q.claimed
	q.claimed = true
	return wake
}

// take returns the oldest event, and the number of events that were dropped before it. The queue
// must not be empty. The caller sends the event or puts it back, and then calls closed. The
// conversation is not woken again before release.
func (q *queue) take() (e entry, lost uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e, lost = q.ring.pop(), q.lost
	q.lost, q.out = 0, true
	return e, lost
}

// putBack returns the event that was taken last to the queue, with the number of events dropped
// before it. If the queue is full now, the event itself is dropped.
func (q *queue) putBack(e entry, lost uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lost += lost
	if q.ring.full() {
		q.lost++
		return
	}
	q.ring.putBack(e) // the queue was never full since take, so nothing was dropped
}

// release reports whether the queue holds an event. If not, the next put wakes the conversation.
func (q *queue) release() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.claimed = q.ring.n > 0
	return q.claimed
}

// miss counts events that were lost before they could be put in.
func (q *queue) miss(n uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lost += n
}

// close ends the conversation after the queued events.
func (q *queue) close(why performatives.Failure) {
	q.mu.Lock()
	q.closing = &why
	empty := q.ring.n == 0 && !q.out
	q.mu.Unlock()
	if empty {
		q.end(why)
	}
}

// closed returns why the conversation ends, or nil while the queue is open or not empty.
func (q *queue) closed() *performatives.Failure {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.out = false
	if q.ring.n > 0 {
		return nil
	}
	return q.closing
}

// wants reports whether match selects an event. A panic of match ends the subscription, because
// match may depend on the subscriber's parameters; it does not affect the publisher or other
// subscribers.
func (q *queue) wants(v any) (wants bool) {
	if q.match == nil {
		return true
	}
	if q.ending() {
		return false
	}
	returned := false
	defer func() {
		if !returned {
			q.panicked(recover(), debug.Stack())
			code := performatives.CodeFailed // a code without retry: the filter would panic again
			q.close(performatives.Failure{ErrorCode: code, ErrorText: "the filter of the subscription panicked"})
		}
	}()
	wants, returned = q.match(v), true
	return wants
}

// ending reports whether the queue is closed.
func (q *queue) ending() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closing != nil
}

package codons

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

// outlet is what waits for one subscriber: so many events at most, of which the
// oldest are lost, and counted, when there is no room. Publishers put events in from
// any goroutine; the subscriber's conversation takes them out.
type outlet struct {
	match func(any) bool // which events are for the subscriber; nil is all
	edge  bool           // of those only the first in a row
	tell  func(command string, data any)
	// panicked is told of a panic of match, which ends this subscription and no other.
	panicked func(v any, stack []byte)

	mu      sync.Mutex
	ring    ring[entry]
	was     bool   // the event before was a match
	lost    uint64 // before the oldest
	out     bool   // one was taken, and may be put back
	claimed bool   // the conversation takes events out, or will, and need not be told
	closing *performatives.Failure
}

// put adds an event, and reports whether the conversation has to be told.
func (o *outlet) put(e entry, matches bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.edge {
		matches, o.was = matches && !o.was, matches
	}
	if !matches {
		return false
	}
	if o.ring.full() {
		o.ring.pop()
		o.lost++
	}
	o.ring.push(e)
	wake := !o.claimed
	o.claimed = true
	return wake
}

// take returns the oldest event and how many were lost before it. It must not be
// called on an empty outlet. It may be put back; then, or once it is sent, closed must be
// called. Nobody is told of what comes next before a release.
func (o *outlet) take() (e entry, lost uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	e, lost = o.ring.pop(), o.lost
	o.lost, o.out = 0, true
	return e, lost
}

// putBack is for the event that was taken last, before which so many were lost. When the
// room has been filled meanwhile, it is the oldest, and lost itself.
func (o *outlet) putBack(e entry, lost uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lost += lost
	if o.ring.full() {
		o.lost++
		return
	}
	o.ring.putBack(e) // nothing was lost since it was taken, as there was room
}

// release reports whether there is something to take. If not, the conversation is
// told when there is.
func (o *outlet) release() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.claimed = o.ring.n > 0
	return o.claimed
}

// miss counts events that are lost before they could be put in.
func (o *outlet) miss(n uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lost += n
}

// close has the conversation end once all has been taken out.
func (o *outlet) close(why performatives.Failure) {
	o.mu.Lock()
	o.closing = &why
	empty := o.ring.n == 0 && !o.out
	o.mu.Unlock()
	if empty {
		o.tell(commandClose, why)
	}
}

// closed returns why the conversation is to end, nil while there is something left.
func (o *outlet) closed() *performatives.Failure {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.out = false
	if o.ring.n > 0 {
		return nil
	}
	return o.closing
}

// wants reports whether an event is for the subscriber. The predicate may depend on what
// the subscriber asked for: when it panics, that one's subscription ends, and neither the
// publisher nor another subscriber notices.
func (o *outlet) wants(v any) (wants bool) {
	if o.match == nil {
		return true
	}
	if o.ending() {
		return false
	}
	returned := false
	defer func() {
		if !returned {
			o.panicked(recover(), debug.Stack())
			code := performatives.CodeFailed // to ask again would not help
			o.close(performatives.Failure{ErrorCode: code, ErrorText: "the filter of the subscription panicked"})
		}
	}()
	wants, returned = o.match(v), true
	return wants
}

// ending reports whether no event is wanted any more.
func (o *outlet) ending() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.closing != nil
}

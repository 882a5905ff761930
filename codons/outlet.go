package codons

import (
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

	mu      sync.Mutex
	ring    []entry // nil before the first
	room    int
	head, n int
	was     bool   // the event before was a match
	lost    uint64 // before the oldest
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
	if o.ring == nil {
		o.ring = make([]entry, o.room)
	}
	if o.n == o.room {
		o.drop()
	}
	o.ring[(o.head+o.n)%o.room] = e
	o.n++
	wake := !o.claimed
	o.claimed = true
	return wake
}

// drop loses the oldest.
func (o *outlet) drop() {
	o.ring[o.head] = entry{}
	o.head = (o.head + 1) % o.room
	o.n--
	o.lost++
}

// take returns the oldest event and how many were lost before it. It must not be
// called on an empty outlet. Nobody is told of what comes next before a release.
func (o *outlet) take() (e entry, lost uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	e, lost = o.ring[o.head], o.lost
	o.drop()
	o.lost = 0
	return e, lost
}

// release reports whether there is something to take. If not, the conversation is
// told when there is.
func (o *outlet) release() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.claimed = o.n > 0
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
	empty := o.n == 0
	o.mu.Unlock()
	if empty {
		o.tell(commandClose, why)
	}
}

// closed returns why the conversation is to end, nil while there is something left.
func (o *outlet) closed() *performatives.Failure {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.n > 0 {
		return nil
	}
	return o.closing
}

// wants reports whether an event is for the subscriber.
func (o *outlet) wants(v any) bool { return o.match == nil || o.match(v) }

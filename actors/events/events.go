package events

import (
	goruntime "runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// Stream is the stream of the events of one node: publishers number them, and each
// [Subscription] gets those that it wants in a bounded queue of its own. The zero Events
// is ready. All methods may be called from any goroutine. Events must not be copied.
//
// Publishing neither runs code of a subscriber nor waits for one. The exception is the second
// function of [OnOrLost]. While there is no subscription it costs one atomic load, and a publisher
// that asks [Wants] first does not even make the event.
//
// An event that only [Batches] want, and that [Publish] publishes, locks one of several lanes. Any
// other event locks the whole stream.
type Stream struct {
	routes atomic.Pointer[routes] // nil without a subscription; replaced, never changed; under mu

	mu    sync.Mutex // with all lanes: nothing is published
	lanes *lanes     // nil before there were batches; then as many as there were processors. Under mu

	_   [cachePad]byte
	seq atomic.Uint64 // of the event that was published last; drawn with a lane or all of them locked
	_   [cachePad]byte
}

// Wants reports whether a subscription wants events of type E, which is a struct type. An
// event that happens for every message is made and published only then, so that a
// subscription to rare events costs messages nothing.
func Wants[E Event](e *Stream) bool {
	all := e.routes.Load()
	return all != nil && wantsEvent[E](all) // apart, so that this is inlined
}

func wantsEvent[E Event](all *routes) bool {
	var event E
	return !all.to(event.Kind()).empty()
}

// Publish numbers ev and puts it into the queue of every subscription that wants its
// kind; one whose queue is full counts it as lost. An event that no subscription wants
// gets no number. Publish does not block.
func (e *Stream) Publish(ev Event) {
	kind := ev.Kind()
	if e.routes.Load().to(kind).empty() {
		return
	}
	e.lock()
	defer e.unlock()
	to := e.routes.Load().to(kind)
	if to.empty() {
		return
	}
	seq := e.seq.Add(1)
	for i := range to.batches {
		to.batches[i].offerLocked(seq, ev)
	}
	for _, s := range to.single {
		s.offerLocked(Record{seq, ev})
	}
}

// Publish is [Stream.Publish] of an event whose type is known. It makes no interface value for a
// [Batches], which other subscriptions need. Ask [Wants] first.
func Publish[E Event](e *Stream, ev E) {
	if r := e.routes.Load(); r != nil && !publishInLane(e, r, &ev) {
		publish(e, &ev)
	}
}

// publishInLane publishes an event with one lane locked. It does nothing and returns false where
// that is not possible: a subscription without batches wants the event, the share of the lane in a
// queue is full, or the routes are not r any more.
func publishInLane[E Event](e *Stream, r *routes, ev *E) bool {
	var event E // Kind called on ev would move it to the heap
	to := r.to(event.Kind())
	if len(to.single) > 0 {
		return false
	}
	if len(to.batches) == 0 {
		return true
	}
	l := r.lanes.take()
	l.mu.Lock()
	published := e.routes.Load() == r && to.room(l.index)
	if published {
		seq := e.seq.Add(1)
		for i := range to.batches {
			queueInLane(&to.batches[i], l.index, seq, ev)
		}
	}
	l.mu.Unlock()
	r.lanes.giveBack(l)
	return published
}

// publish publishes an event with the stream locked.
func publish[E Event](e *Stream, ev *E) {
	var event E
	e.lock()
	defer e.unlock()
	to := e.routes.Load().to(event.Kind())
	if to.empty() {
		return
	}
	seq := e.seq.Add(1)
	for i := range to.batches {
		offerValueLocked(&to.batches[i], seq, ev)
	}
	if len(to.single) > 0 {
		r := Record{seq, *ev}
		for _, s := range to.single {
			s.offerLocked(r)
		}
	}
}

// offerValueLocked is offerLocked for an event whose type is known.
func offerValueLocked[E Event](c *batchColumn, seq uint64, ev *E) {
	if c.b.roomLocked() {
		queueInLane(c, firstLane, seq, ev)
	} else if of, ok := c.column.(*column[E]); ok && of.lost != nil {
		of.lost(*ev)
	}
}

// queueInLane queues an event in a lane, which is locked.
func queueInLane[E Event](c *batchColumn, lane int, seq uint64, ev *E) {
	if of, ok := c.column.(*column[E]); ok {
		p := &of.parts[lane]
		p.pending = append(p.pending, *ev)
		c.b.queued(lane, seq, c.index)
	}
}

// lock locks the stream: nothing is published, and no subscription comes or goes.
func (e *Stream) lock() {
	e.mu.Lock()
	e.lanes.lock()
}

func (e *Stream) unlock() {
	e.lanes.unlock()
	e.mu.Unlock()
}

func (e *Stream) listLocked() []*Subscription {
	if r := e.routes.Load(); r != nil {
		return r.all
	}
	return nil
}

func (e *Stream) add(s *Subscription) {
	if s.batches != nil {
		e.mu.Lock()
		if e.lanes == nil {
			e.lanes = newLanes(goruntime.GOMAXPROCS(0))
		}
		s.batches.divide(e.lanes)
		e.mu.Unlock()
	}
	e.lock() // an event that is being published comes before the subscription, and so do all with smaller numbers
	defer e.unlock()
	e.routes.Store(newRoutes(append(slices.Clone(e.listLocked()), s), e.lanes))
}

// remove ends the subscription s, once. Nothing is queued for it afterwards.
func (e *Stream) remove(s *Subscription) {
	e.lock()
	defer e.unlock()
	if all := e.listLocked(); slices.Contains(all, s) {
		e.routes.Store(newRoutes(slices.DeleteFunc(slices.Clone(all), func(x *Subscription) bool { return x == s }), e.lanes))
		if s.records != nil {
			close(s.records) // only publications send, and they find s no more
		}
	}
}

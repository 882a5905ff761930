package actors

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Events is the stream of the events of one node: publishers number them, and each
// [Subscription] gets those that it wants in a bounded queue of its own. The zero Events
// is ready. All methods may be called from any goroutine. Events must not be copied.
//
// Publishing runs no code of a subscriber and waits for none. While there is no
// subscription it costs one atomic load, and a publisher that asks [Wants] first does
// not even make the event.
type Events struct {
	subscriptions atomic.Pointer[[]*Subscription] // replaced, never changed; under mu

	mu  sync.Mutex // what one publication numbers and queues, no other comes between
	seq uint64     // of the event that was published last
}

// Wants reports whether a subscription wants events of type E, which is a struct type. An
// event that happens for every message is made and published only then, so that a
// subscription to rare events costs messages nothing.
func Wants[E Event](e *Events) bool {
	all := e.subscriptions.Load()
	return all != nil && anyWantsEvent[E](*all) // apart, so that this is inlined
}

func anyWantsEvent[E Event](all []*Subscription) bool {
	var event E
	return anyWants(all, event.Kind())
}

func anyWants(all []*Subscription, kind Kind) bool {
	for _, s := range all {
		if s.wants(kind) {
			return true
		}
	}
	return false
}

// Publish numbers ev and puts it into the queue of every subscription that wants its
// kind; one whose queue is full counts it as lost. An event that no subscription wants
// gets no number. Publish does not block.
func (e *Events) Publish(ev Event) {
	all := e.subscriptions.Load()
	if all == nil {
		return
	}
	kind := ev.Kind()
	if anyWants(*all, kind) {
		e.deliver(kind, ev)
	}
}

// Publish is [Events.Publish] of an event whose type is known. It makes no interface value for a [Batches], which
// other subscriptions need. Ask [Wants] first.
func Publish[E Event](e *Events, ev E) {
	if e.subscriptions.Load() != nil {
		publish(e, &ev)
	}
}

func publish[E Event](e *Events, ev *E) {
	var event E // Kind called on ev would move it to the heap
	kind := event.Kind()
	var r Record
	e.mu.Lock()
	defer e.mu.Unlock()
	seq := e.seq + 1
	for _, s := range e.listLocked() {
		switch {
		case !s.wants(kind):
			continue
		case s.batches == nil:
			if r.Event == nil {
				r = Record{seq, *ev}
			}
			s.offerLocked(r)
		case !offerValueLocked(s.batches, seq, ev):
			s.lost.Add(1)
		}
		e.seq = seq
	}
}

func (e *Events) deliver(kind Kind, ev Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := Record{e.seq + 1, ev}
	for _, s := range e.listLocked() {
		if s.wants(kind) {
			s.offerLocked(r)
			e.seq = r.Seq
		}
	}
}

func (e *Events) listLocked() []*Subscription {
	if all := e.subscriptions.Load(); all != nil {
		return *all
	}
	return nil
}

func (e *Events) add(s *Subscription) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.storeLocked(append(slices.Clone(e.listLocked()), s))
}

// storeLocked stores nil for an empty list, so that Wants is one load again.
func (e *Events) storeLocked(all []*Subscription) {
	if len(all) == 0 {
		e.subscriptions.Store(nil)
		return
	}
	e.subscriptions.Store(&all)
}

// remove ends the subscription s, once.
func (e *Events) remove(s *Subscription) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if all := e.listLocked(); slices.Contains(all, s) {
		e.storeLocked(slices.DeleteFunc(slices.Clone(all), func(x *Subscription) bool { return x == s }))
		if s.records != nil {
			close(s.records) // only deliver sends, and it finds s no more
		}
	}
}

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
// Publishing neither runs code of a subscriber nor waits for one. The exception is the second function of [OnOrLost]. While there is no
// subscription it costs one atomic load, and a publisher that asks [Wants] first does
// not even make the event.
type Events struct {
	routes atomic.Pointer[routes] // nil without a subscription; replaced, never changed; under mu

	mu  sync.Mutex // what one publication numbers and queues, no other comes between
	seq uint64     // of the event that was published last
}

// Wants reports whether a subscription wants events of type E, which is a struct type. An
// event that happens for every message is made and published only then, so that a
// subscription to rare events costs messages nothing.
func Wants[E Event](e *Events) bool {
	all := e.routes.Load()
	return all != nil && wantsEvent[E](all) // apart, so that this is inlined
}

func wantsEvent[E Event](all *routes) bool {
	var event E
	return len(all.to(event.Kind())) > 0
}

// Publish numbers ev and puts it into the queue of every subscription that wants its
// kind; one whose queue is full counts it as lost. An event that no subscription wants
// gets no number. Publish does not block.
func (e *Events) Publish(ev Event) {
	kind := ev.Kind()
	if len(e.routes.Load().to(kind)) > 0 {
		e.deliver(kind, ev)
	}
}

// Publish is [Events.Publish] of an event whose type is known. It makes no interface value for a [Batches], which
// other subscriptions need. Ask [Wants] first.
func Publish[E Event](e *Events, ev E) {
	if e.routes.Load() != nil {
		publish(e, &ev)
	}
}

func publish[E Event](e *Events, ev *E) {
	var event E // Kind called on ev would move it to the heap
	kind := event.Kind()
	var r Record
	e.mu.Lock()
	defer e.mu.Unlock()
	recipients := e.routes.Load().to(kind)
	if len(recipients) > 0 {
		e.seq++
	}
	for _, t := range recipients {
		if t.s.batches != nil {
			offerValueLocked(t, e.seq, ev)
			continue
		}
		if r.Event == nil {
			r = Record{e.seq, *ev}
		}
		t.s.offerLocked(r)
	}
}

func (e *Events) deliver(kind Kind, ev Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	recipients := e.routes.Load().to(kind)
	if len(recipients) > 0 {
		e.seq++
	}
	for _, t := range recipients {
		if t.s.batches != nil {
			t.s.batches.offerLocked(t, Record{e.seq, ev})
			continue
		}
		t.s.offerLocked(Record{e.seq, ev})
	}
}

func (e *Events) listLocked() []*Subscription {
	if r := e.routes.Load(); r != nil {
		return r.all
	}
	return nil
}

func (e *Events) add(s *Subscription) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.routes.Store(newRoutes(append(slices.Clone(e.listLocked()), s)))
}

// remove ends the subscription s, once.
func (e *Events) remove(s *Subscription) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if all := e.listLocked(); slices.Contains(all, s) {
		e.routes.Store(newRoutes(slices.DeleteFunc(slices.Clone(all), func(x *Subscription) bool { return x == s })))
		if s.records != nil {
			close(s.records) // only publications send, and they find s no more
		}
	}
}

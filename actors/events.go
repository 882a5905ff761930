package actors

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Events is the stream of all that can be observed. While nobody listens,
// publishing costs one atomic load, and a publisher that asks [Wants] first does
// not even make the event. The zero Events is ready.
type Events struct {
	listeners atomic.Pointer[[]*listener]
	mu        sync.Mutex // serialises changes of listeners
}

type listener struct {
	fn func(Event)
	of []Interest // nil for all events
}

// Interest is a type of event that someone wants to hear of. See [About].
type Interest interface {
	covers(probe any) bool // whether probe is a nil pointer to that type
	matches(Event) bool
}

type about[E Event] struct{}

func (about[E]) covers(probe any) bool { _, ok := probe.(*E); return ok }

func (about[E]) matches(ev Event) bool { _, ok := ev.(E); return ok }

// About is the interest in events of type E, which is the type of an event.
func About[E Event]() Interest { return about[E]{} }

func (l *listener) wants(ev Event) bool {
	for _, i := range l.of {
		if i.matches(ev) {
			return true
		}
	}
	return l.of == nil
}

func (l *listener) covers(probe any) bool {
	for _, i := range l.of {
		if i.covers(probe) {
			return true
		}
	}
	return l.of == nil
}

// Enabled reports whether anyone listens to anything.
func (e *Events) Enabled() bool {
	l := e.listeners.Load()
	return l != nil && len(*l) > 0
}

// Wants reports whether anyone listens to events of type E. What happens for every
// message is published only then: a log of what is rare costs messages nothing.
func Wants[E Event](e *Events) bool {
	all := e.listeners.Load()
	if all == nil {
		return false
	}
	for _, l := range *all {
		if l.covers((*E)(nil)) {
			return true
		}
	}
	return false
}

// Publish gives ev, before it returns, to everyone who listens to its type.
func (e *Events) Publish(ev Event) {
	if all := e.listeners.Load(); all != nil {
		for _, l := range *all {
			if l.wants(ev) {
				l.fn(ev)
			}
		}
	}
}

// Listen calls fn for each event from now on, on the goroutine where it happens:
// nothing is lost, and events of one agent come in order. With of, it is called
// for events of those types only, and the others stay as cheap as if nobody
// listened. fn is called concurrently, must be quick, must not block, and must not
// publish. stop ends it; a call under way may still finish afterwards.
func (e *Events) Listen(fn func(Event), of ...Interest) (stop func()) {
	l := &listener{fn, of}
	e.change(func(all []*listener) []*listener { return append(all, l) })
	return func() {
		e.change(func(all []*listener) []*listener {
			return slices.DeleteFunc(all, func(x *listener) bool { return x == l })
		})
	}
}

func (e *Events) change(f func([]*listener) []*listener) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var all []*listener
	if old := e.listeners.Load(); old != nil {
		all = slices.Clone(*old)
	}
	all = f(all)
	e.listeners.Store(&all)
}

// Subscription is a bounded queue of the events of type E. See [Subscribe].
type Subscription[E Event] struct {
	// C carries the events. It is not closed, so that a late event cannot panic.
	C       <-chan E
	dropped atomic.Uint64
	stop    func()
}

// Subscribe queues the events of type E, of which at most capacity wait to be
// read; Subscribe[Event] queues all. What does not fit is dropped and counted, so
// that a slow reader stalls nobody.
func Subscribe[E Event](e *Events, capacity int) *Subscription[E] {
	c := make(chan E, max(capacity, 1))
	s := &Subscription[E]{C: c}
	var of []Interest
	if _, all := any((*E)(nil)).(*Event); !all {
		of = append(of, About[E]())
	}
	s.stop = e.Listen(func(ev Event) {
		select {
		case c <- ev.(E):
		default:
			s.dropped.Add(1)
		}
	}, of...)
	return s
}

// Dropped returns how many events did not fit.
func (s *Subscription[E]) Dropped() uint64 { return s.dropped.Load() }

// Stop ends the subscription. What is queued can still be read.
func (s *Subscription[E]) Stop() { s.stop() }

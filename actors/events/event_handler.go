package events

import (
	"context"
	"sync"
)

// Handler calls a function for each event of a subscription, on one goroutine that it
// owns. Its owner must call Stop.
type Handler struct {
	subscription *Subscription
	abort        sync.Once
	aborted      chan struct{} // closed: no further call
	done         chan struct{} // closed: the goroutine has returned
}

// Handle has fn called for each event of s, one after the other, on a goroutine of its
// own: fn may block, publish and subscribe, and delays no publisher. Events that find the
// queue full meanwhile are lost and counted. fn must not call Stop. A panic of fn ends the
// process. The handler owns s from now on.
func (s *Subscription) Handle(fn func(Record)) *Handler {
	h := &Handler{subscription: s, aborted: make(chan struct{}), done: make(chan struct{})}
	go h.run(fn)
	return h
}

func (h *Handler) run(fn func(Record)) {
	defer close(h.done)
	for r := range h.subscription.C {
		select {
		case <-h.aborted:
			h.subscription.lost.Add(1)
		default:
			fn(r)
		}
	}
}

// Stop closes the subscription and waits until fn has returned for every event that was
// published before. The error is the cause of ctx's end when that comes first: then fn is
// not called again, the events that are queued count as lost, and the goroutine ends when
// the call under way returns. Stop may be called again, and by many.
func (h *Handler) Stop(ctx context.Context) error {
	h.subscription.Close()
	select {
	case <-h.done: // whatever ctx says
		return nil
	default:
	}
	select {
	case <-h.done:
		return nil
	case <-ctx.Done():
		h.abort.Do(func() { close(h.aborted) })
		return context.Cause(ctx)
	}
}

// Done is closed once the goroutine of the handler has returned.
func (h *Handler) Done() <-chan struct{} { return h.done }

// Lost returns how many events fn was not called for: they found the queue full, or Stop
// was out of time.
func (h *Handler) Lost() uint64 { return h.subscription.Lost() }

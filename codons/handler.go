package codons

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// reportsUnderWay is how many words of a handler may wait to be carried out; the
// next waits for room.
const reportsUnderWay = 16

// handler is one run of an agent's code for a conversation, on a goroutine of its
// own.
type handler struct {
	conversation *conversation
	perform      func(context.Context, *handler) (command string, data any) // its last word
	place        *place
	scope        *scope
	ctx          context.Context //nolint:containedctx // the handler owns it
	cancel       context.CancelCauseFunc
	underWay     chan struct{} // holds a token for each word that is not carried out yet; nil before the first

	mu       sync.Mutex // puts every word before the last
	returned bool
	left     chan struct{} // closed when the conversation has ended without the handler
	overdue  *time.Timer   // until the handler should have returned
}

// newHandler returns a handler of the conversation's latest request, that has until
// the deadline. It gives p back when it has returned. The error says that the
// request's budget makes no sense.
func newHandler(c *conversation, deadline time.Time, p *place, perform func(context.Context, *handler) (string, any)) (*handler, error) {
	if c.work == nil {
		s, err := openScope(c.request, deadline)
		if err != nil {
			return nil, err
		}
		c.work = s
	} else {
		c.work.reopen(c.request, deadline)
	}
	h := &handler{conversation: c, perform: perform, place: p, scope: c.work}
	h.ctx, h.cancel = working(h.scope)
	h.scope.ctx, h.scope.cancel = h.ctx, h.cancel
	return h, nil
}

// run calls the agent's code. What it panics with stays here, but for the event;
// its last word is said also when it calls runtime.Goexit.
func (h *handler) run() {
	name, data := commandFail, any(performatives.Failure{ErrorCode: performatives.CodeInternal, ErrorText: "the handler panicked"})
	returned := false
	defer func() {
		if v := recover(); v != nil || !returned {
			h.conversation.panicked(v, debug.Stack())
		}
		if err := h.settle(); err != nil {
			name, data = commandFail, failureOf(err)
		}
		h.finish(name, data)
	}()
	name, data = h.perform(h.ctx, h)
	returned = true
}

// settle ends what the handler has begun and not waited for. A receipt says that
// nothing runs any more: where something below does, the handler counts as not
// returned until its conversation has ended without it. The error is what was
// overspent.
func (h *handler) settle() error {
	canceled := errors.Is(context.Cause(h.ctx), ErrCanceled)
	h.cancel(ErrEnded)
	if !h.scope.close() && canceled {
		<-h.withoutIt()
	}
	_, over := h.scope.ledger.account()
	return over
}

// withoutIt returns what is closed once the conversation has ended without the
// handler.
func (h *handler) withoutIt() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.left == nil {
		h.left = make(chan struct{})
	}
	return h.left
}

// finish says the last word, once there is room for another task: whoever hears it
// may ask for that at once.
func (h *handler) finish(name string, data any) {
	h.mu.Lock()
	h.returned = true
	if h.overdue != nil {
		h.overdue.Stop()
	}
	h.cancel(ErrEnded)
	h.mu.Unlock()
	h.place.giveBack()
	h.conversation.tell(name, data)
}

// say has the conversation take a command of a handler that goes on, at the pace
// at which it carries them out. The error is why the handler is to end.
func (h *handler) say(name string, data any) error {
	select {
	case h.room() <- struct{}{}:
	case <-h.ctx.Done():
		return context.Cause(h.ctx)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ctx.Err() != nil {
		return context.Cause(h.ctx)
	}
	h.conversation.tell(name, data)
	return nil
}

// room is where a word waits until it is carried out.
func (h *handler) room() chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.underWay == nil {
		h.underWay = make(chan struct{}, reportsUnderWay)
	}
	return h.underWay
}

// said makes room for another word.
func (h *handler) said() { <-h.room() }

// leaveBehind is told that the conversation has ended, in which there may have been
// no handler. One that was cancelled has had its grace.
func (h *handler) leaveBehind(grace time.Duration) {
	if h == nil {
		return
	}
	if h.conversation.cancel != nil {
		grace = 0
	}
	h.outlive(grace)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.left == nil {
		h.left = ended
		return
	}
	if h.left != ended {
		close(h.left)
	}
}

// ended is closed.
var ended = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// outlive is told that the conversation has ended. A handler that has not returned
// after the grace is made known.
func (h *handler) outlive(grace time.Duration) {
	h.cancel(ErrEnded)
	if !h.late(grace) {
		return
	}
	c := h.conversation
	if events := &c.self.System().Events; actors.Wants[actors.WorkAbandoned](events) {
		events.Publish(actors.WorkAbandoned{At: actors.At{Time: time.Now()}, Agent: c.self.ID(), Conversation: c.key.ID})
	}
}

// late reports whether the handler should have returned. When it still has time,
// it is looked at again.
func (h *handler) late(grace time.Duration) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.returned && grace > 0 {
		h.overdue = time.AfterFunc(grace, func() { h.outlive(0) })
		return false
	}
	return !h.returned
}

// panicked tells of a panic in code of the agent or the caller; v is nil when that
// ended its goroutine.
func (c *conversation) panicked(v any, stack []byte) {
	c.self.Logger().Error("handler panicked", "conversation", string(c.key.ID), "err", fmt.Sprint(v))
	if events := &c.self.System().Events; actors.Wants[HandlerPanicked](events) {
		events.Publish(HandlerPanicked{actors.At{Time: time.Now()}, c.self.ID(), c.key.ID, v, stack})
	}
}

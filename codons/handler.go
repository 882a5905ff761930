package codons

import (
	"context"
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
	overdue  func() bool // stops the time until the handler should have returned
}

// newHandler returns a handler of the conversation's latest request, that has until
// the deadline. It gives p back when it has returned. The error says that the
// request's budget makes no sense.
func newHandler(c *conversation, deadline time.Time, p *place, perform func(context.Context, *handler) (string, any)) (*handler, error) {
	if c.work == nil {
		s, err := openScope(c.request)
		if err != nil {
			return nil, err
		}
		c.work = s
	}
	h := &handler{conversation: c, perform: perform, place: p, scope: c.work}
	h.ctx, h.cancel = h.scope.work(c.request, deadline)
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
		stopped, err := h.settle()
		if err != nil {
			name, data = commandFail, failureOf(err)
		}
		h.finish(name, data, stopped)
	}()
	name, data = h.perform(h.ctx, h)
	returned = true
}

// settle ends what the handler has begun and not waited for. It reports whether all
// that was withdrawn has stopped; the error is what was overspent.
func (h *handler) settle() (stopped bool, overspent error) {
	h.cancel(ErrEnded)
	stopped = h.scope.close(h.conversation.self)
	return stopped, h.scope.ledger.shortfall()
}

// finish says the last word, once there is room for another task: whoever hears it
// may ask for that at once. stopped says that nothing runs any more below the handler.
func (h *handler) finish(name string, data any, stopped bool) {
	h.mu.Lock()
	h.returned = true
	if h.overdue != nil {
		h.overdue()
	}
	h.cancel(ErrEnded)
	h.mu.Unlock()
	h.place.giveBack()
	c := h.conversation
	c.post(&command{name: name, data: data, band: c.priority, loose: !stopped})
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
	c := h.conversation
	c.post(&command{name: name, data: data, band: c.priority, by: h})
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
}

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
		h.overdue = h.conversation.self.System().AfterFunc(grace, func() { h.outlive(0) })
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

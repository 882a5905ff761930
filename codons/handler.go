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

// reportsUnderWay is how many reports of a handler may wait to be sent; the next
// waits for room.
const reportsUnderWay = 16

// handler is one run of a worker's PerformTask, on a goroutine of its own.
type handler struct {
	conversation *conversation
	worker       Worker
	task         Task
	place        *place
	ctx          context.Context //nolint:containedctx // the handler owns it
	cancel       context.CancelCauseFunc
	underWay     chan struct{} // holds a token for each report that is not sent yet; nil before the first

	mu       sync.Mutex // puts every report before the last word
	returned bool
	overdue  *time.Timer // until the handler should have returned
}

func newHandler(c *conversation, s *workScript) *handler {
	h := &handler{
		conversation: c, worker: s.bench.worker, place: s.place.Swap(nil),
	}
	h.ctx, h.cancel = working(s.bench.deadline(c.request))
	h.task, _ = s.bench.task(c.request, s.previous) // it was readable when the agent considered it
	h.task.report = h.report
	return h
}

// run calls the worker. What it panics with stays here, but for the event; its
// last word is said also when it calls runtime.Goexit.
func (h *handler) run() {
	name, data := commandFail, any(performatives.Failure{ErrorCode: performatives.CodeInternal, ErrorText: "the worker panicked"})
	returned := false
	defer func() {
		if v := recover(); v != nil || !returned {
			h.conversation.panicked(v, debug.Stack())
		}
		h.finish(name, data)
	}()
	name, data = h.perform()
	returned = true
}

// perform returns the handler's last word.
func (h *handler) perform() (name string, data any) {
	result, err := h.worker.PerformTask(h.ctx, h.task)
	if err != nil {
		return commandFail, failureOf(err)
	}
	return h.outcome(result)
}

// outcome is the command of a result. One that is not valid is the worker's fault
// and told as a failure, so that the asker is not left without an answer.
func (h *handler) outcome(r performatives.InformResult) (string, any) {
	if err := r.Validate(); err != nil {
		h.conversation.self.Logger().Error("the worker's result is not valid", "conversation", string(h.conversation.key.ID), "err", err)
		return commandFail, performatives.Failure{ErrorCode: performatives.CodeInternal, ErrorText: "the worker returned no valid result"}
	}
	if r.RequestForUser() != "" {
		return commandNeedInput, r
	}
	return commandFinish, r
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

// report passes on a report at the pace at which the conversation sends them.
func (h *handler) report(u performatives.StatusUpdate) error {
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
	h.conversation.tell(commandReport, u)
	return nil
}

// room is where a report waits until it is sent.
func (h *handler) room() chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.underWay == nil {
		h.underWay = make(chan struct{}, reportsUnderWay)
	}
	return h.underWay
}

// sent makes room for another report.
func (h *handler) sent() { <-h.room() }

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

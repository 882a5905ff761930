package codons

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// maxCommandsUnderWay is the largest number of commands of a handler that are not handled yet.
// A further one blocks.
const maxCommandsUnderWay = 16

// Handler is one run of a job of an agent, on a goroutine of its own. Its methods are safe for
// concurrent use.
type Handler struct {
	conversation *Conversation
	request      *performatives.Message
	job          string                                  // its name in the table
	label        string                                  // of what it runs, see Label
	do           func(context.Context, *Handler) Command // its code; it returns the last command
	hold         func(*Handler, string) bool             // reports whether the conversation keeps the slot after a last command; nil for never
	slot         *slot
	scope        *scope
	ctx          context.Context //nolint:containedctx // the handler owns it
	cancel       context.CancelCauseFunc
	began        time.Time
	underWay     chan struct{} // holds a token for each command that is not handled yet; nil before the first command

	mu       sync.Mutex // orders all other commands before the last one
	returned bool
	failure  error       // of the job; nil for a good end and for a refusal
	told     bool        // the conversation's mailbox has had the last command
	overdue  func() bool // stops the timer of the grace; nil without one
	stopped  error       // the cause for which an operator has stopped it; nil otherwise
}

// newHandler returns a handler of the conversation's latest request. Its context ends at the
// deadline, and it releases the slot when it has returned. The error says that the request's
// budget is not valid.
func newHandler(c *Conversation, t Times, s *slot, job string, do func(context.Context, *Handler) Command) (*Handler, error) {
	if c.work == nil {
		scope, err := openScope(c.request, t.Depth)
		if err != nil {
			return nil, err
		}
		c.work = scope
		c.progress.mu.Lock()
		c.progress.work = scope
		c.progress.mu.Unlock()
	}
	h := &Handler{conversation: c, request: c.request, job: job, do: do, slot: s, scope: c.work, began: c.event.At}
	var span *lifecycle.Span
	if c.agent.System().Tracing() != nil {
		of := c.jobSpan(job, c.request)
		span = &of
	}
	deadline := t.until(c.request, c.at.Updated)
	if c.request.ReplyBy().IsZero() && !c.deadline.IsZero() {
		deadline = c.deadline // of the timer that was armed when the request came
	}
	h.ctx, h.cancel = h.scope.work(h, deadline, span)
	return h, nil
}

// Conversation returns the conversation that the job belongs to.
func (h *Handler) Conversation() *Conversation { return h.conversation }

// Message returns the message that the job answers.
func (h *Handler) Message() *performatives.Message { return h.request }

// Label says what the job runs, such as the name of a tool: [lifecycle.JobEnded] has it, and so has
// the span of the job. It has to be one of few texts of the agent's own, and none of a message.
// Only the goroutine of the job may call it.
func (h *Handler) Label(text string) { h.label = text }

// Agent returns the handle of the agent that runs the job.
func (h *Handler) Agent() actors.Self { return h.conversation.agent }

// caller names the handler.
func (h *Handler) caller() actors.Caller { return h.conversation.CallerFor(h.job) }

// Caller names this side, and the latest job of a responder. Safe for concurrent use.
func (c *Conversation) Caller() actors.Caller {
	c.progress.mu.Lock()
	work := c.progress.work
	c.progress.mu.Unlock()
	if work == nil {
		return c.CallerFor("")
	}
	work.mu.Lock()
	defer work.mu.Unlock()
	return work.handler.caller()
}

// CallerFor names a job of this side. Safe for concurrent use.
func (c *Conversation) CallerFor(job string) actors.Caller {
	return actors.Caller{Agent: c.agent, Protocol: c.Protocol(), Job: job, Conversation: c.key.ID, Peer: c.key.Peer}
}

// admitted is a handler as work of the node.
type admitted Handler

// Run calls the agent's code. It recovers a panic and publishes it. The conversation gets a last
// command also after a panic and after runtime.Goexit.
func (a *admitted) Run() {
	h := (*Handler)(a)
	last := Command{standard.CommandFail, performatives.Failure{ErrorCode: performatives.CodeInternal, ErrorText: "the handler panicked"}}
	returned := false
	defer func() {
		if v := recover(); !returned {
			h.failed(panicOf(v, debug.Stack()))
		}
		h.finish(last)
	}()
	last = h.do(h.ctx, h)
	returned = true
}

// Left gives the last command of a handler whose context has ended while it was queued.
func (a *admitted) Left() {
	h := (*Handler)(a)
	h.finish(Command{standard.CommandFail, FailureOf(context.Cause(h.ctx))})
}

// finish ends the children that the handler has not waited for, and sends the last command to the
// conversation: FAILURE after a shortfall of the budget, and for an error after an operator has
// stopped the work. It releases the slot before: a peer that gets the answer may send its next
// request at once.
func (h *Handler) finish(last Command) {
	h.cancel(ErrEnded)
	stopped := h.scope.close(h.conversation.agent)
	if err := h.scope.account.shortfall(); err != nil {
		last = Command{standard.CommandFail, FailureOf(err)}
	}
	h.mu.Lock()
	h.returned = true
	if h.overdue != nil {
		h.overdue()
	}
	failure, operator := h.failure, h.stopped != nil
	h.mu.Unlock()
	if operator && codeOf(last.Data) != "" {
		if cause := h.Cause(); errors.Is(cause, ErrOperator) {
			last = Command{standard.CommandFail, operatorFailure(stoppedCode(stopped), cause)}
		}
	}
	if h.hold == nil || !h.hold(h, last.Name) {
		h.slot.release()
	}
	c := h.conversation
	c.publishJob(h.job, h.label, h.request, h.began, last, failure)
	c.actor.Tell(&command{Command: last, band: c.priority, final: true, unstopped: !stopped}) // without the lock: a dispatcher may take its time
	h.mu.Lock()
	h.told = true // a stop that has come since the command was told is behind it, too
	cause := h.stopped
	h.mu.Unlock()
	if cause != nil { // also after a last command by which it does not end
		c.Do(func() { c.stopNow(cause) })
	}
}

// Say sends a command of a job that goes on to the conversation. It blocks while 16 earlier
// commands are not handled, until the handler's context ends. The error is the cause of that end:
// [ErrCanceled], [ErrDeadline], [ErrTimer], [ErrOperator], [ErrEnded] or a shortfall of the budget.
func (h *Handler) Say(m Command) error {
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
	c.actor.Tell(&command{Command: m, band: c.priority, by: h})
	return nil
}

// Agree says that the request is taken on and takes a while, by [standard.CommandAgree]. Its error
// is that of Say.
func (h *Handler) Agree() error { return h.Say(Command{Name: standard.CommandAgree}) }

// room returns the channel with a token for each command that is not handled yet.
func (h *Handler) room() chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.underWay == nil {
		h.underWay = make(chan struct{}, maxCommandsUnderWay)
	}
	return h.underWay
}

// handled removes the token of a handled command.
func (h *Handler) handled() { <-h.room() }

// Done is closed when the handler's context has ended.
func (h *Handler) Done() <-chan struct{} { return h.ctx.Done() }

// Cause returns the cause of the end of the handler's context, nil before its end.
func (h *Handler) Cause() error { return context.Cause(h.ctx) }

// expire ends the handler's context. A handler that has not returned after the grace is
// published as abandoned.
func (h *Handler) expire(grace time.Duration) {
	h.cancel(ErrEnded)
	h.mu.Lock()
	if h.overdue != nil {
		h.overdue()
	}
	if h.returned {
		h.mu.Unlock()
		return
	}
	system := h.conversation.agent.System()
	forget, stop := system.Outlive(h.caller()), func() bool { return false }
	if grace > 0 {
		stop = system.AfterFunc(grace, func() { h.expire(0) })
	}
	h.overdue = func() bool { forget(); return stop() }
	h.mu.Unlock()
	if grace <= 0 {
		h.abandoned()
	}
}

// abandoned logs and publishes that the handler still runs.
func (h *Handler) abandoned() {
	c := h.conversation
	failureLogger(c.job(h.job), c.agent).Warn("handler still runs", "after", time.Since(h.began))
	if stream := &c.agent.System().Events; events.Wants[events.WorkAbandoned](stream) {
		stream.Publish(events.WorkAbandoned{At: events.At{Time: time.Now()}, Agent: c.agent.ID(), Conversation: c.key.ID})
	}
}

// Panicked logs and publishes a panic in code of the agent or the caller. job is the name of the
// job in the table, empty for code that is no job. v is the value of recover, nil when the code
// ended its goroutine. Safe for concurrent use.
func (c *Conversation) Panicked(job string, v any, stack []byte) {
	c.failed(lifecycle.JobFailed{Job: job, Err: panicOf(v, stack)})
}

// panicOf returns the error of a panic. v is nil after runtime.Goexit.
func panicOf(v any, stack []byte) error {
	return &actors.PanicError{Value: cmp.Or[any](v, "the handler ended its goroutine"), Stack: stack}
}

// failed completes a failure, and logs and publishes it.
func (c *Conversation) failed(j lifecycle.JobFailed) {
	of := c.job(j.Job)
	of.After, of.Err = j.After, j.Err
	reportFailure(of, c.agent)
}

// job returns a failure of a job without its error.
func (c *Conversation) job(name string) lifecycle.JobFailed {
	return lifecycle.JobFailed{Job: name, Peer: c.key.Peer, Conversation: c.key.ID, Protocol: c.machine.Name()}
}

// reportFailure completes a failure of code of an agent, and logs and publishes it.
func reportFailure(j lifecycle.JobFailed, agent actors.Self) {
	j.Time, j.Agent = time.Now(), agent.ID()
	log := failureLogger(j, agent)
	if p, is := errors.AsType[*actors.PanicError](j.Err); is {
		j.Stack = p.Stack
		log.Error("handler panicked", "err", j.Err, "stack", string(j.Stack))
	} else {
		log.Warn("handler failed", "after", j.After, "err", j.Err)
	}
	if stream := &agent.System().Events; events.Wants[lifecycle.JobFailed](stream) {
		stream.Publish(j)
	}
}

// failureLogger returns a logger for lines about the job.
func failureLogger(j lifecycle.JobFailed, agent actors.Self) *slog.Logger {
	return agent.Logger().With("protocol", j.Protocol, "job", j.Job, "conversation", string(j.Conversation), "peer", string(j.Peer))
}

// failed is [Conversation.failed] for a failure of the handler's job.
func (h *Handler) failed(err error) {
	h.mu.Lock()
	h.failure = err
	h.mu.Unlock()
	h.conversation.failed(lifecycle.JobFailed{Job: h.job, After: time.Since(h.began), Err: err})
}

// Failed logs and publishes the error of a job, because the peer gets only a code of it. It
// ignores an error that the end of the handler's context has caused, such as a CANCEL. A refusal
// by the agent itself is no failure: it is logged at debug with its code. It is an error with a
// [*performatives.Refusal] that is not the outcome of a conversation of the job ([*EndError]).
func (h *Handler) Failed(err error) {
	if endedBy(h.ctx, err) {
		return
	}
	r := ownRefusal(err)
	if r == nil {
		h.failed(err)
		return
	}
	c := h.conversation
	if c.agent.System().Logger().Enabled(h.ctx, slog.LevelDebug) {
		failureLogger(c.job(h.job), c.agent).Debug("handler refused", "code", r.Code, "err", err)
	}
}

// endedBy reports whether the end of the work's context has caused an error, and not its deadline.
func endedBy(ctx context.Context, err error) bool {
	ends := []error{ErrCanceled, ErrOperator, ErrTimer, ErrPeerLost, ErrMisread, ErrEnded}
	return errors.Is(err, context.Canceled) && ctx.Err() != nil || slices.ContainsFunc(ends, func(end error) bool { return errors.Is(err, end) })
}

// ownRefusal returns the refusal of an error with which code of an agent turns its own request
// down. It returns nil for any other error: a refusal by another agent, which is the outcome of a
// conversation of the job, and that of an invalid answer.
func ownRefusal(err error) *performatives.Refusal {
	if _, ended := errors.AsType[*EndError](err); ended || errors.Is(err, ErrInvalidAnswer) {
		return nil
	}
	return performatives.RefusalOf(err)
}

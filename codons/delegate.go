package codons

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Delegate asks an agent to perform a task and waits for its end: the result,
// which may be that the answer is no ([performatives.StatusFailure]), or an error.
//
// ctx's deadline, or else [DefaultDeadline], is the task's ReplyBy. When ctx is
// cancelled, the worker gets CANCEL, and Delegate returns once the worker has said
// that it stopped, at the latest after [WithGrace]. When ctx has ended already,
// nothing is sent.
//
// The error is an [*EndError], or that of [StartDelegation]. errors.Is finds in it
// the code that the worker gave ([performatives.CodeBusy], …), and
// context.DeadlineExceeded or context.Canceled. It must not be called on an agent's
// own actor, which would wait for itself.
func Delegate(ctx context.Context, p Party, to performatives.AgentID, task performatives.TaskRequest, opts ...DelegateOption) (performatives.InformResult, error) {
	d, err := StartDelegation(ctx, p, to, task, opts...)
	if err != nil {
		return performatives.InformResult{}, err
	}
	return d.Wait()
}

// StartDelegation is [Delegate] without the wait. As with Delegate, the end of ctx
// cancels the task. The error is a [*performatives.Refusal] that says what is wrong
// with the task, [actors.ErrStopped] or [actors.ErrMailboxFull] when the party
// cannot take it on, or an [*EndError] when ctx has ended already.
func StartDelegation(ctx context.Context, p Party, to performatives.AgentID, task performatives.TaskRequest, opts ...DelegateOption) (*Delegated, error) {
	o := delegateOptions{grace: 2 * DefaultGrace, retry: DefaultRetry}
	for _, opt := range opts {
		opt(&o)
	}
	self := p.Self()
	request, err := newRequest(o.envelope(ctx, self, to, task))
	if err != nil {
		return nil, err
	}
	d := &Delegated{options: o, request: request, done: make(chan struct{})}
	d.conversation = newAsking(self, delegation, request, (*askScript)(d))
	if err := d.conversation.begin(ctx); err != nil {
		return nil, err
	}
	return d, nil
}

// newRequest makes the opening act of a conversation between two.
func newRequest(e performatives.Envelope) (*performatives.Message, error) {
	if e.Receiver == "" {
		return nil, &performatives.Refusal{
			Code: performatives.CodeInvalidPayload, About: e.ID, Field: "receiver",
			Text: "receiver: want the id of an agent, got nothing",
		}
	}
	return performatives.New(e)
}

// DelegateOption changes one thing about a delegation.
type DelegateOption func(*delegateOptions)

type delegateOptions struct {
	priority     performatives.Priority
	ontology     string
	trace        string
	conversation performatives.ConversationID
	grace, retry time.Duration
	onAccept     func(performatives.TaskAccept)
	onProgress   func(performatives.StatusUpdate)
	onInput      func(context.Context, performatives.InformResult) (performatives.TaskRequest, bool)
}

// WithPriority gives the task, and all that is said about it, a band.
func WithPriority(p performatives.Priority) DelegateOption {
	return func(o *delegateOptions) { o.priority = p }
}

// WithOntology says in which vocabulary the task is written.
func WithOntology(ontology string) DelegateOption {
	return func(o *delegateOptions) { o.ontology = ontology }
}

// WithTrace gives the conversation a W3C traceparent.
func WithTrace(traceparent string) DelegateOption {
	return func(o *delegateOptions) { o.trace = traceparent }
}

// WithConversation names the conversation. It ends at once with
// [actors.ErrConversationExists] when one of that name is under way between the two
// agents; one that has ended may be followed by another. Without it, the
// conversation is named after its first message.
func WithConversation(id performatives.ConversationID) DelegateOption {
	return func(o *delegateOptions) { o.conversation = id }
}

// WithGrace says how long to wait, after CANCEL, for the worker to say that it has
// stopped. Zero or less is not at all; without it, the time is twice
// [DefaultGrace], so that a worker whose handler does not stop can still say so.
func WithGrace(d time.Duration) DelegateOption { return func(o *delegateOptions) { o.grace = d } }

// WithRetry says how long an unanswered request waits before it is sent again; it
// is recognised as the same one. Each further wait is twice as long. Zero or less
// is for ever; without it, the time is [DefaultRetry].
func WithRetry(d time.Duration) DelegateOption { return func(o *delegateOptions) { o.retry = d } }

// WithAccepted has fn called when the task is accepted, in each round. fn must not
// block, nor wait for the delegation; its panic ends the conversation.
func WithAccepted(fn func(performatives.TaskAccept)) DelegateOption {
	return func(o *delegateOptions) { o.onAccept = fn }
}

// WithProgress has fn called with each report, in order and one at a time. fn must
// not block, nor wait for the delegation; its panic ends the conversation.
func WithProgress(fn func(performatives.StatusUpdate)) DelegateOption {
	return func(o *delegateOptions) { o.onProgress = fn }
}

// WithInput has fn called with a partial result whose RequestForUser is not empty.
// It returns the task for a further round of the same conversation, or false to
// leave it at that result, which is also what happens without this option. It may
// take its time: it runs on a goroutine of its own, and ctx ends with the
// conversation. An invalid task, or a panic, leaves it at that result too.
func WithInput(fn func(ctx context.Context, r performatives.InformResult) (performatives.TaskRequest, bool)) DelegateOption {
	return func(o *delegateOptions) { o.onInput = fn }
}

func (o *delegateOptions) envelope(ctx context.Context, self actors.Self, to performatives.AgentID, task performatives.TaskRequest) performatives.Envelope {
	stamp := self.Stamp()
	by, ok := ctx.Deadline()
	if !ok {
		by = stamp.Time.Add(DefaultDeadline)
	}
	return performatives.Envelope{
		ID: stamp.ID, Timestamp: stamp.Time, Sender: self.ID(), Receiver: to,
		ConversationID: o.conversation, Protocol: delegation.Name(), ReplyWith: string(stamp.ID), ReplyBy: by,
		Language: performatives.LanguageJSON, Ontology: o.ontology, Priority: o.priority, Trace: o.trace, Payload: task,
	}
}

// Delegated is a task that was delegated. All its methods may be called from any
// goroutine.
type Delegated struct {
	conversation *conversation
	options      delegateOptions
	request      *performatives.Message

	// Touched on the conversation's actor, and read once done is closed.
	retries  int
	partial  *performatives.InformResult // the latest that asked for input
	endInput context.CancelFunc
	result   performatives.InformResult
	err      error
	done     chan struct{}
}

// Conversation returns the id of the conversation.
func (d *Delegated) Conversation() performatives.ConversationID { return d.request.ConversationID() }

// Done is closed when the delegation has ended.
func (d *Delegated) Done() <-chan struct{} { return d.done }

// Wait returns the end of the delegation, as [Delegate] does.
func (d *Delegated) Wait() (performatives.InformResult, error) {
	<-d.done
	return d.result, d.err
}

// Cancel sends CANCEL. The delegation ends with the worker's receipt, or with a
// result that was faster, or once the grace has passed. It does not wait for that.
// Cancelling again, or what has ended, does nothing.
func (d *Delegated) Cancel() { d.conversation.withdraw(context.Canceled) }

// askScript is a [Delegated] as the initiator's side of the table sees it.
type askScript Delegated

func (s *askScript) abandoned(c *conversation, cause error) {
	s.err = c.abandonError(cause)
	close(s.done)
}

func (s *askScript) run(*conversation, string) {}

func (s *askScript) stop(*conversation, string) {}

func (s *askScript) payload(_ *conversation, e machine.Effect, data any) any {
	s.retries = 0 // they are counted of each message
	if e.Act == performatives.ActCancel {
		return performatives.Cancel{Reason: s.reason()}
	}
	return data
}

func (s *askScript) reason() string {
	if s.partial != nil {
		return "the partial result will do"
	}
	return "the asker no longer wants the result"
}

func (s *askScript) report(c *conversation, what string, m *performatives.Message) {
	switch what {
	case reportAccepted:
		tell(s.options.onAccept, m)
	case reportProgress:
		tell(s.options.onProgress, m)
	case reportInput:
		if r, err := performatives.PayloadAs[performatives.InformResult](m); err == nil {
			s.partial = &r
			s.askForInput(c, r)
		}
	}
}

// tell calls fn, if there is one, with m's content. A content that is none is no
// news.
func tell[T any](fn func(T), m *performatives.Message) {
	if fn == nil {
		return
	}
	if p, err := performatives.PayloadAs[T](m); err == nil {
		fn(p)
	}
}

// askForInput gets the task of a further round from the caller, if it has one.
func (s *askScript) askForInput(c *conversation, r performatives.InformResult) {
	if s.options.onInput == nil {
		c.happen(happening{on: machine.Command(commandDecline)})
		return
	}
	ctx, cancel := context.WithDeadlineCause(context.Background(), s.request.ReplyBy(), ErrDeadline) //nolint:forbidigo // the conversation owns it
	s.endInput = cancel
	c.self.System().Work(func() {
		defer cancel()
		name, data := commandDecline, any(nil)
		returned := false
		defer func() { // also when onInput panics or calls runtime.Goexit
			if v := recover(); v != nil || !returned {
				c.panicked(v, debug.Stack())
			}
			c.tell(name, data)
		}()
		name, data = s.input(ctx, c, r)
		returned = true
	})
}

// input asks the caller for the task of a further round.
func (s *askScript) input(ctx context.Context, c *conversation, r performatives.InformResult) (string, any) {
	task, ok := s.options.onInput(ctx, r)
	if !ok || ctx.Err() != nil { // at the deadline the partial result is better than a rejection
		return commandDecline, nil
	}
	if err := task.Validate(); err != nil {
		c.self.Logger().Error("the task of the further round is not valid", "conversation", string(c.key.ID), "err", err)
		return commandDecline, nil
	}
	return commandAnswer, task
}

func (s *askScript) timer(c *conversation, name string) time.Duration {
	switch name {
	case timerGrace:
		return s.options.grace
	case timerRetry:
		s.retries++
		return backoff(s.retryAfter(c.state.State), s.retries)
	}
	return time.Until(s.request.ReplyBy())
}

// retryAfter is when a message is sent again for the first time. A CANCEL has only
// the grace for that.
func (s *askScript) retryAfter(in machine.State) time.Duration {
	if in == stateCancelling && s.options.retry > 0 {
		return min(s.options.retry, s.options.grace/4)
	}
	return s.options.retry
}

// backoff is the wait before the n-th retry.
func backoff(first time.Duration, n int) time.Duration {
	wait := first << min(n-1, 16)
	if wait <= 0 { // none, or more than a duration can say
		return never
	}
	return wait
}

func (s *askScript) tag(m *performatives.Message) string {
	if m.Performative() != performatives.ActInformResult {
		return ""
	}
	if r, err := performatives.PayloadAs[performatives.InformResult](m); err == nil && r.RequestForUser() != "" {
		return tagInput
	}
	return ""
}

func (s *askScript) ended(c *conversation, last *performatives.Message) {
	if s.endInput != nil {
		s.endInput()
	}
	s.result, s.err = s.end(c, last)
	close(s.done)
}

func (s *askScript) end(c *conversation, last *performatives.Message) (performatives.InformResult, error) {
	if c.state.State != stateCompleted {
		return performatives.InformResult{}, c.endError(last)
	}
	if last == nil || last.Performative() != performatives.ActInformResult {
		return *s.partial, nil // the partial result stands: the table completes without a last word only then
	}
	r, err := performatives.PayloadAs[performatives.InformResult](last)
	if err != nil {
		return r, c.unreadable(err)
	}
	return r, nil
}

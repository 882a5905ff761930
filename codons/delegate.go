package codons

import (
	"context"
	"runtime/debug"

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
// with the task, or with [performatives.CodeBudget] what is missing for it,
// [actors.ErrStopped] or [actors.ErrMailboxFull] when the party cannot take it on, or
// an [*EndError] when ctx has ended already. It is [ErrEnded] when ctx is that of a
// handler that has returned, and [ErrDeciding] when it is that of a decision.
func StartDelegation(ctx context.Context, p Party, to performatives.AgentID, task performatives.TaskRequest, opts ...DelegateOption) (*Delegated, error) {
	d, err := newDelegation(ctx, p, to, task, opts)
	if err != nil {
		return nil, err
	}
	if err := d.begin(ctx, p.Self(), delegation, d); err != nil {
		return nil, err
	}
	return d, nil
}

// newDelegation makes a delegation that has not begun.
func newDelegation(ctx context.Context, p Party, to performatives.AgentID, task performatives.TaskRequest, opts []DelegateOption) (*Delegated, error) {
	d := &Delegated{with: delegateOptions{options: defaultOptions()}}
	for _, opt := range opts {
		opt.delegate(&d.with)
	}
	d.options, d.values = d.with.options, context.WithoutCancel(ctx)
	if from := d.with.inputFrom; from != "" {
		d.with.onInput = passOn(p, to, from, task)
	}
	err := d.prepare(ctx, p.Self(), delegation, to, performatives.ActTaskRequest, task)
	return d, err
}

// DelegateOption changes one thing about a delegation: any [Option] does, and so do
// [WithAccepted], [WithProgress] and [WithInput].
type DelegateOption interface{ delegate(*delegateOptions) }

// delegate applies an option of any codon.
func (o Option) delegate(d *delegateOptions) { o(&d.options) }

// delegateOption is an option of this codon only.
type delegateOption func(*delegateOptions)

func (o delegateOption) delegate(d *delegateOptions) { o(d) }

type delegateOptions struct {
	options
	onAccept   func(performatives.TaskAccept)
	onProgress func(performatives.StatusUpdate)
	onInput    func(context.Context, performatives.InformResult) (performatives.TaskRequest, bool)
	inputFrom  performatives.AgentID
	repeatable bool
}

// WithAccepted has fn called when the task is accepted, in each round. fn must not
// block, nor wait for the delegation; its panic ends the conversation.
func WithAccepted(fn func(performatives.TaskAccept)) DelegateOption {
	return delegateOption(func(o *delegateOptions) { o.onAccept = fn })
}

// WithProgress has fn called with each report, in order and one at a time. fn must
// not block, nor wait for the delegation; its panic ends the conversation.
func WithProgress(fn func(performatives.StatusUpdate)) DelegateOption {
	return delegateOption(func(o *delegateOptions) { o.onProgress = fn })
}

// WithInput has fn called with a partial result whose RequestForUser is not empty.
// It returns the task for a further round of the same conversation, or false to
// leave it at that result, which is also what happens without this option. It may
// take its time: it runs on a goroutine of its own, and ctx ends with the
// conversation. What it begins with ctx belongs to what this delegation belongs to. An invalid task, or a panic, leaves it at that result too.
func WithInput(fn func(ctx context.Context, r performatives.InformResult) (performatives.TaskRequest, bool)) DelegateOption {
	return delegateOption(func(o *delegateOptions) { o.onInput = fn })
}

// Delegated is a task that was delegated. All its methods may be called from any
// goroutine.
type Delegated struct {
	asker
	with   delegateOptions
	values context.Context //nolint:containedctx // the caller's, without its end: what is begun for an answer belongs to the same work

	// Touched on the conversation's actor, and read once done is closed.
	partial  *performatives.InformResult // the latest that asked for input
	endInput context.CancelFunc
	result   performatives.InformResult
	given    bool // what the partial result asked for
	unserved error
}

// Wait returns the end of the delegation, as [Delegate] does.
func (d *Delegated) Wait() (performatives.InformResult, error) {
	d.await()
	return d.result, d.err
}

// Unserved returns, once the delegation has ended with a partial result although the
// caller had given what that asks for, or was about to, why the worker did not go on;
// nil after any other end.
func (d *Delegated) Unserved() error {
	d.await()
	return d.unserved
}

func (d *Delegated) payload(c *conversation, e machine.Effect, data any) any {
	if e.Act == performatives.ActCancel && d.partial != nil {
		data = performatives.Cancel{Reason: "the partial result will do"}
	}
	d.given = e.Act == performatives.ActTaskRequest && d.partial != nil
	return d.asker.payload(c, e, data)
}

func (d *Delegated) report(c *conversation, what string, m *performatives.Message) {
	switch what {
	case reportAccepted:
		tell(d.with.onAccept, m)
	case reportProgress:
		tell(d.with.onProgress, m)
	case reportInput:
		if r, err := performatives.PayloadAs[performatives.InformResult](m); err == nil {
			d.partial = &r
			d.askForInput(c, r)
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
func (d *Delegated) askForInput(c *conversation, r performatives.InformResult) {
	if d.with.onInput == nil {
		c.happen(happening{on: machine.Command(commandDecline)})
		return
	}
	ctx, cancel := context.WithDeadlineCause(d.values, d.request.ReplyBy(), ErrDeadline)
	d.endInput = cancel
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
		name, data = d.input(ctx, c, r)
		returned = true
	})
}

// input asks the caller for the task of a further round.
func (d *Delegated) input(ctx context.Context, c *conversation, r performatives.InformResult) (string, any) {
	task, ok := d.with.onInput(ctx, r)
	if !ok || ctx.Err() != nil { // at the deadline the partial result is better than a rejection
		return commandDecline, nil
	}
	if err := task.Validate(); err != nil {
		c.self.Logger().Error("the task of the further round is not valid", "conversation", string(c.key.ID), "err", err)
		return commandDecline, nil
	}
	return commandAnswer, task
}

func (d *Delegated) tag(m *performatives.Message) string {
	if m.Performative() != performatives.ActInformResult {
		return ""
	}
	if r, err := performatives.PayloadAs[performatives.InformResult](m); err == nil && r.RequestForUser() != "" {
		return tagInput
	}
	return ""
}

func (d *Delegated) ended(c *conversation, last *performatives.Message) {
	if d.endInput != nil {
		d.endInput()
	}
	d.result, d.err = d.end(c, last)
	close(d.done)
}

func (d *Delegated) end(c *conversation, last *performatives.Message) (performatives.InformResult, error) {
	if c.state.State != stateCompleted {
		return performatives.InformResult{}, c.endError(last)
	}
	if last == nil || last.Performative() != performatives.ActInformResult {
		d.unserved = d.turnedDown(c, last)
		return *d.partial, nil // it stands: the table completes without a result only then
	}
	r, err := performatives.PayloadAs[performatives.InformResult](last)
	if err != nil {
		return r, c.unreadable(err)
	}
	return r, nil
}

// turnedDown is why the further round was not served, if there was to be one.
func (d *Delegated) turnedDown(c *conversation, last *performatives.Message) error {
	switch {
	case last != nil:
		return c.endError(last)
	case d.given:
		return &EndError{
			Protocol: c.machine.Name(), Peer: c.peer, State: c.state.State,
			Refusal: performatives.Refusal{Code: performatives.CodeTimeout, From: c.peer}, cause: context.DeadlineExceeded,
		}
	}
	return nil
}

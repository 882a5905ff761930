package delegation

import (
	"context"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Delegate has an agent perform a task and waits for the end of the conversation. It returns
// the result, which may be partial or a failure ([performatives.StatusFailure]), or an error.
//
// The deadline of ctx is the task's ReplyBy; without one it is [codons.DefaultDeadline] from
// now. When ctx is cancelled, the worker gets CANCEL, and Delegate returns once the worker has
// confirmed that the work stopped, at the latest after [codons.WithGrace]. When ctx has ended
// before the call, nothing is sent.
//
// The error is an [*codons.EndError], or one of those of [Start]. errors.Is finds in an
// EndError the code that the worker gave, such as [performatives.CodeBusy], and
// context.DeadlineExceeded or context.Canceled. Delegate must not be called on an agent's own
// actor: the actor would wait for itself.
func Delegate(ctx context.Context, p codons.Party, to performatives.AgentID, task performatives.TaskRequest, opts ...codons.Option) (performatives.InformResult, error) {
	o := codons.NewOptions(opts...)
	return codons.AgainIfBusy(ctx, p, &o, func(ctx context.Context) (performatives.InformResult, error) {
		d, err := Start(ctx, p, to, task, opts...)
		if err != nil {
			return performatives.InformResult{}, err
		}
		return d.Wait()
	})
}

// Start begins a delegation as [Delegate] does, and returns without waiting for its end. The
// end of ctx cancels the task. The error is one of
//
//   - a [*performatives.Refusal] that names the invalid field of the task, or has
//     [performatives.CodeBudget] when the budget does not suffice;
//   - [actors.ErrStopped] or [actors.ErrMailboxFull] when the party cannot begin a conversation;
//   - an [*codons.EndError] when ctx has ended;
//   - [codons.ErrEnded] when ctx belongs to a handler that has returned;
//   - [codons.ErrDeciding] when ctx belongs to a decision about a request.
func Start(ctx context.Context, p codons.Party, to performatives.AgentID, task performatives.TaskRequest, opts ...codons.Option) (*Delegated, error) {
	i, err := New(ctx, p, to, task, opts)
	if err != nil {
		return nil, err
	}
	if err := i.Begin(ctx, p.Self(), i); err != nil {
		return nil, err
	}
	return &i.Delegated, nil
}

// Delegated is the caller's handle of a delegation. All its methods may be called from any
// goroutine.
type Delegated struct {
	codons.Handle
	side *Initiator
}

// Wait waits for the end of the delegation and returns what [Delegate] returns.
func (d *Delegated) Wait() (performatives.InformResult, error) {
	d.side.Await()
	return d.side.result, d.side.Err()
}

// Unserved waits for the end of the delegation. When the result is a partial one although the
// caller had an answer to the worker's question, or was about to give one, Unserved returns the
// reason why the worker did not continue. It returns nil after any other end.
func (d *Delegated) Unserved() error {
	d.side.Await()
	return d.side.unserved
}

// Settings are the options of a delegation. They are exported for the codons that are built on
// this one; callers use [WithAccepted], [WithProgress], [WithInput] and [WithInputFrom].
type Settings struct {
	// OnAccept is the function of [WithAccepted]; nil for none.
	OnAccept func(performatives.TaskAccept)
	// OnProgress is the function of [WithProgress]; nil for none.
	OnProgress func(performatives.StatusUpdate)

	onInput   func(context.Context, performatives.InformResult) (performatives.TaskRequest, bool)
	inputFrom performatives.AgentID
}

// WithAccepted has fn called with each TASK_ACCEPT: once in each round, or not at all where
// the acceptance is lost. fn must not block and must not wait for the delegation. A panic of fn
// ends the conversation.
func WithAccepted(fn func(performatives.TaskAccept)) codons.Option {
	return codons.Setting(func(o *Settings) { o.OnAccept = fn })
}

// WithProgress has fn called with each progress report, in order and one at a time. fn must
// not block and must not wait for the delegation. A panic of fn ends the conversation.
func WithProgress(fn func(performatives.StatusUpdate)) codons.Option {
	return codons.Setting(func(o *Settings) { o.OnProgress = fn })
}

// WithInput has fn called with each partial result whose RequestForUser is not empty. fn
// returns the task of a further round of the same conversation, or false to make the partial
// result final. Without this option each partial result is final.
//
// fn runs on a goroutine of its own and may block. ctx ends with the conversation, and a
// conversation that fn begins with ctx is a child of the same scope as the delegation. An
// invalid task and a panic of fn make the partial result final.
func WithInput(fn func(ctx context.Context, r performatives.InformResult) (performatives.TaskRequest, bool)) codons.Option {
	return codons.Setting(func(o *Settings) { o.onInput = fn })
}

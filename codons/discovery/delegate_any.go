package discovery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/performatives"
)

// DelegateToAny delegates a task to the first of several agents that accepts it. It asks them in
// order:
//
//   - Each agent has an equal share of the time left to accept. An agent that rejects the
//     task, is busy, does not understand it, or does not accept in its share is followed by
//     the next. In the last case the task is cancelled and its end awaited first.
//   - An agent that has accepted has all the time left. Its failure is the result: a second
//     agent could repeat work that the first has done in part.
//   - With [SafeToRepeat], the share is for the whole task, and a failure is followed by the
//     next agent, too.
//
// The deadline is ctx's, or else [codons.DefaultDeadline]. When ctx is cancelled, the agent
// at work gets CANCEL, and no further agent is asked. In a conversation with a budget, an
// agent that does not report its usage may have used all that it was lent: limit it by
// [codons.WithBudget] to keep a part for the next agents. The error is a [*NoAgentError], or
// says why the task is not valid or p cannot begin. DelegateToAny must not be called on
// an agent's own actor.
func DelegateToAny(ctx context.Context, p codons.Party, to []performatives.AgentID, task performatives.TaskRequest, opts ...codons.Option) (Found, error) {
	ctx, done := bounded(ctx)
	defer done()
	var found Found
	for i, id := range to {
		t := attempt{share: share(ctx, len(to)-i)}
		result, err := t.delegate(ctx, p, id, task, opts)
		if err == nil {
			found.Agent, found.Result = id, result
			return found, nil
		}
		var end *codons.EndError
		if !errors.As(err, &end) {
			return found, err // the task is not valid, or p cannot begin
		}
		found.Earlier = append(found.Earlier, Attempt{id, err})
		if ctx.Err() != nil || !t.mayFollow(end) {
			break
		}
	}
	return Found{}, &NoAgentError{task.TaskType, found.Earlier}
}

// Found is the result of a task that one of several agents has performed.
type Found struct {
	Agent   performatives.AgentID // the agent that performed the task
	Result  performatives.InformResult
	Earlier []Attempt // the agents that were asked before, in order
}

// Attempt is an agent that was asked to perform a task and did not.
type Attempt struct {
	Agent performatives.AgentID
	Err   error // an [*codons.EndError]
}

// NoAgentError is the error of a task that no agent performed. errors.Is and errors.As search
// the errors of all attempts.
type NoAgentError struct {
	Task     string    // the type of the task
	Attempts []Attempt // in the order in which the agents were asked; empty when there was no candidate
}

// Error contains the error of each attempt.
func (e *NoAgentError) Error() string {
	if len(e.Attempts) == 0 {
		return fmt.Sprintf("discovery: no agent to perform %s", e.Task)
	}
	reasons := make([]string, len(e.Attempts))
	for i, a := range e.Attempts {
		reasons[i] = a.Err.Error()
	}
	return fmt.Sprintf("discovery: no agent performed %s: %s", e.Task, strings.Join(reasons, "; "))
}

// Unwrap returns the errors of the attempts.
func (e *NoAgentError) Unwrap() []error {
	errs := make([]error, len(e.Attempts))
	for i, a := range e.Attempts {
		errs[i] = a.Err
	}
	return errs
}

// SafeToRepeat declares that the task may be performed more than once, or in part by one
// agent and in full by another: see [DelegateToAny]. Other codons refuse the option.
func SafeToRepeat() codons.Option {
	return codons.Setting(func(o *settings) { o.repeatable = true })
}

// settings are the options of a [DelegateToAny].
type settings struct{ repeatable bool }

// forDelegation returns the options without those of this codon.
func forDelegation(opts []codons.Option) []codons.Option {
	return append(slices.Clone(opts), func(o *codons.Options) { codons.Settings[settings](o) })
}

// bounded returns ctx with a deadline: its own, or the default.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, codons.DefaultDeadline)
}

// share returns one of n equal parts of the time left.
func share(ctx context.Context, n int) time.Duration {
	by, _ := ctx.Deadline()
	return time.Until(by) / time.Duration(n)
}

// attempt is the delegation to one agent.
type attempt struct {
	share      time.Duration
	repeatable bool
	accepted   chan struct{} // closed when the agent has accepted the task
}

// delegate holds the conversation with one agent.
func (t *attempt) delegate(ctx context.Context, p codons.Party, to performatives.AgentID, task performatives.TaskRequest, opts []codons.Option) (performatives.InformResult, error) {
	t.accepted = make(chan struct{})
	with := codons.NewOptions(opts...)
	if t.repeatable = codons.Settings[settings](&with).repeatable; t.repeatable {
		var done context.CancelFunc
		ctx, done = context.WithTimeout(ctx, t.share)
		defer done()
	}
	d, err := delegation.Start(ctx, p, to, task, append(forDelegation(opts), codons.Setting(t.observe))...)
	if err != nil {
		return performatives.InformResult{}, err
	}
	return t.await(p.Self(), d)
}

// observe notes the acceptance before the caller's own functions are called. Progress implies
// acceptance.
func (t *attempt) observe(o *delegation.Settings) {
	onAccept, onProgress := o.OnAccept, o.OnProgress
	o.OnAccept = func(a performatives.TaskAccept) {
		t.accept()
		if onAccept != nil {
			onAccept(a)
		}
	}
	o.OnProgress = func(u performatives.StatusUpdate) {
		t.accept()
		if onProgress != nil {
			onProgress(u)
		}
	}
}

// accept notes the acceptance. It runs on the conversation's actor.
func (t *attempt) accept() {
	if !t.isAccepted() {
		close(t.accepted)
	}
}

func (t *attempt) isAccepted() bool {
	select {
	case <-t.accepted:
		return true
	default:
		return false
	}
}

// await waits for the end, and cancels a task that is not accepted in the share of time.
func (t *attempt) await(self actors.Self, d *delegation.Delegated) (performatives.InformResult, error) {
	if t.repeatable {
		return d.Wait() // the share is the deadline of the conversation
	}
	stop := self.System().AfterFunc(t.share, func() {
		if !t.isAccepted() {
			d.Cancel()
		}
	})
	defer stop()
	return d.Wait()
}

// mayFollow reports whether the task may be delegated to another agent after this end.
func (t *attempt) mayFollow(end *codons.EndError) bool {
	if t.repeatable {
		return true
	}
	switch end.State { //nolint:exhaustive // the states in which the task may not have been accepted
	case codons.StateRejected, codons.StateNotUnderstood:
		return true
	case codons.StateTimedOut, codons.StateCancelled:
		return !t.isAccepted()
	}
	return false
}

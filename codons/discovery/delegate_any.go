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
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
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
	return find(ctx, p, Search{}, to, task, opts)
}

// find runs [FindTable]. It searches for the agents first where s has a directory.
func find(ctx context.Context, p codons.Party, s Search, to []performatives.AgentID, task performatives.TaskRequest, opts []codons.Option) (Found, error) {
	self, err := codons.SelfOf(p)
	if err != nil {
		return Found{}, err
	}
	ctx, done := codons.Bounded(ctx, time.Time{})
	defer done()
	o := codons.NewOptions(opts...)
	d := &delegating{party: p, task: task, opts: forDelegation(opts)}
	d.finding = newFinding(ctx, self, to, jobs{
		asks: commandAsk, delegate: d.delegate, outcome: d.outcome, withdraw: func() { d.cancel() }, share: d.share, grace: o.Grace() + time.Second,
	})
	if d.repeatable = codons.Settings[settings](&o).repeatable; d.repeatable {
		d.finding.asks = commandTry
	}
	first := machine.CommandStart
	if s.Among != nil {
		first = commandSearch
		d.finding.search = func() ([]performatives.AgentID, error) {
			to, err := s.candidates(ctx, p, task)
			d.invalid = err
			return to, err
		}
	}
	return d.result(d.finding.run(first))
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
	Cause    error     // the end of the caller's context, if it came before an agent was asked or its deadline has passed; else nil
}

// Error contains the error of each attempt.
func (e *NoAgentError) Error() string {
	switch {
	case len(e.Attempts) == 0 && e.Cause != nil:
		return fmt.Sprintf("discovery: no agent was asked to perform %s: %v", e.Task, e.Cause)
	case len(e.Attempts) == 0:
		return fmt.Sprintf("discovery: no agent to perform %s", e.Task)
	}
	reasons := make([]string, len(e.Attempts))
	for i, a := range e.Attempts {
		reasons[i] = a.Err.Error()
	}
	return fmt.Sprintf("discovery: no agent performed %s: %s", e.Task, strings.Join(reasons, "; "))
}

// Unwrap returns the errors of the attempts, or the cause.
func (e *NoAgentError) Unwrap() []error {
	errs := make([]error, len(e.Attempts))
	for i, a := range e.Attempts {
		errs[i] = a.Err
	}
	if e.Cause != nil {
		errs = append(errs, e.Cause)
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

// forDelegation returns the options without those of this codon: a delegation refuses options
// that have not been read.
func forDelegation(opts []codons.Option) []codons.Option {
	return append(slices.Clone(opts), func(o *codons.Options) { codons.Settings[settings](o) })
}

// share returns one of n equal parts of the time left.
func share(ctx context.Context, n int) time.Duration {
	by, _ := ctx.Deadline()
	return time.Until(by) / time.Duration(n)
}

// delegating has the jobs of a [FindAndDelegate] or a [DelegateToAny].
type delegating struct {
	finding    *finding
	party      codons.Party
	task       performatives.TaskRequest
	opts       []codons.Option
	repeatable bool

	under   *delegation.Delegated // the delegation that is under way
	cancel  context.CancelFunc    // withdraws it
	found   Found
	invalid error // why the search or a delegation could not begin
}

// share returns an equal part of the time left for the current agent and each after it.
func (d *delegating) share() time.Duration {
	return share(d.finding.ctx, len(d.finding.to)-d.finding.at)
}

// delegate begins the delegation to an agent.
func (d *delegating) delegate(to performatives.AgentID) machine.State {
	ctx := d.finding.ctx
	if d.repeatable {
		ctx, d.cancel = context.WithTimeout(ctx, d.share())
	} else {
		ctx, d.cancel = context.WithCancel(ctx)
	}
	accepted := make(chan struct{}, 1)
	d.finding.accepted = accepted
	under, err := delegation.Start(ctx, d.party, to, d.task, append(slices.Clip(d.opts), observing(accepted))...)
	if err != nil {
		return d.ended(to, err)
	}
	d.under, d.finding.done = under, under.Done()
	return ""
}

// outcome returns the end state of the delegation.
func (d *delegating) outcome(to performatives.AgentID) machine.State {
	result, err := d.under.Wait()
	if err == nil {
		d.found.Agent, d.found.Result = to, result
	}
	return d.ended(to, err)
}

// ended keeps the error of an attempt and returns its end state.
func (d *delegating) ended(to performatives.AgentID, err error) machine.State {
	d.cancel()
	switch {
	case err == nil:
	case errors.As(err, new(*codons.EndError)):
		d.found.Earlier = append(d.found.Earlier, Attempt{to, err})
	default:
		d.invalid = err
		return commandImpossible
	}
	return EndState(err)
}

// result returns the result of a run that ended in a state.
func (d *delegating) result(end machine.State) (Found, error) {
	switch {
	case end == standard.StateCompleted:
		return d.found, nil
	case d.invalid != nil:
		return Found{Earlier: d.found.Earlier}, d.invalid
	}
	none := &NoAgentError{Task: d.task.TaskType, Attempts: d.found.Earlier}
	ctx := d.finding.ctx
	by, _ := ctx.Deadline()
	switch {
	case actors.DeadlinePassed(by, time.Now()): // an attempt may have ended as cancelled
		none.Cause = context.DeadlineExceeded
	case len(none.Attempts) == 0 && ctx.Err() != nil:
		none.Cause = actors.EndOf(ctx)
	}
	return Found{}, none
}

// observing returns the option that notes the acceptance, before the caller's own functions are
// called. Progress implies acceptance.
func observing(accepted chan<- struct{}) codons.Option {
	note := func() {
		select {
		case accepted <- struct{}{}:
		default: // it is noted already
		}
	}
	return codons.Setting(func(o *delegation.Settings) {
		onAccept, onProgress := o.OnAccept, o.OnProgress
		o.OnAccept = func(a performatives.TaskAccept) {
			note()
			if onAccept != nil {
				onAccept(a)
			}
		}
		o.OnProgress = func(u performatives.StatusUpdate) {
			note()
			if onProgress != nil {
				onProgress(u)
			}
		}
	})
}

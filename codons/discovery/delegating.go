package discovery

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

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

package mediation

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Recruitable returns a worker that can be recruited: middleware for [delegation.NewService]. It
// delivers the result of a recruited task, or its failure, to the designated receiver, and
// reports that to the recruiter. Other tasks go to w unchanged.
func Recruitable(w delegation.Worker) delegation.Worker { return recruitable{w} }

type recruitable struct{ delegation.Worker }

// ConsiderTask rejects a task whose result cannot be delivered, and asks the agent about any other.
func (r recruitable) ConsiderTask(ctx context.Context, t delegation.Task) delegation.Decision {
	to, ok, err := deliverTo(t.TaskRequest)
	switch {
	case err != nil:
		return delegation.NotUnderstoodBy(err)
	case ok && to.Receiver.Is(t.Agent.ID()):
		return delegation.Reject(performatives.CodeIncapable, "an agent cannot deliver to itself")
	}
	return r.Worker.ConsiderTask(ctx, t)
}

// PerformTask performs the task and delivers the result, or the failure. A panic of the agent is
// delivered as a failure and then continues.
func (r recruitable) PerformTask(ctx context.Context, t delegation.Task) (result performatives.InformResult, err error) {
	to, ok, err := deliverTo(t.TaskRequest)
	if !ok || err != nil {
		return r.Worker.PerformTask(ctx, t)
	}
	returned := false
	defer func() {
		if !returned { // a panic, which continues after the delivery
			_, _ = deliverResult(ctx, t, to, result, &performatives.Refusal{Code: performatives.CodeInternal})
		}
	}()
	result, err = r.Worker.PerformTask(ctx, t)
	returned = true
	return deliverResult(ctx, t, to, result, err)
}

// deliverResult delivers the result or failure of a task, and returns the result for the
// recruiter: that it was delivered, or why not.
func deliverResult(ctx context.Context, t delegation.Task, to DeliverTo, result performatives.InformResult, err error) (performatives.InformResult, error) {
	if ctx.Err() != nil { // the task was withdrawn, or its deadline has passed
		return result, errors.Join(err, context.Cause(ctx))
	}
	note := deliveryNote{TaskType: t.TaskType}
	if err == nil {
		err = result.Validate()
	}
	if err != nil {
		f := codons.FailureOf(err)
		note.Failure = &f
	}
	o := codons.NewOptions(codons.WithPriority(t.Message.Priority()), codons.WithTrace(t.Message.Trace()))
	if err := deliver(ctx, t.Agent, to, result, note, o); err != nil {
		return performatives.InformResult{}, err
	}
	report := performatives.InformResult{Status: performatives.StatusSuccess, Summary: "delivered"}
	if note.Failure != nil {
		report = performatives.InformResult{Status: performatives.StatusFailure, Summary: note.Failure.ErrorText}
	}
	report.Extra = withMember(report.Extra, memberDelivered, to.Receiver)
	return report, nil
}

// reportsDelivery reports whether a worker's result says that it has delivered to that agent.
func reportsDelivery(r performatives.InformResult, to performatives.AgentID) bool {
	var receiver performatives.AgentID
	raw, ok := r.Extra[memberDelivered]
	return ok && json.Unmarshal(raw, &receiver) == nil && receiver.Is(to)
}

package codons

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/ribosome-agents/ribosome/performatives"
)

// recruitable makes every [Worker] one that can be recruited: what comes of a task
// that says to whom it is to be delivered goes there, and the asker, who is a
// recruiter, is told that it did.
type recruitable struct{ Worker }

// ConsiderTask turns down what could not be delivered, and leaves the rest to the
// agent.
func (r recruitable) ConsiderTask(ctx context.Context, t Task) Decision {
	to, ok, err := deliverTo(t.TaskRequest)
	switch {
	case err != nil:
		return notUnderstood(err)
	case ok && to.Receiver.Is(t.Agent.ID()):
		return Reject(performatives.CodeIncapable, "an agent cannot deliver to itself")
	}
	return r.Worker.ConsiderTask(ctx, t)
}

// PerformTask has the agent perform the task, and delivers the result, or the
// failure, or the panic.
func (r recruitable) PerformTask(ctx context.Context, t Task) (result performatives.InformResult, err error) {
	to, ok := t.DeliverTo()
	if !ok {
		return r.Worker.PerformTask(ctx, t)
	}
	returned := false
	defer func() {
		if !returned { // it panics, and goes on to when this is done
			_, _ = deliverResult(ctx, t, to, result, &performatives.Refusal{Code: performatives.CodeInternal})
		}
	}()
	result, err = r.Worker.PerformTask(ctx, t)
	returned = true
	return deliverResult(ctx, t, to, result, err)
}

// deliverResult delivers what came of a task, and returns what the recruiter is
// told: that it was delivered, or why not.
func deliverResult(ctx context.Context, t Task, to DeliverTo, result performatives.InformResult, err error) (performatives.InformResult, error) {
	if ctx.Err() != nil { // withdrawn, or too late for everyone
		return result, errors.Join(err, context.Cause(ctx))
	}
	note := deliveryNote{TaskType: t.TaskType}
	if err == nil {
		err = result.Validate()
	}
	if err != nil {
		f := failureOf(err)
		note.Failure = &f
	}
	o := defaultOptions()
	o.priority, o.trace = t.Message.Priority(), t.Message.Trace()
	if err := deliver(ctx, t.Agent, to, result, note, o); err != nil {
		return performatives.InformResult{}, err
	}
	told := performatives.InformResult{Status: performatives.StatusSuccess, Summary: "delivered"}
	if note.Failure != nil {
		told = performatives.InformResult{Status: performatives.StatusFailure, Summary: note.Failure.ErrorText}
	}
	told.Extra = with(told.Extra, memberDelivered, to.Receiver)
	return told, nil
}

// delivered reports whether a result says that another was delivered.
func delivered(r performatives.InformResult, to performatives.AgentID) bool {
	var receiver performatives.AgentID
	raw, ok := r.Extra[memberDelivered]
	return ok && json.Unmarshal(raw, &receiver) == nil && receiver.Is(to)
}

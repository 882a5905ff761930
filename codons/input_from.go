package codons

import (
	"context"

	"github.com/ribosome-agents/ribosome/performatives"
)

// WithInputFrom has another agent answer what the worker asks for: each partial result
// whose RequestForUser is not empty is passed on to it by REQUEST ([RequestHandler]),
// with an [InputNeeded] as content, in a conversation that ends with the delegation.
// It answers with an [InputGiven]; that it refuses, fails or does not answer in time
// leaves it at the partial result. The agent may stand for a person.
func WithInputFrom(id performatives.AgentID) DelegateOption {
	return delegateOption(func(o *delegateOptions) { o.inputFrom = id })
}

// InputNeeded is what a worker needs to go on: the content of the REQUEST of
// [WithInputFrom].
type InputNeeded struct {
	Question string                     `json:"question"` // in the worker's words
	Worker   performatives.AgentID      `json:"worker"`
	Task     performatives.TaskRequest  `json:"task"`    // that the worker is at
	Partial  performatives.InformResult `json:"partial"` // what it has so far
}

// InputGiven is the answer to an [InputNeeded]. It becomes the TASK_REQUEST of the
// further round: the task's type, with Text as its description.
type InputGiven struct {
	Text       string                `json:"text"`
	Parameters performatives.Content `json:"parameters,omitzero"` // empty: those of the task
}

// passOn is the input function of [WithInputFrom].
func passOn(p Party, worker, to performatives.AgentID, task performatives.TaskRequest) func(context.Context, performatives.InformResult) (performatives.TaskRequest, bool) {
	return func(ctx context.Context, r performatives.InformResult) (performatives.TaskRequest, bool) {
		given, err := Request[InputGiven](ctx, p, to, InputNeeded{
			Question: r.RequestForUser(), Worker: worker, Task: task, Partial: r,
		})
		if err != nil {
			p.Self().Logger().Info("nobody gave what the worker asked for", "peer", string(to), "err", err)
			return performatives.TaskRequest{}, false
		}
		next := task
		next.Description = given.Text
		if !given.Parameters.IsZero() {
			next.Parameters = given.Parameters
		}
		return next, true
	}
}

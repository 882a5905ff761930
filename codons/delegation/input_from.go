package delegation

import (
	"context"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/request"
	"github.com/ribosome-agents/ribosome/performatives"
)

// WithInputFrom has another agent answer the worker's questions. Each partial result with a
// RequestForUser is sent to that agent as a REQUEST ([request.Handler]) with an [InputNeeded] as
// its content. The agent answers with an [InputGiven]. The agent may stand for a person. When it
// refuses, fails or does not answer in time, the partial result is final. The end of the delegation
// withdraws the REQUEST. WithInputFrom replaces [WithInput].
func WithInputFrom(id performatives.AgentID) codons.Option {
	return codons.Setting(func(o *Settings) { o.inputFrom = id })
}

// InputNeeded is the content of the REQUEST of [WithInputFrom]: the worker's question.
type InputNeeded struct {
	Question string                     `json:"question"` // in the worker's words
	Worker   performatives.AgentID      `json:"worker"`
	Task     performatives.TaskRequest  `json:"task"`    // the task that was delegated
	Partial  performatives.InformResult `json:"partial"` // the worker's result so far
}

// InputGiven is the answer to an [InputNeeded]. It becomes the TASK_REQUEST of the further
// round: the type of the first task, with Text as its description.
type InputGiven struct {
	Text       string                `json:"text"`
	Parameters performatives.Content `json:"parameters,omitzero"` // empty for the parameters of the first task
}

// inputFrom returns the function of [WithInput] that [WithInputFrom] stands for.
func inputFrom(p codons.Party, worker, to performatives.AgentID, task performatives.TaskRequest) func(context.Context, performatives.InformResult) (performatives.TaskRequest, bool) {
	return func(ctx context.Context, r performatives.InformResult) (performatives.TaskRequest, bool) {
		given, err := request.Request[InputGiven](ctx, p, to, InputNeeded{
			Question: r.RequestForUser(), Worker: worker, Task: task, Partial: r,
		})
		if err != nil {
			p.Self().Logger().Info("no input for the worker", "peer", string(to), "err", err)
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

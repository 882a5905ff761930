package delegation

import (
	"context"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Task is a task that a [Worker] was asked to perform.
type Task struct {
	performatives.TaskRequest

	// Message is the TASK_REQUEST, with its sender, its ReplyBy and its ontology.
	Message *performatives.Message
	// Previous are the partial results of the earlier rounds, each of which asked for more.
	// It is empty in the first round.
	Previous []performatives.InformResult
	// Agent is the handle of the agent that performs the task. Conversations for parts of the
	// work begin with it as their party.
	Agent actors.Self

	report func(performatives.StatusUpdate) error
	ask    func(context.Context, performatives.InformResult) (performatives.TaskRequest, error)
}

// newTask reads a request. The functions of the returned task fail with [codons.ErrEnded]; the
// handler of PerformTask replaces them.
func newTask(self actors.Self, m *performatives.Message, previous []performatives.InformResult) (Task, error) {
	req, err := performatives.PayloadAs[performatives.TaskRequest](m)
	if err == nil {
		_, err = codons.BudgetOf(m)
	}
	return Task{
		TaskRequest: req, Message: m, Previous: previous, Agent: self,
		report: func(performatives.StatusUpdate) error { return codons.ErrEnded },
		ask: func(context.Context, performatives.InformResult) (performatives.TaskRequest, error) {
			return performatives.TaskRequest{}, codons.ErrEnded
		},
	}, err
}

// Report sends a progress report to the initiator. Only PerformTask may call it, from any
// goroutine. It waits while 16 earlier reports have not been sent. The error says that u is
// invalid, as a [*performatives.Refusal], or is the cause of the end of PerformTask's ctx.
func (t Task) Report(u performatives.StatusUpdate) error {
	if err := u.Validate(); err != nil {
		return err
	}
	return t.report(u)
}

// Progress is [Task.Report] of a percentage, from 0 to 100, and a text.
func (t Task) Progress(percent float64, text string) error {
	return t.Report(performatives.StatusUpdate{Progress: &percent, Description: text})
}

package codons

import (
	"context"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Worker is an agent that performs tasks: the answering side of the delegation
// codon ([DelegationTable]).
type Worker interface {
	actors.Agent
	// ConsiderTask decides whether to take a task on. It runs on the agent's own
	// actor, must not block, and may read and change the agent's fields. It may look
	// at what the task may use ([Left]), but no conversation begins with ctx.
	ConsiderTask(ctx context.Context, t Task) Decision

	// PerformTask does the work and returns its result. It runs on a goroutine of
	// its conversation, beside other tasks, so it must not touch the agent's
	// fields but by [actors.Self.Do]. It should return soon once ctx ends: on
	// CANCEL, at the deadline, or when the agent stops; context.Cause says which.
	// An error is told to the asker as FAILURE: a [*performatives.Refusal] with
	// its code and text, any other as [performatives.CodeFailed] without its text.
	// A panic is FAILURE too, and the agent lives on.
	PerformTask(ctx context.Context, t Task) (performatives.InformResult, error)
}

// Task is a task that an agent was asked to perform.
type Task struct {
	performatives.TaskRequest

	// Message is the TASK_REQUEST: who asks, until when, in which ontology.
	Message *performatives.Message
	// Previous are the partial results that were already given in this
	// conversation, each of which asked for more; empty in the first round.
	Previous []performatives.InformResult
	// Agent is the handle of the agent that performs the task, for sub-tasks.
	Agent actors.Self

	report func(performatives.StatusUpdate) error
	ask    func(context.Context, performatives.InformResult) (performatives.TaskRequest, error)
}

// Report tells the asker how far the work has come. It may be called only by
// PerformTask, from any goroutine. It waits while 16 earlier reports have not been
// sent. The error says that the conversation is over.
func (t Task) Report(u performatives.StatusUpdate) error {
	if err := u.Validate(); err != nil {
		return err
	}
	return t.report(u)
}

// Progress is Report of a percentage, from 0 to 100, and a text.
func (t Task) Progress(percent float64, text string) error {
	return t.Report(performatives.StatusUpdate{Progress: &percent, Description: text})
}

// Decision is an agent's answer to a task. The zero Decision rejects it as
// incapable.
type Decision struct {
	command string
	payload any
}

// Accept takes the task on.
func Accept() Decision { return AcceptWith(performatives.TaskAccept{}) }

// AcceptWith takes the task on and says more: an id, an estimate, a comment.
func AcceptWith(p performatives.TaskAccept) Decision { return Decision{commandAccept, p} }

// Reject does not take the task on, for a reason such as
// [performatives.CodeIncapable], and says why.
func Reject(code performatives.Code, text string) Decision {
	return Decision{commandReject, performatives.TaskReject{ReasonCode: code, ReasonText: text}}
}

// NotUnderstood says that the request makes no sense to the agent.
func NotUnderstood(code performatives.Code, text string) Decision {
	return Decision{commandNotUnderstood, performatives.NotUnderstood{ReasonCode: code, ReasonText: text}}
}

func (d Decision) orDefault() Decision {
	if d.command == "" {
		return Reject(performatives.CodeIncapable, "")
	}
	return d
}

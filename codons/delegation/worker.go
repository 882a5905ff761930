package delegation

import (
	"cmp"
	"context"
	"slices"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Worker is an agent that performs tasks: the responder of the codon. It may also implement
// [codons.TaskLimiter] to bound its tasks.
type Worker interface {
	actors.Agent
	// ConsiderTask decides whether to take a task on. It runs on the agent's own actor, so it
	// must not block and may read and change the agent's fields. It may read the remaining
	// budget ([codons.BudgetLeft]), but ctx cannot begin a conversation ([codons.ErrDeciding]).
	ConsiderTask(ctx context.Context, t Task) Decision

	// PerformTask does the work and returns its result. It runs on a goroutine of its
	// conversation, beside other tasks, so it reaches the agent's fields only through
	// [actors.Self.Do]. It should return soon after the end of ctx: on CANCEL, at the
	// deadline, or when the agent stops. context.Cause gives the reason.
	//
	// An error is sent to the initiator as FAILURE: a [*performatives.Refusal] with its code
	// and text, any other error as [performatives.CodeFailed] without its text. A panic is a
	// FAILURE too, and the agent keeps running.
	PerformTask(ctx context.Context, t Task) (performatives.InformResult, error)
}

// Service makes every [Worker] answer TASK_REQUEST.
var Service = NewService()

// NewService returns a role whose [Worker] methods are called through middleware. The first
// middleware is the outermost.
func NewService(middleware ...func(Worker) Worker) *codons.Service {
	return codons.NewService(Codon, codons.ServiceOptions{Usual: true}, func(self actors.Self, w Worker, t codons.Times) actors.Responder {
		wrapped := w
		for _, wrap := range slices.Backward(middleware) {
			wrapped = wrap(wrapped)
		}
		return newResponder(self, w, wrapped, t)
	})
}

// Decision is a worker's answer to a task. The zero Decision rejects the task with
// [performatives.CodeIncapable].
type Decision codons.Command

// Accept takes the task on.
func Accept() Decision { return AcceptWith(performatives.TaskAccept{}) }

// AcceptWith takes the task on and gives details: an id, an estimate, a comment.
func AcceptWith(p performatives.TaskAccept) Decision {
	return Decision{Name: standard.CommandAccept, Data: p}
}

// Reject does not take the task on. code is the reason, empty for [performatives.CodeIncapable],
// and text explains it to the initiator.
func Reject(code performatives.Code, text string) Decision {
	code = cmp.Or(code, performatives.CodeIncapable)
	return Decision{Name: standard.CommandReject, Data: performatives.TaskReject{ReasonCode: code, ReasonText: text}}
}

// NotUnderstood says that the request makes no sense to the worker, with the reason as a code,
// empty for [performatives.CodeInvalidPayload], and a text.
func NotUnderstood(code performatives.Code, text string) Decision {
	code = cmp.Or(code, performatives.CodeInvalidPayload)
	return Decision{Name: standard.CommandNotUnderstood, Data: performatives.NotUnderstood{ReasonCode: code, ReasonText: text}}
}

// NotUnderstoodBy is [NotUnderstood] for the error of reading a request: the code and text of a
// [*performatives.Refusal], or [performatives.CodeInvalidPayload] without a text.
func NotUnderstoodBy(err error) Decision {
	if r := performatives.RefusalOf(err); r != nil {
		return NotUnderstood(r.Code, r.Text)
	}
	return NotUnderstood(performatives.CodeInvalidPayload, "")
}

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
	if err == nil && !m.Budget().IsZero() {
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

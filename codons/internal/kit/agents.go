package kit

import (
	"context"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/request"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// Plain is an agent without capabilities that runs at most 4 handlers of a codon at a time.
type Plain struct{}

// MaxTasks returns 4.
func (Plain) MaxTasks() int { return 4 }

// Describe returns no capabilities.
func (Plain) Describe() p.Capabilities { return p.Capabilities{} }

// RequestHandler answers requests by a function.
type RequestHandler struct {
	Handle func(context.Context, request.Requested) (any, error)
}

// Describe returns no capabilities.
func (*RequestHandler) Describe() p.Capabilities { return p.Capabilities{} }

// HandleRequest calls Handle.
func (h *RequestHandler) HandleRequest(ctx context.Context, r request.Requested) (any, error) {
	return h.Handle(ctx, r)
}

type (
	// Order is the content of a request.
	Order struct {
		Item string `json:"item"`
	}
	// Bill is the answer to an [Order].
	Bill struct {
		Price int `json:"price"`
	}
)

// Summary asks for the summary of the capabilities.
var Summary = p.QueryCapabilities{Type: p.QuerySummary}

// Details asks for the details of an action.
func Details(action string) p.QueryCapabilities {
	return p.QueryCapabilities{Type: p.QueryActionDetails, Parameters: p.QueryParameters{ActionName: action}}
}

// Task returns the task that [World.Delegate] delegates.
func Task() p.TaskRequest {
	return p.TaskRequest{TaskType: "debug_code", Description: "fix it"}
}

// Result returns a result with a status.
func Result(s p.TaskStatus) p.InformResult {
	return p.InformResult{Status: s, Summary: string(s)}
}

// Asking returns a partial result that asks for more input.
func Asking(what string) p.InformResult {
	return p.InformResult{Status: p.StatusPartial, Details: p.ContentOf(map[string]any{"request_for_user": what})}
}

// Worker is a worker of delegations that answers by functions. Without them it accepts and
// succeeds. Max is the limit of [codons.TaskLimiter].
type Worker struct {
	Consider func(context.Context, delegation.Task) delegation.Decision
	Perform  func(context.Context, delegation.Task) (p.InformResult, error)
	Max      int
}

// Describe returns the topics and one action.
func (w *Worker) Describe() p.Capabilities {
	return p.Capabilities{
		Topics:  []string{"Debugging", "Unit Testing"},
		Actions: []p.Action{{Name: "EXECUTE_DELEGATED_CODING_TASK", Description: "does it"}},
	}
}

// MaxTasks returns Max.
func (w *Worker) MaxTasks() int { return w.Max }

// ConsiderTask calls Consider.
func (w *Worker) ConsiderTask(ctx context.Context, t delegation.Task) delegation.Decision {
	if w.Consider == nil {
		return delegation.Accept()
	}
	return w.Consider(ctx, t)
}

// PerformTask calls Perform.
func (w *Worker) PerformTask(ctx context.Context, t delegation.Task) (p.InformResult, error) {
	if w.Perform == nil {
		return Result(p.StatusSuccess), nil
	}
	return w.Perform(ctx, t)
}

// Spends returns a job that uses the budget b and succeeds.
func Spends(b codons.Budget) func(context.Context, delegation.Task) (p.InformResult, error) {
	return func(ctx context.Context, _ delegation.Task) (p.InformResult, error) {
		return Result(p.StatusSuccess), codons.Spend(ctx, b)
	}
}

// Doer is a worker whose tasks take no time, for benchmarks.
type Doer struct{}

// Describe returns no capabilities.
func (Doer) Describe() p.Capabilities { return p.Capabilities{} }

// ConsiderTask accepts.
func (Doer) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	return delegation.Accept()
}

// PerformTask succeeds.
func (Doer) PerformTask(context.Context, delegation.Task) (p.InformResult, error) {
	return p.InformResult{Status: p.StatusSuccess}, nil
}

// Poet is an agent with no capability for debugging.
type Poet struct{}

// Describe returns the topic of a poet.
func (Poet) Describe() p.Capabilities {
	return p.Capabilities{Topics: []string{"Poetry"}}
}

// Spawn spawns an agent in a system, for examples. It panics on an error.
func Spawn(ctx context.Context, s *actors.System, id p.AgentID, agent actors.Agent) actors.Self {
	self, err := s.Spawn(ctx, actors.Spec{ID: id, New: func() actors.Agent { return agent }})
	if err != nil {
		panic(err)
	}
	return self
}

// UntilDone is a job that runs until its context ends, and returns the cause.
func UntilDone[T, In any](ctx context.Context, _ In) (T, error) {
	<-ctx.Done()
	var none T
	return none, context.Cause(ctx)
}

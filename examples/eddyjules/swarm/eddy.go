package swarm

import (
	"context"
	"errors"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
)

// ActionDelegate is Eddy's action (addenda §3).
const ActionDelegate = "DELEGATE_CODING_TASK_TO_JULES"

// Eddy supports developers. It does not debug itself: it finds out who can, and
// delegates.
type Eddy struct {
	// Colleagues returns whom Eddy may ask: a node's directory. It is called by many
	// goroutines at a time; Eddy leaves itself out.
	Colleagues func() []performatives.AgentID
}

// Describe returns Eddy's topics and its action.
func (*Eddy) Describe() performatives.Capabilities {
	return performatives.Capabilities{
		Topics: []string{"Developer Support", "Delegation"},
		Actions: []performatives.Action{{
			Name:         ActionDelegate,
			Description:  "Finds an agent that can debug the code, delegates it and reports the result.",
			InputSchema:  []byte(problemSchema),
			OutputSchema: []byte(findingSchema),
		}},
	}
}

// ConsiderTask accepts a debug_code that makes sense, and nothing else.
func (*Eddy) ConsiderTask(_ context.Context, t codons.Task) codons.Decision {
	if no := consider(t, ActionDelegate); no != nil {
		return *no
	}
	return codons.AcceptWith(performatives.TaskAccept{Comments: "Let me find someone for this."})
}

// PerformTask asks everyone who can debug Python, and delegates to the best; to the
// next where that one cannot. The error is what kept the last from it, or
// [performatives.CodeIncapable] when nobody matches.
func (e *Eddy) PerformTask(ctx context.Context, t codons.Task) (performatives.InformResult, error) {
	task, err := whole(t)
	if err != nil {
		return performatives.InformResult{}, err
	}
	candidates, err := e.find(ctx, t)
	if err != nil {
		return performatives.InformResult{}, err
	}
	var last error = &performatives.Refusal{Code: performatives.CodeIncapable, Text: "nobody here can debug Python"}
	for _, c := range candidates {
		if !c.Match {
			break // ranked: the rest do not match either
		}
		result, err := e.delegate(ctx, t, task, c.Agent)
		if err == nil {
			return result, nil
		}
		if last = err; !othersMay(ctx, err) {
			break
		}
	}
	return performatives.InformResult{}, last
}

// whole is the task as it is delegated: in a further round with what was said
// before, because it opens a conversation of its own with whoever is best now. The
// first round goes on with whatever else it holds.
func whole(t codons.Task) (performatives.TaskRequest, error) {
	task := t.TaskRequest
	task.TaskType = TaskDebugCode // whatever Eddy's own action is called
	if len(t.Previous) == 0 {
		return task, nil
	}
	problem, err := problemOf(t)
	task.Parameters = performatives.ContentOf(problem)
	return task, err
}

// whisperTime is how long Eddy waits for colleagues to say what they can do.
const whisperTime = 2 * time.Second

// find asks all colleagues at once.
func (e *Eddy) find(ctx context.Context, t codons.Task) ([]codons.Candidate, error) {
	ctx, cancel := context.WithTimeout(ctx, whisperTime)
	defer cancel()
	var others []performatives.AgentID
	for _, id := range e.Colleagues() {
		if !id.Is(t.Agent.ID()) {
			others = append(others, id)
		}
	}
	return codons.WhisperAll(ctx, t.Agent, others, performatives.QueryCapabilities{
		Type:       performatives.QuerySpecific,
		Parameters: performatives.QueryParameters{Capabilities: []string{"python", "debugging"}},
	})
}

// delegate passes the task on, and once more when the worker crashed over it.
func (e *Eddy) delegate(ctx context.Context, t codons.Task, task performatives.TaskRequest, to performatives.AgentID) (performatives.InformResult, error) {
	try := func() (performatives.InformResult, error) {
		return codons.Delegate(ctx, t.Agent, to, task,
			codons.WithOntology(performatives.OntologyDebugRequest),
			codons.WithPriority(t.Message.Priority()),
			codons.WithTrace(t.Message.Trace()),
			codons.WithProgress(func(u performatives.StatusUpdate) { _ = t.Report(u) }), // who no longer listens has cancelled, which ctx tells
		)
	}
	result, err := try()
	if errors.Is(err, performatives.CodeInternal) {
		return try()
	}
	return result, err
}

// othersMay reports whether another colleague may do what this one could not. Only
// a task that makes no sense makes none to all.
func othersMay(ctx context.Context, err error) bool {
	var end *codons.EndError
	return ctx.Err() == nil && errors.As(err, &end) &&
		end.Refusal.Code.Traits().Carrier != performatives.ActNotUnderstood
}

package swarm

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/discovery"
	"github.com/ribosome-agents/ribosome/performatives"
)

// ActionDelegate is Eddy's action (addenda §3).
const ActionDelegate = "DELEGATE_CODING_TASK_TO_JULES"

// Eddy is the agent that supports developers. It does not debug: it discovers agents
// that can, and delegates to them.
type Eddy struct {
	// Colleagues returns the ids of the agents that Eddy may delegate to, such as those
	// of the node's directory. Several goroutines call it at the same time. Eddy ignores
	// its own id.
	Colleagues func() []performatives.AgentID
	// CodeRoot is [Options].CodeRoot.
	CodeRoot string
}

// Describe returns Eddy's topics, its action by both of its names, and that for editors.
func (*Eddy) Describe() performatives.Capabilities {
	return performatives.Capabilities{
		Topics: []string{"Developer Support", "Delegation"},
		Actions: append(actions(ActionDelegate, "Finds an agent that can debug the code, delegates it and reports the result."),
			performatives.Action{
				Name: TaskDocument, Description: "Finds an agent that can explain the code, and reports the explanation.",
				InputSchema: []byte(snippetSchema), OutputSchema: []byte(explanationSchema), Ontology: ontologyIDE + TaskDocument,
			},
		),
		Ontologies: append(debugOntologies(), ontologyIDE+TaskDocument),
		Extra:      role("Developer Support"),
	}
}

// ConsiderTask accepts a debug_code or get_documentation task with valid parameters, and rejects
// all others.
func (e *Eddy) ConsiderTask(_ context.Context, t delegation.Task) delegation.Decision {
	_, err := problemOf(t, e.CodeRoot)
	if isDocument(t) {
		_, err = snippetOf(t)
	} else if !isDebug(t, ActionDelegate) {
		return *reject("the tasks here are " + TaskDebugCode + " and " + TaskDocument)
	}
	if err != nil {
		return delegation.NotUnderstoodBy(err)
	}
	return delegation.AcceptWith(performatives.TaskAccept{Comments: "Let me find someone for this."})
}

// isDocument reports whether a task is a [TaskDocument].
func isDocument(t delegation.Task) bool {
	return performatives.FoldCapability(t.TaskType) == performatives.FoldCapability(TaskDocument)
}

// errand is what Eddy has a colleague do.
type errand struct {
	performatives.TaskRequest
	ontology string
	wanted   []string // capabilities of the colleague
	nobody   string   // the text of the refusal without one
}

// errandOf returns the errand for a task.
func (e *Eddy) errandOf(t delegation.Task) (errand, error) {
	if isDocument(t) {
		task := t.TaskRequest
		task.TaskType = TaskExplain
		return errand{task, ontologyIDE + TaskExplain, []string{TaskExplain}, "nobody here can explain code"}, nil
	}
	task, err := e.withEarlierRounds(t)
	return errand{task, performatives.OntologyDebugRequest, []string{"python", "debugging"}, "nobody here can debug Python"}, err
}

// PerformTask asks all colleagues whether they can do it, and delegates to the
// best match; if that one fails, to the next. The error is that of the last attempt, or
// [performatives.CodeIncapable] if there is no match.
func (e *Eddy) PerformTask(ctx context.Context, t delegation.Task) (performatives.InformResult, error) {
	task, err := e.errandOf(t)
	if err != nil {
		return performatives.InformResult{}, err
	}
	candidates, err := e.find(ctx, t, task.wanted)
	if err != nil {
		return performatives.InformResult{}, err
	}
	var last error = &performatives.Refusal{Code: performatives.CodeIncapable, Text: task.nobody}
	for _, c := range candidates {
		if !c.Match {
			break // ranked: the rest do not match either
		}
		result, err := e.delegate(ctx, t, task, c.Agent)
		if err == nil {
			return result, nil
		}
		if last = err; !mayTryOthers(ctx, err) {
			break
		}
	}
	return performatives.InformResult{}, last
}

// withEarlierRounds returns the task to delegate. In a further round, its parameters are
// completed from the rounds before, because Eddy opens a new conversation for it, maybe
// with another agent. In the first round the parameters stay as they are.
func (e *Eddy) withEarlierRounds(t delegation.Task) (performatives.TaskRequest, error) {
	task := t.TaskRequest
	task.TaskType = TaskDebugCode // also if the task was requested by the name of Eddy's action
	if len(t.Previous) == 0 {
		return task, nil
	}
	problem, err := problemOf(t, e.CodeRoot)
	task.Parameters = performatives.ContentOf(problem)
	return task, err
}

// whisperTime bounds Eddy's wait for the capabilities of its colleagues. Those that are there
// answer at once, but a busy machine may hold them up.
const whisperTime = 10 * time.Second

// find asks all colleagues for their capabilities at once, and returns them ranked by
// their match.
func (e *Eddy) find(ctx context.Context, t delegation.Task, wanted []string) ([]discovery.Candidate, error) {
	ctx, cancel := context.WithTimeout(ctx, whisperTime)
	defer cancel()
	others := slices.DeleteFunc(slices.Clone(e.Colleagues()), t.Agent.ID().Is)
	return discovery.WhisperAll(ctx, t.Agent, others, performatives.QueryCapabilities{
		Type:       performatives.QuerySpecific,
		Parameters: performatives.QueryParameters{Capabilities: wanted},
	})
}

// delegate delegates the task to an agent, and once more if the agent's worker panicked.
func (e *Eddy) delegate(ctx context.Context, t delegation.Task, task errand, to performatives.AgentID) (performatives.InformResult, error) {
	try := func() (performatives.InformResult, error) {
		return delegation.Delegate(ctx, t.Agent, to, task.TaskRequest,
			codons.WithOntology(task.ontology),
			codons.WithPriority(t.Message.Priority()),
			codons.WithTrace(t.Message.Trace()),
			delegation.WithProgress(func(u performatives.StatusUpdate) { _ = t.Report(u) }), // it fails only after a CANCEL, which ends ctx
		)
	}
	result, err := try()
	if errors.Is(err, performatives.CodeInternal) {
		return try()
	}
	return result, err
}

// mayTryOthers reports whether another colleague may perform a task that failed with
// err. It is false if the task is invalid, and if ctx has ended.
func mayTryOthers(ctx context.Context, err error) bool {
	var end *codons.EndError
	return ctx.Err() == nil && errors.As(err, &end) &&
		end.Refusal.Code.Traits().Carrier != performatives.ActNotUnderstood
}

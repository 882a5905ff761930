package swarm

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/performatives"
)

// ActionExecute is Jules's action (addenda §3).
const ActionExecute = "EXECUTE_DELEGATED_CODING_TASK"

// Jules is the software engineer: a worker for debug_code, [TaskRefactor] and [TaskExplain]. It
// also answers queries about its capacity and its skills: see [Condition] and
// [Jules.HandleQueryRef].
type Jules struct {
	Brain Debugger // required
	Limit int      // the largest number of tasks at a time; zero and less mean [codons.DefaultMaxTasks]
	// CodeRoot is [Options].CodeRoot.
	CodeRoot string

	tasks    int          // accepted so far
	underWay atomic.Int64 // tasks whose work has begun and not ended
}

// Describe returns Jules's topics, its action (addenda §3) by both of its names, its further tasks
// and the ontologies that it knows.
func (*Jules) Describe() performatives.Capabilities {
	return performatives.Capabilities{
		Topics: []string{
			"Software Engineering", "Debugging", "Unit Testing", "Integration Testing", "Feature Implementation",
			"Code Review", "Python", "JavaScript", "Go", "System Design", "API Development", "Database Interaction",
			"Version Control (Git)", "Agile Methodologies", "DevOps Principles",
		},
		Actions: append(actions(ActionExecute, "Debugs the Python code that another agent delegates, and returns the fix or an analysis."),
			performatives.Action{
				Name: TaskRefactor, Description: "Suggests refactorings of Python code that keep its behaviour, as diffs.",
				InputSchema: []byte(snippetSchema), OutputSchema: []byte(refactoringSchema), Ontology: performatives.OntologyRefactorRequest,
			},
			performatives.Action{
				Name: TaskSuggest, Description: "Does the same, for editors.",
				InputSchema: []byte(snippetSchema), OutputSchema: []byte(refactoringSchema), Ontology: ontologyIDE + TaskSuggest,
			},
			performatives.Action{
				Name: TaskExplain, Description: "Describes Python code by its structure.",
				InputSchema: []byte(snippetSchema), OutputSchema: []byte(explanationSchema), Ontology: ontologyIDE + TaskExplain,
			},
		),
		Ontologies: append(debugOntologies(), performatives.OntologyRefactorRequest, ontologyIDE+TaskRefactor, ontologyIDE+TaskSuggest, ontologyIDE+TaskExplain),
		Extra:      role("Software Engineer"),
	}
}

// MaxTasks returns the Limit.
func (j *Jules) MaxTasks() int { return j.Limit }

// The JSON Schemas of [Problem] and [Finding], for action_details.
const (
	problemSchema = `{"type":"object","properties":{"code_to_debug":{"type":"string"},"code_snippet":{"type":"string"},"programming_language":{"const":"python"},"error_log":{"type":"string"},"desired_outcome":{"type":"string"},"file_name":{"type":"string"}}}`
	findingSchema = `{"type":"object","properties":{"original_code":{"type":"string"},"fixed_code":{"type":"string"},"diff":{"type":"string"},"explanation":{"type":"string"},"tests_passed":{"type":"boolean"},"request_for_user":{"type":"string"},"error_encountered":{"type":"string"},"analysis":{"type":"string"},"line":{"type":"integer"},"expression":{"type":"string"},"confidence":{"type":"number"},"error_log":{"type":"string"},"file_name":{"type":"string"}}}`
)

// ConsiderTask accepts a task of Jules's types with valid parameters, and rejects all others.
func (j *Jules) ConsiderTask(_ context.Context, t delegation.Task) delegation.Decision {
	if no := j.considerCode(t); no != nil {
		return *no
	}
	j.tasks++
	return delegation.AcceptWith(performatives.TaskAccept{
		TaskID:   fmt.Sprintf("jules-%d", j.tasks),
		Estimate: performatives.EstimateOf(time.Second),
		Comments: "Starting now.", // acl §4.2
	})
}

// considerCode returns the refusal of a task for Jules; nil if it is taken on.
func (j *Jules) considerCode(t delegation.Task) *delegation.Decision {
	if isDebug(t, ActionExecute) {
		_, err := problemOf(t, j.CodeRoot)
		return understood(err)
	}
	switch kindOf(t) {
	case TaskRefactor, TaskExplain:
		_, err := snippetOf(t)
		return understood(err)
	}
	return reject(fmt.Sprintf("the tasks here are %s, %s and %s", TaskDebugCode, TaskRefactor, TaskExplain))
}

// kindOf returns [TaskRefactor] or [TaskExplain] if a task is of that type, in any spelling of
// discovery.
func kindOf(t delegation.Task) string {
	switch performatives.FoldCapability(t.TaskType) {
	case performatives.FoldCapability(TaskRefactor), performatives.FoldCapability(TaskSuggest):
		return TaskRefactor
	case performatives.FoldCapability(TaskExplain):
		return TaskExplain
	}
	return ""
}

// PerformTask performs a task of any of Jules's types.
func (j *Jules) PerformTask(ctx context.Context, t delegation.Task) (performatives.InformResult, error) {
	j.underWay.Add(1)
	defer j.underWay.Add(-1)
	if isDebug(t, ActionExecute) {
		return j.debug(ctx, t)
	}
	snippet, err := snippetOf(t)
	switch {
	case err != nil:
		return performatives.InformResult{}, err
	case kindOf(t) == TaskExplain:
		return explain(snippet)
	}
	return refactor(ctx, snippet)
}

// debug runs the Debugger and reports its steps as progress.
func (j *Jules) debug(ctx context.Context, t delegation.Task) (performatives.InformResult, error) {
	problem, err := problemOf(t, j.CodeRoot)
	if err != nil {
		return performatives.InformResult{}, err
	}
	done := 0.0
	return j.Brain.Debug(ctx, problem, func(step string) {
		_ = t.Progress(done, step) // it fails only after a CANCEL, which ends ctx
		done = min(done+stepShare, almostDone)
	})
}

// A Debugger names its steps but not their number: [Offline] has four, and a fifth with
// Verify. Each step counts as stepShare percent, and progress stays at almostDone until
// the result.
const (
	stepShare  = 20.0
	almostDone = 95.0
)

package swarm

import (
	"context"
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/performatives"
)

// ActionExecute is Jules's action (addenda §3).
const ActionExecute = "EXECUTE_DELEGATED_CODING_TASK"

// Jules is the agent that debugs: a worker for debug_code tasks.
type Jules struct {
	Brain Debugger // required
	tasks int      // accepted so far
}

// Describe returns Jules's topics, and its action (addenda §3) by both of its names.
func (*Jules) Describe() performatives.Capabilities {
	return performatives.Capabilities{
		Topics: []string{
			"Software Engineering", "Debugging", "Unit Testing", "Integration Testing", "Feature Implementation",
			"Code Review", "Python", "JavaScript", "Go", "System Design", "API Development", "Database Interaction",
			"Version Control (Git)", "Agile Methodologies", "DevOps Principles",
		},
		Actions: actions(ActionExecute, "Debugs the Python code that another agent delegates, and returns the fix or an analysis."),
	}
}

// The JSON Schemas of [Problem] and [Finding], for action_details.
const (
	problemSchema = `{"type":"object","properties":{"code_to_debug":{"type":"string"},"programming_language":{"const":"python"},"error_log":{"type":"string"},"desired_outcome":{"type":"string"},"file_name":{"type":"string"}}}`
	findingSchema = `{"type":"object","properties":{"original_code":{"type":"string"},"fixed_code":{"type":"string"},"diff":{"type":"string"},"explanation":{"type":"string"},"tests_passed":{"type":"boolean"},"request_for_user":{"type":"string"},"error_encountered":{"type":"string"},"analysis":{"type":"string"},"line":{"type":"integer"},"expression":{"type":"string"},"confidence":{"type":"number"},"error_log":{"type":"string"},"file_name":{"type":"string"}}}`
)

// ConsiderTask accepts a debug_code task with valid parameters, and rejects all others.
func (j *Jules) ConsiderTask(_ context.Context, t delegation.Task) delegation.Decision {
	if no := consider(t, ActionExecute); no != nil {
		return *no
	}
	j.tasks++
	return delegation.AcceptWith(performatives.TaskAccept{
		TaskID:   fmt.Sprintf("jules-%d", j.tasks),
		Estimate: performatives.EstimateOf(time.Second),
		Comments: "Starting now.", // acl §4.2
	})
}

// PerformTask runs the Debugger and reports its steps as progress.
func (j *Jules) PerformTask(ctx context.Context, t delegation.Task) (performatives.InformResult, error) {
	problem, err := problemOf(t)
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

package swarm

import (
	"cmp"
	"encoding/json"

	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/performatives"
)

// TaskDebugCode is the type of the task that Eddy and Jules perform (acl §4.1).
const TaskDebugCode = "debug_code"

// Problem is a failing script, as task_parameters of debug_code carry it
// (acl §4.1). Every field may be empty.
type Problem struct {
	Code           string `json:"code_to_debug,omitempty"`
	Snippet        string `json:"code_snippet,omitempty"` // the code, where Code is empty: editors call it so (acl §6)
	Language       string `json:"programming_language,omitempty"`
	Traceback      string `json:"error_log,omitempty"`
	DesiredOutcome string `json:"desired_outcome,omitempty"`

	// FileName is the asker's file name of the script, for the header of the diff. Its
	// folders are ignored. Empty means the name in the traceback.
	FileName string `json:"file_name,omitempty"`
}

// Task returns the user's task for Eddy (acl §4.1): to debug the script, in Python.
func (p Problem) Task() performatives.TaskRequest {
	p.Language = "python"
	p.DesiredOutcome = "Identify and fix the bug, or provide analysis if not fixable."
	return performatives.TaskRequest{
		TaskType:    TaskDebugCode,
		Description: "Why does my script fail?",
		Parameters:  performatives.ContentOf(p),
	}
}

// Finding is the result of debugging a [Problem], as result_details carry it (acl §4.3).
// Every field may be empty.
type Finding struct {
	OriginalCode   string  `json:"original_code,omitempty"`
	FixedCode      string  `json:"fixed_code,omitempty"`
	Diff           string  `json:"diff,omitempty"`
	Explanation    string  `json:"explanation,omitempty"`
	TestsPassed    *bool   `json:"tests_passed,omitempty"` // nil unless the scripts were run
	RequestForUser string  `json:"request_for_user,omitempty"`
	Error          string  `json:"error_encountered,omitempty"`
	Analysis       string  `json:"analysis,omitempty"`
	Line           int     `json:"line,omitempty"`       // of the failing expression, from 1
	Expression     string  `json:"expression,omitempty"` // the operation that failed
	Confidence     float64 `json:"confidence,omitempty"` // that the fix removes the error: 0 to 1

	// Traceback and FileName are those of the Problem, set in a request for further
	// input, so that the next round needs to contain the missing input only.
	Traceback string `json:"error_log,omitempty"`
	FileName  string `json:"file_name,omitempty"`
}

// problemOf decodes a task's parameters, and completes missing fields from the findings
// of the rounds before, the latest first. Code that is a path is read below root. The error is a
// [*performatives.Refusal] if the parameters are invalid.
func problemOf(t delegation.Task, root string) (Problem, error) {
	p, err := performatives.Decode[Problem](t.Parameters)
	if err != nil {
		return p, err
	}
	p.Code, p.Snippet = cmp.Or(p.Code, p.Snippet), ""
	for i := len(t.Previous) - 1; i >= 0; i-- {
		f, err := performatives.Decode[Finding](t.Previous[i].Details)
		if err != nil {
			continue // the details of another debugger need not be a Finding
		}
		p.Code = cmp.Or(p.Code, f.OriginalCode)
		p.Traceback = cmp.Or(p.Traceback, f.Traceback)
		p.FileName = cmp.Or(p.FileName, f.FileName)
	}
	if isPath(p.Code) {
		p.FileName = cmp.Or(p.FileName, p.Code)
		p.Code, err = readCode(root, p.Code)
	}
	return p, err
}

// actions lists the debugging task of an agent by the names that [consider] accepts.
func actions(name, description string) []performatives.Action {
	all := make([]performatives.Action, 0, 2)
	for _, n := range []string{name, TaskDebugCode} {
		all = append(all, performatives.Action{
			Name: n, Description: description, InputSchema: []byte(problemSchema), OutputSchema: []byte(findingSchema),
			Ontology: performatives.OntologyDebugRequest,
		})
	}
	return all
}

// role returns the member of capabilities that names the role of an agent, as the handshakes of
// bridge do.
func role(name string) performatives.Members {
	text, _ := json.Marshal(name) // a string always marshals
	return performatives.Members{"agent_role": text}
}

// isDebug reports whether a task is a debug_code task. It may also have the name of the agent's
// action, which callers of tools find by discovery.
func isDebug(t delegation.Task, action string) bool {
	return t.TaskType == TaskDebugCode || performatives.FoldCapability(t.TaskType) == performatives.FoldCapability(action)
}

// reject returns the rejection of a task of another type, with a text that names the tasks.
func reject(tasks string) *delegation.Decision {
	d := delegation.Reject(performatives.CodeIncapable, tasks)
	return &d
}

// understood returns nil if the parameters of a task could be decoded, else the refusal for the
// error.
func understood(err error) *delegation.Decision {
	if err == nil {
		return nil
	}
	d := delegation.NotUnderstoodBy(err)
	return &d
}

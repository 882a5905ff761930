package swarm

import (
	"cmp"
	"path"
	"strings"
	"unicode"

	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/performatives"
)

// TaskDebugCode is the type of the one task that the swarm performs (acl §4.1).
const TaskDebugCode = "debug_code"

// Problem is a failing script, as task_parameters of debug_code carry it
// (acl §4.1). Every field may be empty.
type Problem struct {
	Code           string `json:"code_to_debug,omitempty"`
	Language       string `json:"programming_language,omitempty"`
	Traceback      string `json:"error_log,omitempty"`
	DesiredOutcome string `json:"desired_outcome,omitempty"`

	// FileName is the asker's file name of the script, for the header of the diff. Its
	// folders are ignored. Empty means the name in the traceback.
	FileName string `json:"file_name,omitempty"`
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
// of the rounds before, the latest first. The error is a [*performatives.Refusal] if the
// parameters are invalid.
func problemOf(t delegation.Task) (Problem, error) {
	p, err := performatives.Decode[Problem](t.Parameters)
	if err != nil {
		return p, err
	}
	for i := len(t.Previous) - 1; i >= 0; i-- {
		f, err := performatives.Decode[Finding](t.Previous[i].Details)
		if err != nil {
			continue // the details of another debugger need not be a Finding
		}
		p.Code = cmp.Or(p.Code, f.OriginalCode)
		p.Traceback = cmp.Or(p.Traceback, f.Traceback)
		p.FileName = cmp.Or(p.FileName, f.FileName)
	}
	return p, nil
}

// actions lists the one task of an agent by the names that [consider] accepts.
func actions(name, description string) []performatives.Action {
	all := make([]performatives.Action, 0, 2)
	for _, n := range []string{name, TaskDebugCode} {
		all = append(all, performatives.Action{
			Name: n, Description: description, InputSchema: []byte(problemSchema), OutputSchema: []byte(findingSchema),
		})
	}
	return all
}

// consider returns the refusal of a task for Eddy or Jules; nil if it is a debug_code
// task with valid parameters. Instead of debug_code, a task may have the name of the
// agent's action, which callers of tools find by discovery.
func consider(t delegation.Task, action string) *delegation.Decision {
	if t.TaskType != TaskDebugCode && performatives.FoldCapability(t.TaskType) != performatives.FoldCapability(action) {
		d := delegation.Reject(performatives.CodeIncapable, "the only task here is "+TaskDebugCode)
		return &d
	}
	if _, err := problemOf(t); err != nil {
		d := delegation.NotUnderstoodBy(err)
		return &d
	}
	return nil
}

// withFileName returns the diff with the asker's file name in its header. A name with
// characters that are not printable is ignored, because the name comes from a peer and
// a line break in it would add lines to the diff.
func withFileName(diff, name string) string {
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	_, rest, ok := cutLines(diff, 2)
	if !ok || name == "." || name == ".." || name == "/" || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return diff
	}
	return "--- a/" + name + "\n+++ b/" + name + "\n" + rest
}

// cutLines splits text after its first n lines. ok is false if it has fewer.
func cutLines(text string, n int) (before, after string, ok bool) {
	end := 0
	for range n {
		i := strings.IndexByte(text[end:], '\n')
		if i < 0 {
			return text, "", false
		}
		end += i + 1
	}
	return text[:end], text[end:], true
}

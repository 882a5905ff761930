package swarm

import (
	"cmp"
	"path"
	"strings"
	"unicode"

	"github.com/ribosome-agents/ribosome/codons"
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

	// FileName is the asker's name of the script, which the diff is then for; the
	// folders of it do not count. Empty means the name in the traceback.
	FileName string `json:"file_name,omitempty"`
}

// Finding is what came of a [Problem], as result_details carry it (acl §4.3).
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
	Expression     string  `json:"expression,omitempty"` // what failed
	Confidence     float64 `json:"confidence,omitempty"` // that the fix removes the error: 0 to 1

	// What a request for more was made with, beside the code, so that the next
	// round need bring only what was missing.
	Traceback string `json:"error_log,omitempty"`
	FileName  string `json:"file_name,omitempty"`
}

// problemOf reads a task's parameters. What they lack comes from the rounds
// before, the latest first: who is asked for a traceback answers with a traceback.
// The error is a [*performatives.Refusal] for parameters that make no sense.
func problemOf(t codons.Task) (Problem, error) {
	p, err := performatives.Decode[Problem](t.Parameters)
	if err != nil {
		return p, err
	}
	for i := len(t.Previous) - 1; i >= 0; i-- {
		f, err := performatives.Decode[Finding](t.Previous[i].Details)
		if err != nil {
			continue // another debugger's details, which need not be a Finding
		}
		p.Code = cmp.Or(p.Code, f.OriginalCode)
		p.Traceback = cmp.Or(p.Traceback, f.Traceback)
		p.FileName = cmp.Or(p.FileName, f.FileName)
	}
	return p, nil
}

// consider is the decision about a debugging task that both Eddy and Jules make:
// nil when it makes sense and is theirs. The task may also be called by the action under
// which discovery shows it, as a caller of tools does.
func consider(t codons.Task, action string) *codons.Decision {
	if t.TaskType != TaskDebugCode && performatives.FoldCapability(t.TaskType) != performatives.FoldCapability(action) {
		d := codons.Reject(performatives.CodeIncapable, "the only task here is "+TaskDebugCode)
		return &d
	}
	if _, err := problemOf(t); err != nil {
		d := codons.NotUnderstood(performatives.CodeInvalidPayload, "task_parameters: "+err.Error())
		return &d
	}
	return nil
}

// renamed is a diff under the asker's name of the script. The name came from a
// peer and goes into lines of its own, so one that could end a line is not used.
func renamed(diff, name string) string {
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	_, rest, ok := cutLines(diff, 2)
	if !ok || name == "." || name == ".." || name == "/" || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return diff
	}
	return "--- a/" + name + "\n+++ b/" + name + "\n" + rest
}

// cutLines cuts text after its first n lines.
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

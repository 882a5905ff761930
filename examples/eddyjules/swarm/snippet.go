package swarm

import (
	"cmp"
	"path"
	"strings"
	"unicode"

	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/performatives"
)

// The types of the tasks of an editor (acl §6; addenda §3). [Jules] performs them, but for
// TaskDocument, which is [Eddy]'s.
const (
	TaskRefactor = "refactor_code_snippet"
	TaskSuggest  = "refactor_suggestion" // TaskRefactor, in the variant of IDE clients
	TaskExplain  = "explain_code"
	TaskDocument = "get_documentation"
)

// Snippet is a piece of code in an editor, as task_parameters of [TaskRefactor] and [TaskExplain]
// carry it (acl §6; addenda §3). Only Code is required.
type Snippet struct {
	Code           string `json:"code_snippet"`
	Language       string `json:"programming_language,omitempty"` // empty means python
	LanguageOfIDE  string `json:"language,omitempty"`             // the same in the variant of IDE clients
	DesiredOutcome string `json:"desired_outcome,omitempty"`      // not read
	Question       string `json:"user_query,omitempty"`           // not read
	FileName       string `json:"file_name,omitempty"`            // for the headers of diffs; empty means snippet.py
}

// The JSON Schema of [Snippet].
const snippetSchema = `{"type":"object","required":["code_snippet"],"properties":{"code_snippet":{"type":"string","minLength":1},"programming_language":{"type":"string"},"language":{"type":"string"},"desired_outcome":{"type":"string"},"user_query":{"type":"string"},"file_name":{"type":"string"}}}`

// snippetOf decodes the parameters of a task. The error is a [*performatives.Refusal].
func snippetOf(t delegation.Task) (Snippet, error) {
	s, err := performatives.Decode[Snippet](t.Parameters)
	if err == nil && s.Code == "" {
		const field = "task_parameters.code_snippet"
		err = &performatives.Refusal{Code: performatives.CodeInvalidPayload, Field: field, Text: field + ": want the code, got nothing"}
	}
	return s, err
}

// isPython reports whether the language of the code is Python.
func (s Snippet) isPython() bool {
	language := cmp.Or(s.Language, s.LanguageOfIDE, "python")
	return strings.HasPrefix(strings.ToLower(strings.TrimSpace(language)), "py")
}

// baseName returns the asker's file name without its folders. It is empty for a name that does not
// fit in the header of a diff: the name comes from a peer, and a line break in it would add lines.
func baseName(name string) string {
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	if name == "." || name == ".." || name == "/" || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return ""
	}
	return name
}

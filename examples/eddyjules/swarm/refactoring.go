package swarm

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm/pydebug"
	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm/pyrefactor"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Refactoring is the result of [TaskRefactor], as result_details carry it (acl §6). Each suggestion
// changes the original by itself. Package pyrefactor describes them.
type Refactoring struct {
	OriginalSnippet string                  `json:"original_snippet"`
	Suggestions     []pyrefactor.Suggestion `json:"suggestions"`        // empty in a failure
	Analysis        string                  `json:"analysis,omitempty"` // why there is no suggestion, or why not for other places
}

const refactoringSchema = `{"type":"object","properties":{"original_snippet":{"type":"string"},"suggestions":{"type":"array","items":{"type":"object","properties":{"change_type":{"enum":["rename_variable","introduce_guard_clause","extract_method"]},"description":{"type":"string"},"suggested_code_diff":{"type":"string"},"confidence":{"type":"number"},"line":{"type":"integer"}}}},"analysis":{"type":"string"}}}`

// refactor returns the suggestions for a snippet. Without any, the result is a failure with the
// reasons.
func refactor(ctx context.Context, s Snippet) (performatives.InformResult, error) {
	r := Refactoring{OriginalSnippet: s.Code, Suggestions: []pyrefactor.Suggestion{}}
	no := func(summary, analysis string) (performatives.InformResult, error) {
		r.Analysis = analysis
		return performatives.InformResult{Status: performatives.StatusFailure, Summary: summary, Details: performatives.ContentOf(r)}, nil
	}
	if !s.isPython() {
		return no("Only Python is refactored here.", "")
	}
	found, err := pyrefactor.Suggest(ctx, cmp.Or(baseName(s.FileName), "snippet.py"), s.Code)
	switch {
	case errors.As(err, new(*pydebug.SyntaxError)):
		return no("The code is not understood.", err.Error())
	case errors.Is(err, pydebug.ErrCodeTooLarge):
		return performatives.InformResult{}, &performatives.Refusal{Code: performatives.CodeInvalidPayload, Text: err.Error()}
	case err != nil:
		return performatives.InformResult{}, err
	case len(found.Suggestions) == 0:
		return no("No refactoring that keeps the behaviour of this code is known here.", strings.Join(found.Reasons, "\n"))
	}
	r.Suggestions, r.Analysis = found.Suggestions, strings.Join(found.Reasons, "\n")
	return performatives.InformResult{
		Status: performatives.StatusSuccess, Summary: "Refactoring suggestions provided.", Details: performatives.ContentOf(r), // acl §6
	}, nil
}

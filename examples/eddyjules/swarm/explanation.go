package swarm

import (
	"errors"

	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm/pydebug"
	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm/pyexplain"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Explanation is the result of [TaskExplain], as result_details carry it.
type Explanation struct {
	OriginalSnippet string `json:"original_snippet"`
	Text            string `json:"explanation,omitempty"` // sentences; empty in a failure
	Analysis        string `json:"analysis,omitempty"`    // the reason for a failure
}

const explanationSchema = `{"type":"object","properties":{"original_snippet":{"type":"string"},"explanation":{"type":"string"},"analysis":{"type":"string"}}}`

// explain describes a snippet by its structure.
func explain(s Snippet) (performatives.InformResult, error) {
	details := Explanation{OriginalSnippet: s.Code}
	result := performatives.InformResult{Status: performatives.StatusFailure, Summary: "Only Python is explained here."}
	if s.isPython() {
		found, err := pyexplain.Explain(s.Code)
		switch {
		case errors.As(err, new(*pydebug.SyntaxError)):
			result.Summary, details.Analysis = "The code is not understood.", err.Error()
		case err != nil:
			return performatives.InformResult{}, &performatives.Refusal{Code: performatives.CodeInvalidPayload, Text: err.Error()}
		default:
			details.Text = found.Text
			result.Status, result.Summary = performatives.StatusSuccess, found.Summary
		}
	}
	result.Details = performatives.ContentOf(details)
	return result, nil
}

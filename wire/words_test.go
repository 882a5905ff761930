package wire_test

import (
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// A word is read as the reason beside it, if the reason has that word, or is a peer's own code and
// the word is that of unknown codes.
func TestWordsRead(t *testing.T) {
	words := wire.WordsOf(map[string][]performatives.Code{
		"GONE": {performatives.CodeUnknownAgent, performatives.CodeStopped}, "BROKEN": {performatives.CodeInternal},
	})
	for _, tt := range []struct {
		word, reason string
		want         performatives.Code
	}{
		{"GONE", "", performatives.CodeUnknownAgent},
		{"GONE", string(performatives.CodeStopped), performatives.CodeStopped},
		{"GONE", string(performatives.CodeInternal), performatives.CodeUnknownAgent},
		{"GONE", "OWN_CODE", performatives.CodeUnknownAgent},
		{"BROKEN", "OWN_CODE", "OWN_CODE"},
		{"BROKEN", "", performatives.CodeInternal},
		{"OWN_WORD", "", "OWN_WORD"},
	} {
		if got := words.Read(tt.word, tt.reason); got != tt.want {
			t.Errorf("%s with %q: %s, want %s", tt.word, tt.reason, got, tt.want)
		}
	}
}

// Each code has the status of its word.
func TestStatusOf(t *testing.T) {
	statuses := map[string]int{
		"INVALID_REQUEST": 400, "UNAUTHORIZED": 401, "FORBIDDEN": 403, "NOT_FOUND": 404, "RATE_LIMIT_EXCEEDED": 429, "INTERNAL_ERROR": 500, "SERVICE_UNAVAILABLE": 503,
	}
	for _, c := range performatives.Codes() {
		if got, want := wire.StatusOf(c.Code), statuses[wire.ErrorCodes.Of(c.Code)]; got != want || want == 0 {
			t.Errorf("%s has the status %d, want %d", c.Code, got, want)
		}
	}
	for code, want := range map[performatives.Code]int{
		performatives.CodeInvalidPayload: 400, performatives.CodeUnauthorized: 401, performatives.CodeForbidden: 403, performatives.CodeUnknownAgent: 404,
		performatives.CodeRateLimited: 429, performatives.CodeInternal: 500, performatives.CodeBusy: 503,
	} {
		if got := wire.StatusOf(code); got != want {
			t.Errorf("%s has the status %d, want %d", code, got, want)
		}
	}
}

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

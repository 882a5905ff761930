package bridge

import (
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

func TestVocabulary(t *testing.T) {
	wiretest.CheckWords(t, ErrorCodes, codeToolNotFound, codeInvalidArguments, codeExecutionFailed, codeTimeout, codeUnauthorized, codeInternal)
	for word, want := range map[string]performatives.Code{
		"TOOL_NOT_FOUND":   performatives.CodeIncapable,
		"EXECUTION_FAILED": performatives.CodeFailed,
	} {
		if got, ok := ErrorCodes.Code(word); !ok || got != want {
			t.Errorf("%s is read as %s, want %s", word, got, want)
		}
	}
	// Addenda §2 says which act an error is.
	for word, want := range map[string]performatives.Performative{
		codeToolNotFound: performatives.ActTaskReject, codeUnauthorized: performatives.ActTaskReject, codeInvalidArguments: performatives.ActNotUnderstood,
		codeExecutionFailed: performatives.ActFailure, codeTimeout: performatives.ActFailure, codeInternal: performatives.ActFailure, "OF_A_PEER": performatives.ActFailure,
	} {
		if got := usualRefusal(word); got != want {
			t.Errorf("%s is %s, want %s", word, got, want)
		}
	}
}

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
	// Where addenda §2 says which act an error is, the code that it is read as has that act as its
	// carrier.
	for word := range errorTypes {
		if c, _ := ErrorCodes.Code(word); c.Traits().Carrier != usualRefusal(word) {
			t.Errorf("%s is read as %s, carried by %s, want %s", word, c, c.Traits().Carrier, usualRefusal(word))
		}
	}
}

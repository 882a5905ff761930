package rossnet

import (
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

func TestVocabulary(t *testing.T) {
	wiretest.CheckWords(t, ErrorCodes, "E001", "E002", "E003", "E004", "E005", "E006", "E007", "E008", "E999")
	for word, want := range map[string]performatives.Code{
		"E001": performatives.CodeUnauthorized,
		"E002": performatives.CodeForbidden,
		"E003": performatives.CodeInvalidPayload,
		"E004": performatives.CodeUnknownAgent,
		"E005": performatives.CodeIncapable,
		"E006": performatives.CodeTimeout,
		"E008": performatives.CodeInternal,
		"E999": performatives.CodeFailed,
	} {
		if got, ok := ErrorCodes.Code(word); !ok || got != want {
			t.Errorf("%s is read as %s, want %s", word, got, want)
		}
	}
}

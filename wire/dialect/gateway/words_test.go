package gateway

import (
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

func TestVocabulary(t *testing.T) {
	wiretest.CheckWords(t, ErrorCodes, "-32700", "-32600", "-32601", "-32602", "-32603", "-32000", "-32001", "-32002", "-32003", "-32004")
	for word, want := range map[string]performatives.Code{
		"-32700": performatives.CodeParsingError,
		"-32601": performatives.CodeUnknownAction,
	} {
		if got, ok := ErrorCodes.Code(word); !ok || got != want {
			t.Errorf("%s is read as %s, want %s", word, got, want)
		}
	}
}

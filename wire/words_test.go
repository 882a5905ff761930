package wire_test

import (
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

func TestErrorCodes(t *testing.T) {
	statuses := map[string]int{
		"INVALID_REQUEST": 400, "UNAUTHORIZED": 401, "FORBIDDEN": 403, "NOT_FOUND": 404, "RATE_LIMIT_EXCEEDED": 429, "INTERNAL_ERROR": 500,
		"SERVICE_UNAVAILABLE": 503,
	}
	var words []string
	for word := range statuses {
		words = append(words, word)
	}
	wiretest.CheckWords(t, wire.ErrorCodes, words...)
	for _, c := range performatives.Codes() {
		if word := wire.ErrorCodes.Of(c.Code); wire.StatusOf(c.Code) != statuses[word] {
			t.Errorf("%s: %s has the status %d, want %d", c.Code, word, wire.StatusOf(c.Code), statuses[word])
		}
	}
	if c, _ := wire.ErrorCodes.Code("FORBIDDEN"); c != performatives.CodeForbidden {
		t.Errorf("FORBIDDEN is read as %s", c)
	}
	if c, ok := wire.ErrorCodes.Code("forbidden"); ok {
		t.Errorf("forbidden is read as %s", c)
	}
}

// A table in which a code has two words is a mistake of its author.
func TestWordsOfRefusesTwoWords(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a code has two words")
		}
	}()
	wire.WordsOf(map[string][]performatives.Code{"A": {performatives.CodeBusy}, "B": {performatives.CodeFailed, performatives.CodeBusy}})
}

package codons_test

import (
	"context"
	"errors"
	"testing"

	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// The text of the error has the reason once, and errors.Is finds the code and the cause.
func TestTextOfEndError(t *testing.T) {
	cause := errors.New("why")
	busy := p.Refusal{Code: p.CodeBusy, Text: "later", From: "Eddy"}
	for _, test := range []struct {
		refusal p.Refusal
		cause   error
		want    string
	}{
		{p.Refusal{}, cause, "query with Eddy: failed: why"},
		{busy, nil, "query with Eddy: failed: later (busy)"},
		{busy, cause, "query with Eddy: failed: later (busy): why"},
		{busy, context.Canceled, "query with Eddy: failed: later (busy)"},
		{busy, context.DeadlineExceeded, "query with Eddy: failed: later (busy)"},
	} {
		e := &codons.EndError{Protocol: "query", Peer: "Eddy", State: "failed", Refusal: test.refusal, Cause: test.cause}
		if e.Error() != test.want {
			t.Errorf("got %q, want %q", e.Error(), test.want)
		}
		if errors.Is(e, p.CodeBusy) != (test.refusal.Code != "") || test.cause != nil && !errors.Is(e, test.cause) || len(e.Unwrap()) > 2 {
			t.Errorf("%v does not wrap its parts: %v", e, e.Unwrap())
		}
	}
}

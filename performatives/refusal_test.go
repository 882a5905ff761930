package performatives_test

import (
	"errors"
	"fmt"
	"testing"

	p "github.com/ribosome-agents/ribosome/performatives"
)

func TestRefusalError(t *testing.T) {
	tests := []struct {
		refusal p.Refusal
		want    string
	}{
		{p.Refusal{Code: p.CodeBusy}, "the agent is busy (busy)"},
		{p.Refusal{Code: p.CodeBusy, Text: "later"}, "later (busy)"},
		{p.Refusal{Code: p.CodeBusy, From: "Jules"}, "Jules: the agent is busy (busy)"},
		{p.Refusal{Code: p.CodeBusy, From: "Jules", Text: "100%s"}, "Jules: 100%s (busy)"},
		{p.Refusal{Code: "no_coffee"}, "the agent failed (no_coffee)"},
		{p.Refusal{Text: "later"}, "later"},
	}
	for _, tt := range tests {
		if got := tt.refusal.Error(); got != tt.want {
			t.Errorf("%#v: %q, want %q", tt.refusal, got, tt.want)
		}
	}
}

func TestRefusalIs(t *testing.T) {
	err := fmt.Errorf("delegate: %w", &p.Refusal{Code: p.CodeTimeout})
	var r *p.Refusal
	if !errors.Is(err, p.CodeTimeout) || errors.Is(err, p.CodeExpired) || !errors.As(err, &r) {
		t.Errorf("%v is not told apart by its code", err)
	}
}

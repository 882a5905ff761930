package kit

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/codontest"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/internal/exhaustive"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// EndOf returns err as an EndError, and fails the test when it is none.
func EndOf(t testing.TB, err error) *codons.EndError {
	t.Helper()
	var end *codons.EndError
	if !errors.As(err, &end) {
		t.Fatalf("got %v, want an EndError", err)
	}
	return end
}

// WantEnd fails the test unless err is an EndError of that state and code.
func WantEnd(t testing.TB, err error, state machine.State, code p.Code) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want %s: %s", state, code)
		return
	}
	if end := EndOf(t, err); end.State != state || end.Refusal.Code != code || !errors.Is(err, code) {
		t.Errorf("got %v (%s), want %s: %s", err, end.State, state, code)
	}
}

// WantElapsed fails the test unless that much virtual time has passed since start.
func WantElapsed(t testing.TB, start time.Time, want time.Duration) {
	t.Helper()
	if got := time.Since(start); got != want {
		t.Errorf("it took %v, want %v", got, want)
	}
}

// NoSecret fails the test when an error that a peer got contains the text "secret" of an internal
// error.
func NoSecret(t *testing.T, err error) {
	t.Helper()
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the peer got an internal error: %v", err)
	}
}

// Seeds is the number of seeds for the conformance test of a family: few, because there is a test
// for each codon, and many in the long tests.
func Seeds() codontest.Option {
	if exhaustive.Enabled() {
		return codontest.Seeds(1000)
	}
	return codontest.Seeds(8)
}

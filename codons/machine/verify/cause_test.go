package verify

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/internal/tabletest"
)

// query is a table whose second pair comes after other causes.
func query(t *testing.T, after ...machine.Cause) *machine.Machine {
	t.Helper()
	table := tabletest.Query()
	table.Agree = slices.Clone(table.Agree)
	table.Agree[1].After = after
	m, err := table.Compile()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestARoughPairComesAfterItsCause: the initiator of query ends timed_out, and the responder
// answered, only after the initiator's deadline. Nothing need be lost for that.
func TestARoughPairComesAfterItsCause(t *testing.T) {
	deadline := machine.At(machine.Initiator, machine.Timeout("deadline"))
	if r, err := Explore(query(t, deadline), Network{}); err != nil || len(r.UnusedCauses) > 0 {
		t.Errorf("%v, %q", err, r.UnusedCauses)
	}
	_, err := Explore(query(t, machine.Lost()), Network{})
	var found *Counterexample
	if !errors.As(err, &found) || found.Problem != Unprompted || !strings.Contains(found.Detail, "ends timed_out and the responder answered without loss of a message") {
		t.Fatalf("got %v", err)
	}
	if last := found.Moves[len(found.Moves)-1]; last.From == last.To {
		t.Errorf("the path does not stop where both sides have ended: %v", err)
	}
	r, err := Explore(query(t, deadline, machine.Lost()), Network{})
	if want := []string{"timed_out, answered after loss of a message"}; err != nil || !slices.Equal(r.UnusedCauses, want) {
		t.Errorf("%v, %q, want %q", err, r.UnusedCauses, want)
	}
	if r, err := Explore(query(t, deadline, machine.Lost()), Network{Reliable: true}); err != nil || len(r.UnusedCauses) > 0 {
		t.Errorf("a network without losses shows nothing about them: %v, %q", err, r.UnusedCauses)
	}
}

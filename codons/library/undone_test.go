package library

import (
	"testing"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/saga"
)

// TestUndoneByTheTables compares a rule of saga that is in code with the tables: a step whose
// conversation ended in a state behind which the responder may have completed the work must be
// undone, whatever the code of the refusal.
func TestUndoneByTheTables(t *testing.T) {
	done := map[machine.State]bool{codons.StateCompleted: true, codons.StateAnswered: true}
	for _, table := range tables() {
		if !table.Has(machine.Responder) {
			continue
		}
		for _, p := range table.Agree {
			if end := (&codons.EndError{State: p.Initiator}); done[p.Responder] && !done[p.Initiator] && !saga.StepUnknown(end) {
				t.Errorf("%s: the initiator ends %s and the responder %s (rough: %t), and the step is not undone", table.Name, p.Initiator, p.Responder, p.Rough)
			}
		}
	}
}

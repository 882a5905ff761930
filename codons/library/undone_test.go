package library

import (
	"testing"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/saga"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// TestUndoneByTheTables compares a rule of saga that is in code with the tables: a step whose
// conversation ended in a state behind which the responder may have completed the work is undone,
// also where a refusal of the runtime ended the conversation.
func TestUndoneByTheTables(t *testing.T) {
	done := map[machine.State]bool{standard.StateCompleted: true, standard.StateAnswered: true}
	refusals := []performatives.Code{
		performatives.CodeUnknownAgent, performatives.CodeStopped, performatives.CodeDisconnected, performatives.CodeExpired,
		performatives.CodeRateLimited, performatives.CodeUnauthorized, performatives.CodeForbidden, performatives.CodeConversationEnded,
	}
	for _, table := range tables() {
		if !table.Has(machine.Responder) {
			continue
		}
		for _, p := range table.Agree {
			if !done[p.Responder] || done[p.Initiator] {
				continue
			}
			for _, code := range refusals {
				if end := (&codons.EndError{State: p.Initiator, Refusal: performatives.Refusal{Code: code}}); !saga.StepUnknown(end) {
					t.Errorf("%s: the initiator ends %s by %s and the responder %s, and the step is not undone", table.Name, p.Initiator, code, p.Responder)
				}
			}
		}
	}
}

package codons_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// TestProposalLapsesBeforeTheNextCall has a proposal lapse while the call of the next
// round is on its way: what says so answers the earlier call, and means the same.
func TestProposalLapsesBeforeTheNextCall(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		ids := w.hire(&craftsman{consider: func(context.Context, codons.Called) (codons.Proposal, error) {
			return codons.Proposal{ValidUntil: time.Now().Add(time.Second)}, nil
		}})
		calls := 0
		w.net.intercept(func(m *p.Message) bool {
			if m.Performative() != p.ActCFP {
				return false
			}
			calls++
			return calls > 1 // the second is late
		})
		a, err := codons.CallForProposals(t.Context(), w.eddy, ids, codons.Call{Task: task()},
			codons.WithRounds(2), codons.WithRetry(codons.Retry{First: -1}),
			codons.WithDecision(func(_ context.Context, b codons.Bidding) codons.Selection {
				return codons.Selection{Revise: ids}
			}))
		var end *codons.EndError
		if !errors.Is(err, codons.ErrNoAward) || !errors.As(a.Lost[0].Err, &end) || end.State != "lapsed" {
			t.Errorf("got %+v, %v", a, err)
		}
		w.settled(0)
	})
}

package codons_test

import (
	"context"
	"testing"

	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// TestContractNetWithOneself has a caller bid too: its proposals, which expect an
// answer, are for its asking side.
func TestContractNetWithOneself(t *testing.T) {
	for name, opts := range map[string][]codons.CallOption{
		"one round": nil,
		"more": {codons.WithRounds(3), codons.WithDecision(func(ctx context.Context, b codons.Bidding) codons.Selection {
			if b.Again {
				return codons.Selection{Revise: []p.AgentID{"A"}}
			}
			return codons.LowestCost(ctx, b)
		})},
		"in a conversation that has another name": {codons.WithConversation("errand")},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				self := w.spawn("A", &craftsman{})
				a, err := codons.CallForProposals(t.Context(), self, []p.AgentID{"A"}, codons.Call{Task: task()}, opts...)
				if err != nil || len(a.Awards) != 1 {
					t.Fatalf("got %+v, %v", a, err)
				}
				w.settled(0)
			})
		})
	}
}

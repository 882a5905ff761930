package approval_test

import (
	"context"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/approval"
	"github.com/ribosome-agents/ribosome/codons/codontest"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
)

// TestConform runs proposals, and approvals that escalate, over a bad network.
func TestConform(t *testing.T) {
	codontest.Conform(t, approval.ProposeCodon, kit.Seeds(), codontest.Agents(1, newCouncil, approval.ProposeRole),
		codontest.Calling(func(ctx context.Context, s *codontest.Script) error {
			_, err := approval.Propose(ctx, s.Self(), s.Peers()[0], kit.Plan{Build: "a bench"})
			return err
		}))
	codontest.Conform(t, approval.Codon, kit.Seeds(), codontest.Agents(3, newBoss, approval.Role),
		codontest.Calling(func(ctx context.Context, s *codontest.Script) error {
			_, err := approval.Approve(ctx, s.Self(), s.Peers()[0], kit.Deletion, approval.WithEscalation(s.Peers()[1:]...))
			return err
		}))
}

func newCouncil(s *codontest.Script) actors.Agent {
	return &kit.Council{Consider: func(ctx context.Context, q approval.Proposed) (approval.Verdict, error) {
		chance := s.About(q.Message, "consider")
		return approval.Verdict{Accepted: chance.IntN(2) == 0}, chance.Do(ctx)
	}}
}

func newBoss(s *codontest.Script) actors.Agent {
	return &kit.Boss{Decide: func(ctx context.Context, q approval.ProposedStep) (approval.Verdict, error) {
		chance := s.About(q.Message, "decide")
		return approval.Verdict{Accepted: chance.IntN(2) == 0}, chance.Do(ctx, q.Seen)
	}}
}

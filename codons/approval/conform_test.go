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
	codontest.Conform(t, approval.ProposeCodon, kit.Seeds(), codontest.Agents(1, newProposalHandler, approval.ProposeService),
		codontest.Calling(func(ctx context.Context, s *codontest.Script) error {
			_, err := approval.Propose(ctx, s.Self(), s.Peers()[0], plan{Build: "a bench"})
			return err
		}))
	codontest.Conform(t, approval.Codon, kit.Seeds(), codontest.Agents(3, newApprover, approval.Service),
		codontest.Calling(func(ctx context.Context, s *codontest.Script) error {
			_, err := approval.Approve(ctx, s.Self(), s.Peers()[0], deletion, approval.WithEscalation(s.Peers()[1:]...))
			return err
		}))
}

func newProposalHandler(s *codontest.Script) actors.Agent {
	return &proposalHandler{consider: func(ctx context.Context, q approval.Proposed) (approval.Verdict, error) {
		chance := s.About(q.Message, "consider")
		return approval.Verdict{Accepted: chance.IntN(2) == 0}, chance.Do(ctx)
	}}
}

func newApprover(s *codontest.Script) actors.Agent {
	return &approver{decide: func(ctx context.Context, q approval.ProposedStep) (approval.Verdict, error) {
		chance := s.About(q.Message, "decide")
		return approval.Verdict{Accepted: chance.IntN(2) == 0}, chance.Do(ctx, q.Seen)
	}}
}

package approval_test

import (
	"context"

	p "github.com/ribosome-agents/ribosome/performatives"

	"github.com/ribosome-agents/ribosome/codons/approval"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
)

// approver is an approver that decides by a function.
type approver struct {
	kit.Plain
	decide func(context.Context, approval.ProposedStep) (approval.Verdict, error)
}

func (a *approver) DecideStep(ctx context.Context, s approval.ProposedStep) (approval.Verdict, error) {
	return a.decide(ctx, s)
}

// deletion is a step that needs an approval.
var deletion = approval.Step{What: "delete the archive", Why: "the disk is full", Data: p.ContentOf([]string{"a", "b"})}

// proposalHandler answers proposals by a function.
type proposalHandler struct {
	kit.Plain
	consider func(context.Context, approval.Proposed) (approval.Verdict, error)
}

func (h *proposalHandler) ConsiderProposal(ctx context.Context, q approval.Proposed) (approval.Verdict, error) {
	return h.consider(ctx, q)
}

// plan is the content of a proposal.
type plan struct {
	Build string `json:"build"`
}

// acceptBench accepts the plan of a bench and no other.
func acceptBench(_ context.Context, q approval.Proposed) (approval.Verdict, error) {
	wanted, err := p.PayloadAs[plan](q.Message)
	return approval.Verdict{Accepted: wanted.Build == "a bench", Reason: "of " + wanted.Build}, err
}

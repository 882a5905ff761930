package contractnet_test

import (
	"context"
	"slices"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/codontest"
	"github.com/ribosome-agents/ribosome/codons/contractnet"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// TestConform calls three bidders for proposals over a bad network, in one round and in several.
func TestConform(t *testing.T) {
	codontest.Conform(t, contractnet.Codon, kit.Seeds(), codontest.Agents(3, newScripted, contractnet.Service), calling())
	codontest.Conform(t, contractnet.IteratedCodon, kit.Seeds(), codontest.Agents(3, newScripted, contractnet.IteratedService),
		calling(contractnet.WithRounds(3), contractnet.WithDecision(revising)))
}

func calling(opts ...codons.Option) codontest.Option {
	return codontest.Calling(func(ctx context.Context, s *codontest.Script) error {
		all := slices.Clone(opts) // the next script chooses anew
		if s.Chance("reserve").IntN(2) == 0 {
			all = append(all, contractnet.WithReserve())
		}
		_, err := contractnet.CallForProposals(ctx, s.Self(), s.Peers(), contractnet.Call{Task: kit.Task()}, all...)
		return err
	})
}

// revising has all bidders bid again as long as it may.
func revising(ctx context.Context, b contractnet.Bidding) contractnet.Selection {
	if !b.Again {
		return contractnet.LowestCost(ctx, b)
	}
	var s contractnet.Selection
	for _, bid := range b.Bids {
		s.Revise = append(s.Revise, bid.Bidder)
	}
	return s
}

// newScripted returns a bidder that bids and delivers as its script chooses.
func newScripted(s *codontest.Script) actors.Agent {
	return &bidder{
		consider: func(ctx context.Context, c contractnet.Called) (contractnet.Proposal, error) {
			chance := s.About(c.Message, "consider")
			return contractnet.Proposal{Cost: float64(chance.IntN(10))}, chance.Do(ctx)
		},
		perform: func(ctx context.Context, a contractnet.Awarded) (p.InformResult, error) {
			return kit.Result(p.StatusSuccess), s.About(a.Message, "perform").Do(ctx)
		},
	}
}

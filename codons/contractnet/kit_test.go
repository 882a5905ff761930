package contractnet_test

import (
	"context"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/contractnet"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// TestBidding runs the cases that contract nets share with auctions.
func TestBidding(t *testing.T) {
	kit.Bidding{
		Start: func(ctx context.Context, w *kit.World, bidders []p.AgentID) (kit.BiddingRun, error) {
			t, err := contractnet.Start(ctx, w.Eddy, bidders, contractnet.Call{Task: kit.Task()}, contractnet.WithProposalsWithin(time.Minute))
			return biddingRun{t}, err
		},
		Agent:        newBidder,
		NoWinner:     contractnet.ErrNoAward,
		AnswerWithin: time.Minute,
		Acts:         []p.Performative{p.ActCFP, p.ActPropose, p.ActAcceptProposal, p.ActInformResult, p.ActRejectProposal},
		Once:         []p.Performative{p.ActPropose},
	}.Test(t)
}

// newBidder returns a bidder whose cost falls with its strength.
func newBidder(b kit.BidderFuncs) actors.Agent {
	agent := &bidder{cost: 10 - float64(b.Strength)}
	if b.Consider != nil {
		agent.consider = func(ctx context.Context, _ contractnet.Called) (contractnet.Proposal, error) {
			return contractnet.Proposal{Cost: agent.cost}, b.Consider(ctx)
		}
	}
	if b.Perform != nil {
		agent.perform = func(ctx context.Context, _ contractnet.Awarded) (p.InformResult, error) { return b.Perform(ctx) }
	}
	return agent
}

// biddingRun is a [contractnet.Tender] as the kit has it.
type biddingRun struct{ *contractnet.Tender }

func (r biddingRun) Wait() kit.BiddingResult {
	a, err := r.Tender.Wait()
	result := kit.BiddingResult{Err: err, Errs: map[p.AgentID]error{}}
	for _, won := range a.Awards {
		result.Winner = won.Bidder
	}
	for _, lost := range a.Lost {
		result.Errs[lost.Bidder] = lost.Err
	}
	return result
}

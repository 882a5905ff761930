package group_test

import (
	"context"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/contractnet"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	p "github.com/ribosome-agents/ribosome/performatives"
)

func TestContractNet(t *testing.T) {
	bidding{
		Start: func(ctx context.Context, w *kit.World, bidders []p.AgentID) (biddingRun, error) {
			t, err := contractnet.Start(ctx, w.Eddy, bidders, contractnet.Call{Task: kit.Task()}, contractnet.WithProposalsWithin(time.Minute))
			return tender{t}, err
		},
		Agent:        func(b bidderFuncs) actors.Agent { return contractor{b} },
		NoWinner:     contractnet.ErrNoAward,
		AnswerWithin: time.Minute,
		Acts:         []p.Performative{p.ActCFP, p.ActPropose, p.ActAcceptProposal, p.ActInformResult, p.ActRejectProposal},
		Recorded:     []string{`"result_by":"2`, `"by":"2`, `"round":1`, `"proposal":{"cost":6`, `"call":{"task":{"`, `"proposals":[{"cost":6`},
		Once:         []p.Performative{p.ActPropose},
	}.Test(t)
}

// contractor is a bidder whose cost falls with its strength.
type contractor struct{ bidderFuncs }

func (c contractor) ConsiderCall(ctx context.Context, _ contractnet.Called) (contractnet.Proposal, error) {
	return contractnet.Proposal{Cost: 10 - float64(c.Strength)}, c.consider(ctx)
}

func (c contractor) PerformAward(ctx context.Context, _ contractnet.Awarded) (p.InformResult, error) {
	return c.perform(ctx)
}

// tender is a [contractnet.Tender] as a biddingRun.
type tender struct{ *contractnet.Tender }

func (t tender) Wait() biddingResult {
	a, err := t.Tender.Wait()
	result := biddingResult{Err: err, Errs: map[p.AgentID]error{}}
	for _, won := range a.Awards {
		result.Winner = won.Bidder
	}
	for _, lost := range a.Lost {
		result.Errs[lost.Bidder] = lost.Err
	}
	return result
}

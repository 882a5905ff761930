package auction_test

import (
	"context"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/auction"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// TestBidding runs the cases that auctions share with contract nets.
func TestBidding(t *testing.T) {
	acts := []p.Performative{p.ActInform, p.ActCFP, p.ActPropose, p.ActRefuse, p.ActAcceptProposal, p.ActRequest, p.ActInformResult}
	for name, c := range map[string]struct {
		start func(context.Context, codons.Party, []p.AgentID, auction.Lot, ...codons.Option) (*auction.Auction, error)
		lot   auction.Lot
		acts  []p.Performative

		silent int // the rounds beside a silent bidder
	}{
		"English": {auction.StartEnglish, auction.Lot{Item: "vase", Start: 10, Step: 10, Reserve: 20}, append(acts, p.ActRejectProposal), 4},
		"Dutch":   {auction.StartDutch, auction.Lot{Item: "clock", Start: 70, Step: 10, Reserve: 20}, acts, 3},
	} {
		t.Run(name, func(t *testing.T) {
			kit.Bidding{
				Start: func(ctx context.Context, w *kit.World, bidders []p.AgentID) (kit.BiddingRun, error) {
					lot := c.lot
					lot.RoundTime = time.Minute // a lost message is sent again in its round
					a, err := c.start(ctx, w.Eddy, bidders, lot)
					return biddingRun{a}, err
				},
				Agent:        newBidder,
				NoWinner:     auction.ErrNoSale,
				AnswerWithin: time.Minute,
				SilentRounds: c.silent,
				Acts:         c.acts,
				Once:         []p.Performative{p.ActPropose, p.ActAcceptProposal},
			}.Test(t)
		})
	}
}

// newBidder returns a bidder whose highest price rises with its strength.
func newBidder(b kit.BidderFuncs) actors.Agent {
	agent := &bidder{value: 10 * int64(b.Strength)}
	if b.Consider != nil {
		agent.consider = func(ctx context.Context, o auction.Offered) (bool, error) {
			return o.Price <= agent.value, b.Consider(ctx)
		}
	}
	if b.Perform != nil {
		agent.settle = func(ctx context.Context, _ auction.Bought) (p.InformResult, error) { return b.Perform(ctx) }
	}
	return agent
}

// biddingRun is an [auction.Auction] as the kit has it.
type biddingRun struct{ *auction.Auction }

func (r biddingRun) Wait() kit.BiddingResult {
	sale, err := r.Auction.Wait()
	result := kit.BiddingResult{Err: err, Winner: sale.Winner, Errs: map[p.AgentID]error{}}
	if sale.Winner != "" && err != nil { // the transaction failed
		result.Winner, result.Errs[sale.Winner] = "", err
	}
	for _, a := range sale.Absent {
		result.Errs[a.Bidder] = a.Err
	}
	return result
}

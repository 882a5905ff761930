package group_test

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

func TestAuctions(t *testing.T) {
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
			bidding{
				Start: func(ctx context.Context, w *kit.World, bidders []p.AgentID) (biddingRun, error) {
					lot := c.lot
					lot.RoundTime = time.Minute // a lost message is sent again in its round
					a, err := c.start(ctx, w.Eddy, bidders, lot)
					return sale{a}, err
				},
				Agent:        func(b bidderFuncs) actors.Agent { return buyer{b} },
				NoWinner:     auction.ErrNoSale,
				AnswerWithin: time.Minute,
				SilentRounds: c.silent,
				Acts:         c.acts,
				Recorded:     []string{`"lot":{"item":"` + c.lot.Item, `"latest":{"offer":{"lot":`, `"won":true`, `"began":"`, `"until":"`, `"bids":[{"price":`},
				Once:         []p.Performative{p.ActPropose, p.ActAcceptProposal},
			}.Test(t)
		})
	}
}

// buyer is a bidder whose highest price rises with its strength.
type buyer struct{ bidderFuncs }

func (b buyer) ConsiderPrice(ctx context.Context, o auction.Offered) (bool, error) {
	return o.Price <= 10*int64(b.Strength), b.consider(ctx)
}

func (b buyer) SettlePurchase(ctx context.Context, _ auction.Bought) (p.InformResult, error) {
	return b.perform(ctx)
}

// sale is an [auction.Auction] as a biddingRun.
type sale struct{ *auction.Auction }

func (s sale) Wait() biddingResult {
	sold, err := s.Auction.Wait()
	result := biddingResult{Err: err, Winner: sold.Winner, Errs: map[p.AgentID]error{}}
	if sold.Winner != "" && err != nil { // the transaction failed
		result.Winner, result.Errs[sold.Winner] = "", err
	}
	for _, a := range sold.Absent {
		result.Errs[a.Bidder] = a.Err
	}
	return result
}

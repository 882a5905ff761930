package auction_test

import (
	"context"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/auction"
	"github.com/ribosome-agents/ribosome/codons/codontest"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// TestConform holds auctions with three bidders over a bad network.
func TestConform(t *testing.T) {
	codontest.Conform(t, auction.EnglishCodon, kit.Seeds(), codontest.Agents(3, newScripted, auction.EnglishService),
		codontest.Calling(func(ctx context.Context, s *codontest.Script) error {
			lot := auction.Lot{Item: "vase", Start: 10, Step: 10, Reserve: 20, RoundTime: time.Minute}
			_, err := auction.English(ctx, s.Self(), s.Peers(), lot)
			return err
		}))
	codontest.Conform(t, auction.DutchCodon, kit.Seeds(), codontest.Agents(3, newScripted, auction.DutchService),
		codontest.Calling(func(ctx context.Context, s *codontest.Script) error {
			lot := auction.Lot{Item: "clock", Start: 90, Step: 20, Reserve: 20, RoundTime: time.Minute}
			_, err := auction.Dutch(ctx, s.Self(), s.Peers(), lot)
			return err
		}))
}

// newScripted returns a bidder that bids and pays as its script chooses.
func newScripted(s *codontest.Script) actors.Agent {
	return &bidder{
		consider: func(ctx context.Context, o auction.Offered) (bool, error) {
			chance := s.About(o.Message, "consider")
			return chance.IntN(2) == 0, chance.Do(ctx)
		},
		settle: func(ctx context.Context, b auction.Bought) (p.InformResult, error) {
			return kit.Result(p.StatusSuccess), s.About(b.Message, "settle").Do(ctx)
		},
	}
}

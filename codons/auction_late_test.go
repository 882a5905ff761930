package codons_test

import (
	"testing"
	"testing/synctest"

	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// TestAuctionNewsAfterTheEnd has the news that a bidder has won come after it has
// settled, and what that refers to never: it begins no other auction.
func TestAuctionNewsAfterTheEnd(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("A", &collector{value: 50})
		var late *p.Message
		w.net.intercept(func(m *p.Message) bool {
			if m.Performative() == p.ActInform && m.InReplyTo() != "" {
				late = m
				return true
			}
			return m.Performative() == p.ActAcceptProposal
		})
		_, err := codons.DutchAuction(t.Context(), w.eddy, []p.AgentID{"A"}, codons.Lot{Item: "it", Start: 50, Step: 10, Reserve: 10})
		if err != nil || late == nil {
			t.Fatalf("got %v, and %v was late", err, late)
		}
		w.net.intercept(nil)
		_ = w.System.Deliver("A", late) // it is turned away, or dead-lettered
		synctest.Wait()
		w.settled(0)
	})
}

func TestAuctioneerCannotBid(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		if _, err := codons.EnglishAuction(t.Context(), w.eddy, []p.AgentID{w.eddy.ID()}, codons.Lot{Item: "it", Start: 1, Step: 1}); err == nil {
			t.Error("no error")
		}
		w.settled(0)
	})
}

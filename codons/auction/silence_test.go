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

// silentUntil returns a bidder that takes every price up to value, and gives no answer before the
// round first. Its handler returns with its context, or after linger.
func silentUntil(first int, value int64, linger time.Duration) *bidder {
	return &bidder{consider: func(ctx context.Context, o auction.Offered) (bool, error) {
		if o.Round >= first {
			return o.Price <= value, nil
		}
		if linger > 0 {
			time.Sleep(linger)
			return true, nil
		}
		<-ctx.Done()
		return false, context.Cause(ctx)
	}}
}

// TestSilenceIsNoBid has a bidder that gives no answer to the first price. It hears the next one,
// and wins.
func TestSilenceIsNoBid(t *testing.T) {
	for name, c := range map[string]struct {
		linger         time.Duration
		english, dutch int64 // the price of the sale
		after          time.Duration
	}{
		"the handler returns with the round": {0, 45, 93, auction.DefaultRoundTime},
		"the handler overruns two rounds":    {12 * time.Second, 40, 86, 12 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				a := silentUntil(2, 60, c.linger)
				a.max = 1
				s, err := english(w, t.Context(), spawn(w, a, &bidder{value: 40}, &bidder{value: 35}))
				if wantSale(t, s, err, "A", c.english); len(s.Absent) > 0 {
					t.Errorf("absent: %v", s.Absent)
				}
				w.Settled(0)
			})
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				start := time.Now()
				s, err := dutch(w, t.Context(), spawn(w, silentUntil(2, 100, c.linger)))
				wantSale(t, s, err, "A", c.dutch)
				kit.WantElapsed(t, start, c.after)
				w.Settled(0)
			})
		})
	}
}

// TestEndWhileTheHandlerOverruns ends an auction for a bidder whose handler has outlived its round.
func TestEndWhileTheHandlerOverruns(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		s, err := english(w, t.Context(), spawn(w, silentUntil(2, 60, 12*time.Second)))
		wantNoSale(t, s, err)
		w.Settled(1)
		time.Sleep(12 * time.Second)
		w.Settled(0)
	})
}

// TestRoundWithoutBids ends an English auction. Bidders that gave no answer are told of the end,
// and the lot is sold to the leader.
func TestRoundWithoutBids(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		a, b := w.Peer("A"), w.Peer("B")
		sale := startEnglish(w, t.Context(), []p.AgentID{"A", "B"})
		for _, bidder := range []*kit.Peer{a, b} {
			bidder.Expect(p.ActInform)
		}
		bid(a, a.Expect(p.ActCFP), 10)
		first := b.Expect(p.ActCFP)
		a.Expect(p.ActAcceptProposal)
		second := b.Expect(p.ActCFP) // B was silent, and hears the next price
		late := bid(b, first, 10)
		if no := b.Expect(p.ActRejectProposal); no.AsRefusal().Code != p.CodeExpired || !no.Answers(late) {
			t.Errorf("the bid for the earlier price was answered %v", no.AsRefusal())
		}
		s, err := sale.Wait()
		if wantNoSale(t, s, err); s.Rounds != 2 || s.Price != 10 || len(s.Absent) > 0 {
			t.Errorf("got %+v", s)
		}
		for _, bidder := range []*kit.Peer{a, b} {
			if end, err := p.PayloadAs[auction.End](bidder.Expect(p.ActInform)); err != nil || !end.Over || end.Sold {
				t.Errorf("it ends with %+v, %v", end, err)
			}
		}
		late = bid(b, second, 15)
		if no := b.Expect(p.ActRejectProposal); no.AsRefusal().Code != p.CodeExpired || !no.Answers(late) {
			t.Errorf("the bid after the end was answered %v", no.AsRefusal())
		}
		a.Silent()
		b.Silent()
	})
}

// TestMisreadBidder has a bidder answer a price by an act that the auctioneer cannot read. The
// auction goes on without it.
func TestMisreadBidder(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		odd := w.Peer("A")
		w.Add("B", &bidder{value: 40})
		w.Add("C", &bidder{value: 35})
		sale := startEnglish(w, t.Context(), []p.AgentID{"A", "B", "C"})
		odd.Expect(p.ActInform)
		odd.ReplyOddly(odd.Expect(p.ActCFP))
		s, err := sale.Wait()
		wantSale(t, s, err, "B", 40)
		if len(s.Absent) != 1 || s.Absent[0].Bidder != "A" {
			t.Fatalf("absent: %v", s.Absent)
		}
		kit.WantEnd(t, s.Absent[0].Err, "misread", p.CodeUnexpectedAct)
		w.Settled(0)
	})
}

// TestAuctionWithoutAnEnd announces a lot without EndsBy. The bidder stays for the deadline of its
// handlers.
func TestAuctionWithoutAnEnd(t *testing.T) {
	kit.InWorldWith(t, codons.Times{Deadline: time.Hour}, actors.Options{}, func(t *testing.T, w *kit.World) {
		spawn(w, &bidder{value: 50})
		z := w.Peer("Z")
		start := time.Now()
		z.Send(p.Envelope{Receiver: "A", Performative: p.ActInform, Protocol: "english-auction", ConversationID: "c", Payload: vase()})
		time.Sleep(time.Hour - time.Minute)
		z.Send(p.Envelope{
			Receiver: "A", Performative: p.ActCFP, Protocol: "english-auction", ConversationID: "c", ReplyWith: "r1",
			ReplyBy: time.Now().Add(time.Second), Payload: auction.Offer{Lot: vase(), Price: 30, Round: 1},
		})
		z.Expect(p.ActPropose)
		if r := z.Expect(p.ActFailure).AsRefusal(); r.Code != p.CodeTimeout {
			t.Errorf("got %v", r)
		}
		kit.WantElapsed(t, start, time.Hour)
		w.Settled(0)
	})
}

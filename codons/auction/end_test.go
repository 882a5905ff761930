package auction_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/auction"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/library"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/internal/systemtest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// never returns the bidder with handlers that block until their contexts end. A bidder with a
// value considers at once.
func (c bidder) never() *bidder {
	if c.value == 0 {
		c.consider = kit.UntilDone[bool, auction.Offered]
	}
	c.settle = kit.UntilDone[p.InformResult, auction.Bought]
	return &c
}

// TestBidderThatLeaves counts as absent. A refusal with the code rejected only passes.
func TestBidderThatLeaves(t *testing.T) {
	answering := func(code p.Code) *bidder {
		return &bidder{consider: func(context.Context, auction.Offered) (bool, error) { return false, &p.Refusal{Code: code} }}
	}
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		s, err := english(w, t.Context(), spawn(w, answering(p.CodeForbidden), &bidder{value: 40}, answering(p.CodeRejected)))
		wantNoSale(t, s, err)
		if len(s.Absent) != 1 || s.Price != 10 || s.Rounds != 2 {
			t.Errorf("got %+v", s)
		}
		wantAbsent(t, s, "A", "refused", p.CodeForbidden)
		w.Settled(0)
	})
}

// TestWinnerThatDoesNotSettle stays the winner of the sale.
func TestWinnerThatDoesNotSettle(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		ids := spawn(w, &bidder{value: 60, settle: func(context.Context, auction.Bought) (p.InformResult, error) {
			return p.InformResult{}, &p.Refusal{Code: p.CodeBudget, Text: "no money"}
		}}, &bidder{value: 50})
		s, err := english(w, t.Context(), ids)
		kit.WantEnd(t, err, "failed", p.CodeBudget)
		if s.Winner != "A" || s.Price != 50 || errors.Is(err, auction.ErrNoSale) {
			t.Errorf("got %+v", s)
		}
		w.Settled(0)
	})
}

// TestLateBid rejects a bid that arrives after the end, so that it does not bind the bidder.
func TestLateBid(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		a := w.Peer("A")
		sale := startEnglish(w, t.Context(), []p.AgentID{"A"})
		a.Expect(p.ActInform)
		cfp := a.Expect(p.ActCFP)
		s, err := sale.Wait()
		if wantNoSale(t, s, err); s.Rounds != 1 || len(s.Absent) > 0 {
			t.Errorf("got %+v", s)
		}
		if end, err := p.PayloadAs[auction.End](a.Expect(p.ActInform)); err != nil || !end.Over || end.Sold {
			t.Errorf("it ends with %+v, %v", end, err)
		}
		late := bid(a, cfp, 10)
		if no := a.Expect(p.ActRejectProposal); no.AsRefusal().Code != p.CodeExpired || !no.Answers(late) {
			t.Errorf("got %v", no.AsRefusal())
		}
		a.Silent()
	})
}

// bid answers a call with a price.
func bid(a *kit.Peer, cfp *p.Message, price int64) *p.Message {
	a.T.Helper()
	m, err := cfp.ReplyAs(a.Stamp(), p.ActPropose, auction.PriceBid{Price: price})
	if err != nil {
		a.T.Fatal(err)
	}
	a.SendAgain(m)
	return m
}

// pass answers a call without a bid.
func pass(a *kit.Peer, cfp *p.Message) {
	a.Reply(cfp, p.Refuse{ReasonCode: p.CodeRejected, ReasonText: "no"})
}

// TestDoubleBid rejects the second of two bids in a round. The first counts.
func TestDoubleBid(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		a, b := w.Peer("A"), w.Peer("B")
		auction := startEnglish(w, t.Context(), []p.AgentID{"A", "B"})
		a.Expect(p.ActInform)
		b.Expect(p.ActInform)
		cfp := a.Expect(p.ActCFP)
		first := bid(a, cfp, 10)
		second := bid(a, cfp, 10)
		if no := a.Expect(p.ActRejectProposal); !no.Answers(second) {
			t.Errorf("%s was rejected", no.InReplyTo())
		}
		pass(b, b.Expect(p.ActCFP))
		if yes := a.Expect(p.ActAcceptProposal); !yes.Answers(first) {
			t.Errorf("%s was accepted", yes.InReplyTo())
		}
		again := b.Expect(p.ActCFP)
		bid(b, again, 15)
		b.Expect(p.ActAcceptProposal)
		pass(a, a.Expect(p.ActCFP))
		b.Expect(p.ActInform)
		a.Expect(p.ActInform)
		s, err := auction.Wait()
		if wantNoSale(t, s, err); s.Price != 15 {
			t.Errorf("got %+v", s)
		}
		a.Silent()
		b.Silent()
	})
}

// TestAnswerToAnEarlierPrice neither counts for the latest price, nor ends the bidder's part.
func TestAnswerToAnEarlierPrice(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		spawn(w, &bidder{value: 10})
		b := w.Peer("B")
		auction := startEnglish(w, t.Context(), []p.AgentID{"A", "B"})
		b.Expect(p.ActInform)
		first := b.Expect(p.ActCFP)
		pass(b, first)
		second := b.Expect(p.ActCFP) // A leads
		late := bid(b, first, 15)    // as if it was called then
		if no := b.Expect(p.ActRejectProposal); no.AsRefusal().Code != p.CodeExpired || !no.Answers(late) {
			t.Errorf("got %v", no.AsRefusal())
		}
		pass(b, first)
		b.Silent()
		bid(b, second, 15)
		b.Expect(p.ActAcceptProposal)
		b.Expect(p.ActInform)
		s, err := auction.Wait()
		if wantNoSale(t, s, err); s.Price != 15 || len(s.Absent) > 0 {
			t.Errorf("got %+v", s)
		}
	})
}

// TestBidderThatLeavesLate refuses an earlier price for good after the next one was called. The
// auctioneer does not wait for it any more.
func TestBidderThatLeavesLate(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		spawn(w, &bidder{value: 10})
		b := w.Peer("B")
		began := time.Now()
		auction := startEnglish(w, t.Context(), []p.AgentID{"A", "B"})
		b.Expect(p.ActInform)
		first := b.Expect(p.ActCFP)
		pass(b, first)
		b.Expect(p.ActCFP) // A leads
		b.Reply(first, p.Refuse{ReasonCode: p.CodeForbidden, ReasonText: "I leave"})
		s, err := auction.Wait()
		wantNoSale(t, s, err) // the only bid is below the reserve
		wantAbsent(t, s, "B", "refused", p.CodeForbidden)
		kit.WantElapsed(t, began, 0)
		b.Silent()
	})
}

// TestAbsentBidderAnswersCancelAgain has a bidder whose time is over before the first price refuse
// a CANCEL. It refuses the repeated one, too: the first answer may be lost.
func TestAbsentBidderAnswersCancelAgain(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		spawn(w, &bidder{value: 10})
		seller := w.Peer("Seller")
		lot := vase()
		lot.EndsBy = time.Now().Add(time.Minute)
		announced := seller.Send(p.Envelope{Performative: p.ActInform, Receiver: "A", Protocol: auction.EnglishCodon.Name(), Payload: lot})
		time.Sleep(2 * time.Minute)
		w.Settled(0)
		cancel, err := announced.Follow(seller.Stamp(), p.Cancel{})
		if err != nil {
			t.Fatal(err)
		}
		seller.SendAgain(cancel)
		for range 2 {
			if failed := seller.Expect(p.ActFailure); !failed.Answers(cancel) || failed.AsRefusal().Code != p.CodeConversationEnded {
				t.Errorf("the bidder said %v in reply to %s", failed.AsRefusal(), failed.InReplyTo())
			}
			seller.SendAgain(cancel)
		}
		seller.Expect(p.ActFailure)
		seller.Silent()
	})
}

// TestLateRejection delivers the rejection of an earlier bid after the bidder has bid again. It
// is dropped.
func TestLateRejection(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		var held *p.Message
		steps := kit.Recording(&w.Events, lifecycle.KindTransition)
		w.Net.Intercept(func(m *p.Message) bool {
			if m.Performative() == p.ActRejectProposal && held == nil {
				held = m
				return true
			}
			return false
		})
		b := &bidder{value: 200}
		b.consider = func(_ context.Context, o auction.Offered) (bool, error) {
			if o.Round == 2 {
				return true, nil
			}
			return o.Round == 1, nil
		}
		b.settle = func(_ context.Context, w auction.Bought) (p.InformResult, error) {
			return p.InformResult{Status: p.StatusSuccess, Summary: "paid 15"}, nil
		}
		ids := spawn(w, &bidder{value: 10}, b)
		w.Net.Set(systemtest.Fault{Act: p.ActAcceptProposal, To: "B", Left: -1, Do: func(n *systemtest.Network, m *p.Message) error {
			if held != nil {
				_ = n.Deliver(m) // the answer to the latest bid, then the late one
				_ = n.Deliver(held)
			}
			return n.Deliver(m)
		}})
		s, err := auction.English(t.Context(), w.Eddy, ids, auction.Lot{Item: "vase", Start: 10, Step: 5})
		wantSale(t, s, err, "B", 15)
		w.Settled(0)
		stale := 0
		for _, step := range kit.Published[lifecycle.Transition](t, steps) {
			if step.On == machine.Stale(p.ActRejectProposal) && step.From == step.To {
				stale++
			}
		}
		if stale != 1 {
			t.Errorf("%d late rejections, want 1", stale)
		}
	})
}

// TestBidAtAnotherPrice does not count, and its bidder is out.
func TestBidAtAnotherPrice(t *testing.T) {
	for name, payload := range map[string]any{"higher": auction.PriceBid{Price: 99}, "unreadable": p.Raw(`{"price":"all"}`)} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				a := w.Peer("A")
				auction := startEnglish(w, t.Context(), []p.AgentID{"A"})
				a.Expect(p.ActInform)
				m, err := a.Expect(p.ActCFP).ReplyAs(a.Stamp(), p.ActPropose, payload)
				if err != nil {
					t.Fatal(err)
				}
				a.SendAgain(m)
				if r := a.Expect(p.ActRejectProposal).AsRefusal(); r.Code != p.CodeInvalidPayload {
					t.Errorf("got %v", r)
				}
				s, err := auction.Wait()
				wantNoSale(t, s, err)
				wantAbsent(t, s, "A", "failed", p.CodeInvalidPayload)
			})
		})
	}
}

// TestWinnerWithoutAnswer times out when the auction has to be over.
func TestWinnerWithoutAnswer(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		ids := spawn(w, bidder{value: 60}.never())
		w.Net.Intercept(func(m *p.Message) bool { return m.Performative() == p.ActFailure })
		start := time.Now()
		lot := vase()
		lot.Start, lot.EndsBy = 20, time.Now().Add(time.Minute)
		s, err := auction.English(t.Context(), w.Eddy, ids, lot)
		kit.WantElapsed(t, start, time.Minute)
		kit.WantEnd(t, err, "timed_out", p.CodeTimeout)
		if s.Winner != "A" || s.Price != 20 {
			t.Errorf("got %+v", s)
		}
		w.Settled(0)
	})
}

// TestLeaderStops stops the leader while the others consider a higher price. The leader's price
// is called once more, and the bidder that takes it has won.
func TestLeaderStops(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		b := &bidder{}
		b.consider = func(ctx context.Context, o auction.Offered) (bool, error) {
			if o.Price == 25 {
				err := w.StopAgent(context.WithoutCancel(ctx), "A")
				time.Sleep(time.Second) // until the auctioneer knows of it
				return false, err
			}
			return o.Price == 20, nil
		}
		s, err := auction.English(t.Context(), w.Eddy, spawn(w, &bidder{value: 22}, b), auction.Lot{Item: "vase", Start: 20, Step: 5, Reserve: 20})
		wantSale(t, s, err, "B", 20)
		if s.Rounds != 3 {
			t.Errorf("%d rounds", s.Rounds)
		}
		wantAbsent(t, s, "A", "failed", p.CodeStopped)
		w.Settled(0)
	})
}

// TestPriceOfTheLostLeaderIsCalledOnce stops the leader, whose price no other bidder takes. The
// auction then ends without a winner.
func TestPriceOfTheLostLeaderIsCalledOnce(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		var called []int64
		b := &bidder{}
		b.consider = func(ctx context.Context, o auction.Offered) (bool, error) {
			called = append(called, o.Price)
			time.Sleep(time.Second) // so that an auction without an end reaches its EndsBy
			if o.Price == 25 {
				err := w.StopAgent(context.WithoutCancel(ctx), "A")
				time.Sleep(time.Second) // until the auctioneer knows of it
				return false, err
			}
			return false, nil
		}
		s, err := auction.English(t.Context(), w.Eddy, spawn(w, &bidder{value: 22}, b), auction.Lot{
			Item: "vase", Start: 20, Step: 5, Reserve: 20, EndsBy: time.Now().Add(time.Minute),
		})
		wantNoSale(t, s, err)
		if want := []int64{20, 25, 20}; s.Rounds != len(want) || !slices.Equal(called, want) {
			t.Errorf("%d rounds with the prices %v, want %v", s.Rounds, called, want)
		}
		wantAbsent(t, s, "A", "failed", p.CodeStopped)
		w.Settled(0)
	})
}

// TestAuctionHoldsSlot has a bidder with one slot. A second auction is refused from the first
// price to the end.
func TestAuctionHoldsSlot(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		ids := spawn(w, &bidder{value: 41, max: 1}, &bidder{value: 20, max: 1})
		lot := vase()
		c := &bidder{consider: func(ctx context.Context, o auction.Offered) (bool, error) {
			if o.Round == 2 {
				s, err := auction.English(ctx, o.Agent, ids[:1], lot)
				wantNoSale(t, s, err)
				wantAbsent(t, s, "A", "refused", p.CodeBusy)
			}
			return o.Price <= 30, nil
		}}
		w.Add("D", c)
		s, err := auction.English(t.Context(), w.Eddy, []p.AgentID{"A", "D"}, lot)
		wantSale(t, s, err, "A", 30)
		synctest.Wait()
		for range 2 { // a bidder that has lost has its slot again, too
			s, err = auction.English(t.Context(), w.Eddy, ids, lot)
			wantSale(t, s, err, "A", 20)
			if synctest.Wait(); len(s.Absent) > 0 {
				t.Errorf("absent: %v", s.Absent)
			}
		}
		w.Settled(0)
	})
}

// TestRequestAtAnotherPrice fails: the bidder has won at its own bid.
func TestRequestAtAnotherPrice(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		spawn(w, &bidder{value: 50})
		a := w.Peer("Z")
		cfp := a.Send(p.Envelope{Receiver: "A", Performative: p.ActCFP, Protocol: "english-auction", ReplyWith: "r1", Payload: auction.Offer{Lot: vase(), Price: 30, Round: 1}})
		bid := a.Expect(p.ActPropose)
		request := a.Send(p.Envelope{
			Receiver: "A", Performative: p.ActRequest, Protocol: "english-auction", ConversationID: bid.ConversationID(),
			InReplyTo: string(cfp.ID()), ReplyWith: "r2", Payload: auction.Purchase{Lot: vase(), Price: 31},
		})
		if no := a.Expect(p.ActFailure); no.AsRefusal().Code != p.CodeInvalidPayload || !no.Answers(request) {
			t.Errorf("got %v", no.AsRefusal())
		}
		w.Settled(0)
	})
}

// TestReceiptOpensNoAuction has a receipt arrive at an auctioneer that has lost its
// conversations by a restart.
func TestReceiptOpensNoAuction(t *testing.T) {
	for _, protocol := range auctionRoles() {
		for _, c := range []struct {
			payload any
			want    bool
		}{
			{p.Receipt{Text: "nothing runs any more"}, false},
			{auction.Lot{Item: "a clock", Start: 10, Step: 1, EndsBy: time.Unix(60, 0)}, true},
		} {
			m, err := p.New(p.Envelope{
				ID: "m", Timestamp: time.Unix(1, 0), Sender: "A", Receiver: "B", Performative: p.ActInform,
				Protocol: protocol.Name(), InReplyTo: "cancel", Payload: c.payload,
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := protocol.Opens(m); got != c.want {
				t.Errorf("%s: %T opens one: %t, want %t", protocol.Name(), c.payload, got, c.want)
			}
		}
	}
}

// TestLateAnswerOpensNoAuction has a bidder answer the auctioneer after the end. The answer is
// an INFORM, like an announcement, and does not open an auction of the bidder.
func TestLateAnswerOpensNoAuction(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		seller := w.Add("Seller", &bidder{value: 5})
		bidder := w.Peer("Bidder")
		a, err := auction.StartEnglish(t.Context(), seller, []p.AgentID{"Bidder"}, auction.Lot{Item: "a clock", Start: 10, Step: 1})
		if err != nil {
			t.Fatal(err)
		}
		announced := bidder.Expect(p.ActInform)
		a.Cancel()
		_, _ = a.Wait()
		synctest.Wait()
		answer, err := announced.ReplyAs(bidder.Stamp(), p.ActInform, p.Raw(`{"text":"done"}`))
		if err != nil {
			t.Fatal(err)
		}
		bidder.SendAgain(answer)
		w.Settled(0)
	})
}

// auctionRoles are the roles of both auctions.
func auctionRoles() []actors.Protocol {
	return slices.DeleteFunc(library.Protocols(codons.Times{}), func(r actors.Protocol) bool {
		return r.Name() != "english-auction" && r.Name() != "dutch-auction"
	})
}

// TestEndAfterTheTransaction delivers the INFORM of the win after the winner has settled. It
// begins no other auction.
func TestEndAfterTheTransaction(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("A", &bidder{value: 50})
		var late *p.Message
		w.Net.Intercept(func(m *p.Message) bool {
			if m.Performative() == p.ActInform && m.InReplyTo() != "" {
				late = m
				return true
			}
			return m.Performative() == p.ActAcceptProposal
		})
		_, err := auction.Dutch(t.Context(), w.Eddy, []p.AgentID{"A"}, auction.Lot{Item: "it", Start: 50, Step: 10, Reserve: 10})
		if err != nil || late == nil {
			t.Fatalf("got %v, and %v was late", err, late)
		}
		w.Net.Intercept(nil)
		_ = w.System.Deliver("A", late) // it is refused or becomes a dead letter
		synctest.Wait()
		w.Settled(0)
	})
}

// TestRoundsEndWithTheAuction calls prices of rounds that would be longer than the auction. Bidders
// are told the end of the auction.
func TestRoundsEndWithTheAuction(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		lot := vase()
		lot.RoundTime, lot.EndsBy = time.Hour, time.Now().Add(time.Minute)
		calls := 0
		w.Net.Intercept(func(m *p.Message) bool {
			if m.Performative() != p.ActCFP {
				return false
			}
			if calls++; !m.ReplyBy().Equal(lot.EndsBy) {
				t.Errorf("a round ends at %v, want %v", m.ReplyBy(), lot.EndsBy)
			}
			return false
		})
		ids := spawn(w, bidder{value: 60}.never())
		if _, err := auction.English(t.Context(), w.Eddy, ids, lot); err == nil || calls == 0 {
			t.Errorf("%d prices were called, %v", calls, err)
		}
	})
}

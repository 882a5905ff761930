package codons_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// never ends either handler of a collector with its context.
func (c collector) never() *collector {
	if c.value == 0 {
		c.consider = never[bool, codons.Offered]
	}
	c.settle = never[p.InformResult, codons.Bought]
	return &c
}

func TestBiddersThatLeave(t *testing.T) {
	leaving := func(err error) *collector {
		return &collector{consider: func(context.Context, codons.Offered) (bool, error) { return false, err }}
	}
	inWorld(t, func(t *testing.T, w *world) {
		ids := w.gather(
			leaving(&p.Refusal{Code: p.CodeForbidden, Text: "not for me"}),
			leaving(&p.Refusal{Code: p.CodeInvalidPayload, Text: "no such thing"}),
			leaving(errors.New("secret")),
			&collector{consider: func(context.Context, codons.Offered) (bool, error) { panic("oh") }},
			&collector{value: 40},
			leaving(&p.Refusal{Code: p.CodeRejected}), // no more than a pass
		)
		w.spawn("Worker", &worker{})
		s, err := w.english(t.Context(), append(ids, "Worker", "Nobody"))
		if err != nil {
			wantNoSale(t, s, err)
		}
		if len(s.Absent) != 6 || s.Price != 10 || s.Rounds != 2 {
			t.Errorf("got %+v", s)
		}
		wantAbsent(t, s, "A", "refused", p.CodeForbidden)
		wantAbsent(t, s, "B", "not_understood", p.CodeInvalidPayload)
		wantAbsent(t, s, "C", "failed", p.CodeFailed)
		wantAbsent(t, s, "D", "failed", p.CodeInternal)
		wantAbsent(t, s, "Worker", "refused", p.CodeIncapable)
		wantAbsent(t, s, "Nobody", "refused", p.CodeUnknownAgent)
		w.settled(0)
	})
}

// TestSilentBiddersAreOutOfTheAuction after one round, and cost no more time.
func TestSilentBiddersAreOutOfTheAuction(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		ids := w.gather(collector{}.never(), &collector{value: 30}, &collector{value: 27})
		w.net.intercept(func(m *p.Message) bool { return m.Sender() == "A" })
		start := time.Now()
		s, err := w.english(t.Context(), ids)
		wantElapsed(t, start, codons.DefaultRoundTime)
		wantSale(t, s, err, "B", 30)
		wantAbsent(t, s, "A", "timed_out", p.CodeTimeout)
		w.settled(0)
	})
}

// TestLateBid is rejected, so that it binds nobody.
func TestLateBid(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.puppet("A")
		auction := w.startEnglish(t.Context(), []p.AgentID{"A"})
		a.next(p.ActInform)
		cfp := a.next(p.ActCFP)
		s, err := auction.Wait()
		wantNoSale(t, s, err)
		wantAbsent(t, s, "A", "timed_out", p.CodeTimeout)
		if end, err := p.PayloadAs[codons.AuctionEnd](a.next(p.ActInform)); err != nil || !end.Over || end.Sold {
			t.Errorf("it ends with %+v, %v", end, err)
		}
		late := a.bid(cfp, 10)
		if no := a.next(p.ActRejectProposal); no.AsRefusal().Code != p.CodeExpired || !no.Answers(late) {
			t.Errorf("got %v", no.AsRefusal())
		}
		a.silence()
	})
}

// bid answers a call with a price.
func (a *puppet) bid(cfp *p.Message, price int64) *p.Message {
	a.t.Helper()
	m, err := cfp.ReplyAs(a.Stamp(), p.ActPropose, codons.PriceBid{Price: price})
	if err != nil {
		a.t.Fatal(err)
	}
	a.send(m)
	return m
}

// pass answers a call without a bid.
func (a *puppet) pass(cfp *p.Message) {
	a.reply(cfp, p.Refuse{ReasonCode: p.CodeRejected, ReasonText: "no"})
}

// TestDoubleBid has the second of two bids in a round rejected, and the first count.
func TestDoubleBid(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, b := w.puppet("A"), w.puppet("B")
		auction := w.startEnglish(t.Context(), []p.AgentID{"A", "B"})
		a.next(p.ActInform)
		b.next(p.ActInform)
		cfp := a.next(p.ActCFP)
		first := a.bid(cfp, 10)
		second := a.bid(cfp, 10)
		if no := a.next(p.ActRejectProposal); !no.Answers(second) {
			t.Errorf("%s was rejected", no.InReplyTo())
		}
		b.pass(b.next(p.ActCFP))
		if yes := a.next(p.ActAcceptProposal); !yes.Answers(first) {
			t.Errorf("%s was accepted", yes.InReplyTo())
		}
		again := b.next(p.ActCFP)
		b.bid(again, 15)
		b.next(p.ActAcceptProposal)
		a.pass(a.next(p.ActCFP))
		b.next(p.ActInform)
		a.next(p.ActInform)
		s, err := auction.Wait()
		if wantNoSale(t, s, err); s.Price != 15 {
			t.Errorf("got %+v", s)
		}
		a.silence()
		b.silence()
	})
}

// TestBidAtAPriceThatIsOver neither counts for the price of now, nor ends the
// bidder's part in it.
func TestBidAtAPriceThatIsOver(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.gather(&collector{value: 10})
		b := w.puppet("B")
		auction := w.startEnglish(t.Context(), []p.AgentID{"A", "B"})
		b.next(p.ActInform)
		first := b.next(p.ActCFP)
		b.pass(first)
		second := b.next(p.ActCFP) // A leads
		b.bid(first, 15)           // as if it was called then
		b.reply(first, p.Refuse{ReasonCode: p.CodeForbidden, ReasonText: "I leave"})
		b.silence()
		b.bid(second, 15)
		b.next(p.ActAcceptProposal)
		b.next(p.ActInform)
		s, err := auction.Wait()
		if wantNoSale(t, s, err); s.Price != 15 || len(s.Absent) > 0 {
			t.Errorf("got %+v", s)
		}
	})
}

// TestVerdictOnAnEarlierBid comes when the bidder has bid again, and changes nothing.
func TestVerdictOnAnEarlierBid(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var held *p.Message
		var stale atomic.Int64
		w.Events.Listen(func(e actors.Event) {
			if step, ok := e.(codons.Transition); ok && step.On == machine.Stale(p.ActRejectProposal) && step.From == step.To {
				stale.Add(1)
			}
		})
		w.net.intercept(func(m *p.Message) bool {
			if m.Performative() == p.ActRejectProposal && held == nil {
				held = m
				return true
			}
			return false
		})
		b := &collector{value: 200}
		b.consider = func(_ context.Context, o codons.Offered) (bool, error) {
			if o.Round == 2 {
				return true, nil
			}
			return o.Round == 1, nil
		}
		b.settle = func(_ context.Context, w codons.Bought) (p.InformResult, error) {
			return p.InformResult{Status: p.StatusSuccess, Summary: "paid 15"}, nil
		}
		ids := w.gather(&collector{value: 10}, b)
		sys := w.System
		w.net.before = func(m *p.Message) {
			if m.Performative() == p.ActAcceptProposal && m.Receiver() == "B" && held != nil {
				_ = sys.Deliver("B", m) // the verdict of now, then that of before
				_ = sys.Deliver("B", held)
			}
		}
		s, err := codons.EnglishAuction(t.Context(), w.eddy, ids, codons.Lot{Item: "vase", Start: 10, Step: 5})
		wantSale(t, s, err, "B", 15)
		if stale.Load() != 1 {
			t.Errorf("%d verdicts came late, want 1", stale.Load())
		}
		w.settled(0)
	})
}

// TestBidOfAnotherPrice is none.
func TestBidOfAnotherPrice(t *testing.T) {
	for name, payload := range map[string]any{"higher": codons.PriceBid{Price: 99}, "nonsense": p.Raw(`{"price":"all"}`)} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				a := w.puppet("A")
				auction := w.startEnglish(t.Context(), []p.AgentID{"A"})
				a.next(p.ActInform)
				m, err := a.next(p.ActCFP).ReplyAs(a.Stamp(), p.ActPropose, payload)
				if err != nil {
					t.Fatal(err)
				}
				a.send(m)
				if r := a.next(p.ActRejectProposal).AsRefusal(); r.Code != p.CodeInvalidPayload {
					t.Errorf("got %v", r)
				}
				s, err := auction.Wait()
				wantNoSale(t, s, err)
				wantAbsent(t, s, "A", "failed", p.CodeInvalidPayload)
			})
		})
	}
}

// TestTransactionFails, and the lot is not given to another.
func TestTransactionFails(t *testing.T) {
	for name, c := range map[string]struct {
		settle func(context.Context, codons.Bought) (p.InformResult, error)
		code   p.Code
	}{
		"refusal": {func(context.Context, codons.Bought) (p.InformResult, error) {
			return p.InformResult{}, &p.Refusal{Code: p.CodeBudget, Text: "no money"}
		}, p.CodeBudget},
		"error":  {func(context.Context, codons.Bought) (p.InformResult, error) { return p.InformResult{}, errors.New("x") }, p.CodeFailed},
		"panic":  {func(context.Context, codons.Bought) (p.InformResult, error) { panic("oh") }, p.CodeInternal},
		"broken": {func(context.Context, codons.Bought) (p.InformResult, error) { return p.InformResult{}, nil }, p.CodeInternal},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				var other atomic.Bool
				ids := w.gather(&collector{value: 60, settle: c.settle}, &collector{value: 50, settle: func(context.Context, codons.Bought) (p.InformResult, error) {
					other.Store(true)
					return result(p.StatusSuccess), nil
				}})
				for _, sell := range []func(context.Context, []p.AgentID, ...codons.Option) (codons.Sale, error){w.english, w.dutch} {
					s, err := sell(t.Context(), ids)
					wantEnd(t, err, "failed", c.code)
					if s.Winner != "A" || s.Price < 50 || errors.Is(err, codons.ErrNoSale) || other.Load() {
						t.Errorf("got %+v; sold to the other: %v", s, other.Load())
					}
				}
				w.settled(0)
			})
		})
	}
}

// TestWinnerIsSilent until the auction has to be over.
func TestWinnerIsSilent(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		ids := w.gather(collector{value: 60}.never())
		w.net.intercept(func(m *p.Message) bool { return m.Performative() == p.ActFailure })
		start := time.Now()
		lot := vase()
		lot.Start, lot.EndsBy = 20, time.Now().Add(time.Minute)
		s, err := codons.EnglishAuction(t.Context(), w.eddy, ids, lot)
		wantElapsed(t, start, time.Minute)
		wantEnd(t, err, "timed_out", p.CodeTimeout)
		if s.Winner != "A" || s.Price != 20 {
			t.Errorf("got %+v", s)
		}
		w.settled(0)
	})
}

// TestAuctionIsCancelled while bidders consider, and while the winner settles: then
// nobody has won.
func TestAuctionIsCancelled(t *testing.T) {
	for name, c := range map[string]*collector{
		"considering": collector{}.never(),
		"settling":    collector{value: 60}.never(),
	} {
		for way, by := range map[string]func(context.CancelFunc, *codons.Auction){
			"Cancel": func(_ context.CancelFunc, a *codons.Auction) { a.Cancel() },
			"ctx":    func(cancel context.CancelFunc, _ *codons.Auction) { cancel() },
		} {
			t.Run(name+" by "+way, func(t *testing.T) {
				inWorld(t, func(t *testing.T, w *world) {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					a := w.startEnglish(ctx, w.gather(c, &collector{value: 30}))
					synctest.Wait()
					by(cancel, a)
					s, err := a.Wait()
					wantNoSale(t, s, err)
					if !errors.Is(err, context.Canceled) {
						t.Errorf("got %v", err)
					}
					wantAbsent(t, s, "A", "cancelled", p.CodeCanceled)
					w.settled(0)
				})
			})
		}
	}
}

// TestAuctionCompletesInSpiteOfCancel has the result win the race.
func TestAuctionCompletesInSpiteOfCancel(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.net.lose(p.ActInformResult, 1)
		a := w.startEnglish(t.Context(), w.gather(values(60, 32)...))
		synctest.Wait()
		a.Cancel()
		s, err := a.Wait()
		wantSale(t, s, err, "A", 30)
		w.settled(0)
	})
}

// TestWinnerThatGoesOn after CANCEL is reported, not called cancelled.
func TestWinnerThatGoesOn(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		free := make(chan struct{})
		a := w.startEnglish(t.Context(), w.gather(&collector{value: 60, settle: func(context.Context, codons.Bought) (p.InformResult, error) {
			<-free
			return result(p.StatusSuccess), nil
		}}, &collector{value: 30}))
		synctest.Wait()
		a.Cancel()
		s, err := a.Wait()
		wantEnd(t, err, "failed", p.CodeStillRunning)
		if s.Winner != "A" {
			t.Errorf("got %+v", s)
		}
		w.settled(1)
		close(free)
		w.settled(0)
	})
}

// TestAuctionSurvivesLosses of any act, in any round.
func TestAuctionSurvivesLosses(t *testing.T) {
	acts := []p.Performative{
		p.ActInform, p.ActCFP, p.ActPropose, p.ActRefuse, p.ActAcceptProposal, p.ActRejectProposal, p.ActRequest, p.ActInformResult,
	}
	for _, act := range acts {
		for skip := range 3 {
			inWorld(t, func(t *testing.T, w *world) {
				said, settled := 0, atomic.Int64{}
				w.net.intercept(func(m *p.Message) bool {
					if m.Performative() == act {
						said++
					}
					return m.Performative() == act && said == skip+1
				})
				ids := w.gather(&collector{value: 41, settle: func(context.Context, codons.Bought) (p.InformResult, error) {
					settled.Add(1)
					return p.InformResult{Status: p.StatusSuccess, Summary: "paid 40"}, nil
				}}, &collector{value: 36})
				lot := vase()
				lot.RoundTime = time.Minute // so that it is asked for again
				s, err := codons.EnglishAuction(t.Context(), w.eddy, ids, lot)
				if wantSale(t, s, err, "A", 40); settled.Load() != 1 || len(s.Absent) > 0 {
					t.Errorf("%s lost after %d: settled %d times, absent %v", act, skip, settled.Load(), s.Absent)
				}
				time.Sleep(codons.DefaultDeadline) // who has not heard the end
				w.settled(0)
			})
		}
	}
}

// TestAuctionWithDuplicates has every message come twice.
func TestAuctionWithDuplicates(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.net.intercept(func(m *p.Message) bool {
			_ = w.Deliver(m.Receiver(), m)
			return false
		})
		s, err := w.english(t.Context(), w.gather(values(41, 36)...))
		wantSale(t, s, err, "A", 40)
		s, err = w.dutch(t.Context(), []p.AgentID{"B", "A"})
		wantSale(t, s, err, "A", 37)
		w.settled(0)
	})
}

// TestLeaderStops while others consider a higher price: its price is called once
// more, and who takes it has won.
func TestLeaderStops(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		b := &collector{}
		b.consider = func(ctx context.Context, o codons.Offered) (bool, error) {
			if o.Price == 25 {
				err := w.StopAgent(context.WithoutCancel(ctx), "A")
				time.Sleep(time.Second) // until all know of it
				return false, err
			}
			return o.Price == 20, nil
		}
		s, err := codons.EnglishAuction(t.Context(), w.eddy, w.gather(&collector{value: 22}, b), codons.Lot{Item: "vase", Start: 20, Step: 5, Reserve: 20})
		wantSale(t, s, err, "B", 20)
		if s.Rounds != 3 {
			t.Errorf("%d rounds", s.Rounds)
		}
		wantAbsent(t, s, "A", "failed", p.CodeStopped)
		w.settled(0)
	})
}

// TestAuctioneerStops in the middle.
func TestAuctioneerStops(t *testing.T) {
	for name, c := range map[string]*collector{"considering": collector{}.never(), "settling": collector{value: 60}.never()} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				a := w.startEnglish(t.Context(), w.gather(c, &collector{value: 30}))
				synctest.Wait()
				if err := w.StopAgent(t.Context(), "Eddy"); err != nil {
					t.Fatal(err)
				}
				if _, err := a.Wait(); !errors.Is(err, p.CodeStopped) {
					t.Errorf("got %v", err)
				}
				w.settled(0)
			})
		})
	}
}

// TestAuctionTakesAPlace of a bidder from the first price to the end.
func TestAuctionTakesAPlace(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		ids := w.gather(&collector{value: 41, max: 1}, &collector{value: 20, max: 1})
		lot := vase()
		c := &collector{consider: func(ctx context.Context, o codons.Offered) (bool, error) {
			if o.Round == 2 {
				s, err := codons.EnglishAuction(ctx, o.Agent, ids[:1], lot)
				wantNoSale(t, s, err)
				wantAbsent(t, s, "A", "refused", p.CodeBusy)
			}
			return o.Price <= 30, nil
		}}
		w.spawn("D", c)
		s, err := codons.EnglishAuction(t.Context(), w.eddy, []p.AgentID{"A", "D"}, lot)
		wantSale(t, s, err, "A", 30)
		synctest.Wait()
		for range 2 { // who has lost has room again, too
			s, err = codons.EnglishAuction(t.Context(), w.eddy, ids, lot)
			wantSale(t, s, err, "A", 20)
			if synctest.Wait(); len(s.Absent) > 0 {
				t.Errorf("absent: %v", s.Absent)
			}
		}
		w.settled(0)
	})
}

// TestRequestAtAnotherPrice is not what the bidder has won.
func TestRequestAtAnotherPrice(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.gather(&collector{value: 50})
		a := w.puppet("Z")
		cfp := a.say(p.Envelope{Receiver: "A", Performative: p.ActCFP, Protocol: "english-auction", ReplyWith: "r1", Payload: codons.Offer{Lot: vase(), Price: 30, Round: 1}})
		bid := a.next(p.ActPropose)
		request := a.say(p.Envelope{
			Receiver: "A", Performative: p.ActRequest, Protocol: "english-auction", ConversationID: bid.ConversationID(),
			InReplyTo: string(cfp.ID()), ReplyWith: "r2", Payload: codons.Purchase{Lot: vase(), Price: 31},
		})
		if no := a.next(p.ActFailure); no.AsRefusal().Code != p.CodeInvalidPayload || !no.Answers(request) {
			t.Errorf("got %v", no.AsRefusal())
		}
		w.settled(0)
	})
}

// TestAReceiptOpensNoAuction holds where an auctioneer has forgotten what it has
// withdrawn.
func TestAReceiptOpensNoAuction(t *testing.T) {
	for _, protocol := range []actors.Protocol{codons.EnglishAuctions{}, codons.DutchAuctions{}} {
		for _, c := range []struct {
			payload any
			want    bool
		}{
			{p.Receipt{Text: "nothing runs any more"}, false},
			{codons.Lot{Item: "a clock", Start: 10, Step: 1, EndsBy: time.Unix(60, 0)}, true},
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

// TestALateAnswerOpensNoAuction: an agent that answers a copy of the auctioneer's
// REQUEST once more, as after its restart, answers a side that asked, and announces
// nothing.
func TestALateAnswerOpensNoAuction(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		seller := w.spawn("Seller", &collector{value: 5})
		bidder := w.puppet("Bidder")
		a, err := codons.StartEnglishAuction(t.Context(), seller, []p.AgentID{"Bidder"}, codons.Lot{Item: "a clock", Start: 10, Step: 1})
		if err != nil {
			t.Fatal(err)
		}
		announced := bidder.next(p.ActInform)
		a.Cancel()
		_, _ = a.Wait()
		synctest.Wait()
		answer, err := announced.ReplyAs(bidder.Stamp(), p.ActInform, news{"done"})
		if err != nil {
			t.Fatal(err)
		}
		bidder.send(answer)
		w.settled(0)
	})
}

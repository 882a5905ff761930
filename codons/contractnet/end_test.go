package contractnet_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/contractnet"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/internal/systemtest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// failing is the work of a winner that fails.
func failing(context.Context, contractnet.Awarded) (p.InformResult, error) {
	return p.InformResult{}, &p.Refusal{Code: p.CodeFailed, Text: "the roof fell in"}
}

// TestReserve awards the bids in reserve in the order of their costs, until one delivers.
func TestReserve(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Allow(systemtest.ErrorLogged)
		ids := spawn(w,
			&bidder{cost: 1, perform: failing},
			&bidder{cost: 4},
			&bidder{cost: 2, perform: func(context.Context, contractnet.Awarded) (p.InformResult, error) { panic("oh") }},
			&bidder{cost: 3},
		)
		a, err := call(w, t.Context(), ids, contractnet.WithReserve())
		wantWinners(t, a, err, "D")
		if !a.Awards[0].Bid.Held && a.Awards[0].Round != 1 {
			t.Errorf("got %+v", a.Awards[0])
		}
		wantLoss(t, a, "A", "failed", p.CodeFailed)
		wantLoss(t, a, "C", "failed", p.CodeInternal)
		wantLoss(t, a, "B", "rejected", p.CodeRejected)
		w.Settled(0)
	})
}

// TestReserveAfterTimeout awards a bid in reserve when the winner does not answer in time.
func TestReserveAfterTimeout(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		ids := spawn(w, &bidder{cost: 1, perform: kit.UntilDone[p.InformResult, contractnet.Awarded]}, &bidder{cost: 2})
		w.Net.Intercept(func(m *p.Message) bool { return m.Sender() == "A" && m.Performative() == p.ActFailure })
		start := time.Now()
		a, err := call(w, t.Context(), ids, contractnet.WithReserve(), contractnet.WithResultWithin(time.Minute))
		kit.WantElapsed(t, start, time.Minute)
		wantWinners(t, a, err, "B")
		wantLoss(t, a, "A", "timed_out", p.CodeTimeout)
		w.Settled(0)
	})
}

// TestReserveLapses has the winner fail after the bid in reserve has lapsed for the caller.
func TestReserveLapses(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Net.Intercept(func(m *p.Message) bool { return m.Sender() == "B" && m.Performative() == p.ActFailure })
		ids := spawn(w,
			&bidder{cost: 1, perform: func(ctx context.Context, a contractnet.Awarded) (p.InformResult, error) {
				time.Sleep(time.Minute)
				return failing(ctx, a)
			}},
			&bidder{consider: func(context.Context, contractnet.Called) (contractnet.Proposal, error) {
				return contractnet.Proposal{Cost: 2, ValidUntil: time.Now().Add(time.Second)}, nil
			}},
		)
		a, err := call(w, t.Context(), ids, contractnet.WithReserve())
		if !errors.Is(err, contractnet.ErrNoAward) {
			t.Errorf("got %v", err)
		}
		wantLoss(t, a, "A", "failed", p.CodeFailed)
		wantLoss(t, a, "B", "lapsed", p.CodeExpired)
		w.Settled(0)
	})
}

// TestInvalidDecisions withdraws the call from all bidders.
func TestInvalidDecisions(t *testing.T) {
	for name, decide := range map[string]func(context.Context, contractnet.Bidding) contractnet.Selection{
		"not a bidder": func(context.Context, contractnet.Bidding) contractnet.Selection {
			return contractnet.Selection{Award: []p.AgentID{"Z"}}
		},
		"a bidder twice": func(context.Context, contractnet.Bidding) contractnet.Selection {
			return contractnet.Selection{Award: []p.AgentID{"A", "a"}}
		},
		"too many awards": func(context.Context, contractnet.Bidding) contractnet.Selection {
			return contractnet.Selection{Award: []p.AgentID{"A", "B"}}
		},
		"a round after the last": func(context.Context, contractnet.Bidding) contractnet.Selection {
			return contractnet.Selection{Revise: []p.AgentID{"A"}}
		},
		"a panic": func(context.Context, contractnet.Bidding) contractnet.Selection { panic("oh") },
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				w.Allow(systemtest.ErrorLogged)
				a, err := call(w, t.Context(), spawn(w, &bidder{cost: 1}, &bidder{cost: 2}), contractnet.WithDecision(decide))
				if err == nil || errors.Is(err, contractnet.ErrNoAward) {
					t.Errorf("got %v", err)
				}
				wantLoss(t, a, "A", "cancelled", p.CodeCanceled)
				wantLoss(t, a, "B", "cancelled", p.CodeCanceled)
				w.Settled(0)
			})
		})
	}
}

// TestCancelledWhileDeciding cancels a call while a decision is made, and while a bid is in
// reserve.
func TestCancelledWhileDeciding(t *testing.T) {
	slow := func(ctx context.Context, _ contractnet.Bidding) contractnet.Selection {
		<-ctx.Done()
		return contractnet.Selection{Award: []p.AgentID{"A"}}
	}
	for name, c := range map[string]struct {
		bidder *bidder
		opts   []codons.Option
	}{
		"deciding":   {&bidder{}, []codons.Option{contractnet.WithDecision(slow)}},
		"in reserve": {&bidder{perform: kit.UntilDone[p.InformResult, contractnet.Awarded]}, []codons.Option{contractnet.WithReserve()}},
	} {
		for way, by := range map[string]func(context.CancelFunc, *contractnet.Tender){
			"Cancel": func(_ context.CancelFunc, tender *contractnet.Tender) { tender.Cancel() },
			"ctx":    func(cancel context.CancelFunc, _ *contractnet.Tender) { cancel() },
		} {
			t.Run(name+" by "+way, func(t *testing.T) {
				kit.InWorld(t, func(t *testing.T, w *kit.World) {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					tender := startCall(w, ctx, spawn(w, c.bidder, &bidder{cost: 1}), c.opts...)
					synctest.Wait()
					by(cancel, tender)
					a, err := tender.Wait()
					if !errors.Is(err, contractnet.ErrNoAward) || !errors.Is(err, context.Canceled) {
						t.Errorf("got %v", err)
					}
					wantLoss(t, a, "A", "cancelled", p.CodeCanceled)
					w.Settled(0)
				})
			})
		}
	}
}

// TestBidderStops has the best bidder stop. The bid in reserve is awarded.
func TestBidderStops(t *testing.T) {
	for name, c := range map[string]*bidder{
		"considering": {consider: kit.UntilDone[contractnet.Proposal, contractnet.Called]},
		"working":     {perform: kit.UntilDone[p.InformResult, contractnet.Awarded]},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				tender := startCall(w, t.Context(), spawn(w, c, &bidder{cost: 1}), contractnet.WithReserve())
				synctest.Wait()
				if err := w.StopAgent(t.Context(), "A"); err != nil {
					t.Fatal(err)
				}
				a, err := tender.Wait()
				wantWinners(t, a, err, "B")
				wantLoss(t, a, "A", "failed", p.CodeStopped)
				w.Settled(0)
			})
		})
	}
}

// TestLateProposal rejects a proposal that arrives after the end, so that it does not bind
// the bidder.
func TestLateProposal(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		a := w.Peer("A")
		tender := startCall(w, t.Context(), []p.AgentID{"A"}, contractnet.WithProposalsWithin(time.Minute))
		cfp := a.Expect(p.ActCFP)
		if call, err := p.PayloadAs[contractnet.Call](cfp); err != nil || call.Round != 1 || call.ResultBy.IsZero() || !cfp.ReplyBy().Equal(time.Now().Add(time.Minute)) {
			t.Errorf("called to %+v by %v, %v", call, cfp.ReplyBy(), err)
		}
		if _, err := tender.Wait(); !errors.Is(err, p.CodeTimeout) {
			t.Errorf("got %v", err)
		}
		for range 5 { // the call was sent again
			a.Expect(p.ActCFP)
			if synctest.Wait(); len(a.Got) == 0 {
				break
			}
		}
		late := a.Reply(cfp, contractnet.Proposal{Cost: 1})
		no := a.Expect(p.ActRejectProposal)
		if r := no.AsRefusal(); r.Code != p.CodeExpired || !no.Answers(late) {
			t.Errorf("got %v", r)
		}
		a.Silent()
	})
}

// TestUnreadableProposal rejects a proposal with the reason.
func TestUnreadableProposal(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		a := w.Peer("A")
		tender := startCall(w, t.Context(), []p.AgentID{"A"})
		bad, err := a.Expect(p.ActCFP).ReplyAs(a.Stamp(), p.ActPropose, p.Raw(`{"cost":"cheap"}`))
		if err != nil {
			t.Fatal(err)
		}
		a.SendAgain(bad)
		if r := a.Expect(p.ActRejectProposal).AsRefusal(); r.Code != p.CodeInvalidPayload {
			t.Errorf("got %v", r)
		}
		got, _ := tender.Wait()
		wantLoss(t, got, "A", "rejected", p.CodeInvalidPayload)
	})
}

// TestForgottenRejection has a bidder that repeats a proposal when the caller keeps its rejection
// no more. It is rejected again, so that it does not bind the bidder.
func TestForgottenRejection(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		a := w.Peer("A")
		var bids []*p.Message
		for range 100 {
			tender := startCall(w, t.Context(), []p.AgentID{"A"})
			bad, err := a.Expect(p.ActCFP).ReplyAs(a.Stamp(), p.ActPropose, p.Raw(`{"cost":"cheap"}`))
			if err != nil {
				t.Fatal(err)
			}
			a.SendAgain(bad)
			a.Expect(p.ActRejectProposal)
			_, _ = tender.Wait()
			bids = append(bids, bad)
		}
		for _, bid := range bids {
			a.SendAgain(bid)
			if no := a.Expect(p.ActRejectProposal); !no.Answers(bid) {
				t.Errorf("%s answers another proposal", no.ID())
			}
		}
		a.Silent()
	})
}

// TestForeignBidder has a bidder that sends JSON without conversation ids.
func TestForeignBidder(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		a := w.Peer("A")
		tender := startCall(w, t.Context(), []p.AgentID{"A"})
		cfp := a.Expect(p.ActCFP)
		a.Send(p.Envelope{Receiver: "Eddy", InReplyTo: string(cfp.ID()), Performative: p.ActPropose, ReplyWith: "offer-1", Payload: p.Raw(`{"cost":7,"colour":"red"}`)})
		yes := a.Expect(p.ActAcceptProposal)
		if yes.InReplyTo() != "offer-1" || yes.ReplyBy().IsZero() {
			t.Errorf("the award is %+v", yes.Envelope())
		}
		a.Send(p.Envelope{Receiver: "Eddy", InReplyTo: string(yes.ID()), Performative: p.ActInformResult, Payload: p.Raw(`{"task_status":"success"}`)})
		got, err := tender.Wait()
		wantWinners(t, got, err, "A")
		if got.Awards[0].Proposal.Cost != 7 {
			t.Errorf("got %+v", got)
		}
	})
}

// TestForeignCaller has a caller that sends JSON without a protocol.
func TestForeignCaller(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		spawn(w, &bidder{cost: 7})
		a := w.Peer("peer")
		a.Send(p.Envelope{Receiver: "A", Performative: p.ActCFP, Payload: p.Raw(`{"task":{"task_type":"x"}}`)})
		offer := a.Expect(p.ActPropose)
		if got, err := p.PayloadAs[contractnet.Proposal](offer); err != nil || got.Cost != 7 || got.ValidUntil.IsZero() {
			t.Errorf("proposed %+v, %v", got, err)
		}
		yes, err := offer.ReplyAs(a.Stamp(), p.ActAcceptProposal, p.Raw(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		a.SendAgain(yes)
		if done := a.Expect(p.ActInformResult); !done.Answers(yes) {
			t.Errorf("the result answers %q", done.InReplyTo())
		}
		a.Send(p.Envelope{Receiver: "A", Performative: p.ActCFP, Payload: p.Raw(`{"task":{}}`)})
		if r := a.Expect(p.ActNotUnderstood).AsRefusal(); r.Code != p.CodeInvalidPayload {
			t.Errorf("got %v", r)
		}
	})
}

// TestFailureWithTheCodeOfALapse has a winner fail with the code deadline_expired, by which
// the caller knows a lapsed proposal.
func TestFailureWithTheCodeOfALapse(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		a, _ := call(w, t.Context(), spawn(w, &bidder{perform: func(context.Context, contractnet.Awarded) (p.InformResult, error) {
			return p.InformResult{}, &p.Refusal{Code: p.CodeExpired, Text: "too late"}
		}}))
		wantLoss(t, a, "A", "failed", p.CodeTimeout)
	})
}

// TestAwardBacksOff has a winner that works for long. The waits between the repeated awards
// grow.
func TestAwardBacksOff(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		ids := spawn(w, &bidder{perform: func(context.Context, contractnet.Awarded) (p.InformResult, error) {
			time.Sleep(time.Hour)
			return kit.Result(p.StatusSuccess), nil
		}})
		said := 0
		w.Net.Intercept(func(m *p.Message) bool {
			if m.Performative() == p.ActAcceptProposal {
				said++
			}
			return false
		})
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Hour)
		defer cancel()
		a, err := call(w, ctx, ids, contractnet.WithProposalsWithin(time.Minute))
		wantWinners(t, a, err, "A")
		if said < 2 || said > 40 { // without growing waits it were one every ten seconds
			t.Errorf("awarded %d times", said)
		}
	})
}

// TestUnreadableResult counts as a failure: the bid in reserve is awarded.
func TestUnreadableResult(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		ids := spawn(w, &bidder{cost: 2})
		a := w.Peer("Z")
		go func() {
			a.Reply(a.Expect(p.ActCFP), contractnet.Proposal{Cost: 1})
			award := a.Expect(p.ActAcceptProposal)
			a.Send(p.Envelope{
				Receiver: "Eddy", Performative: p.ActInformResult, ConversationID: award.ConversationID(), InReplyTo: award.ReplyWith(),
				Payload: p.Raw(`{"task_status":7}`),
			})
		}()
		got, err := call(w, t.Context(), append(ids, "Z"), contractnet.WithReserve())
		wantWinners(t, got, err, "A")
		wantLoss(t, got, "Z", "completed", p.CodeInvalidPayload)
		w.Settled(0)
	})
}

// TestBiddersShareTheBudget has a handler with a budget call for proposals.
func TestBiddersShareTheBudget(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		ids := spawn(w, &bidder{cost: 2}, &bidder{cost: 1, perform: func(ctx context.Context, _ contractnet.Awarded) (p.InformResult, error) {
			return p.InformResult{Status: p.StatusSuccess, Summary: codons.BudgetLeft(ctx).String()}, codons.Spend(ctx, codons.Budget{codons.Tokens: 45})
		}})
		w.Add("Middle", &kit.Worker{Perform: func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
			a, err := contractnet.CallForProposals(ctx, t.Agent, ids, contractnet.Call{Task: t.TaskRequest})
			if err != nil {
				return p.InformResult{}, err
			}
			return a.Awards[0].Result, nil
		}})
		d, err := w.DelegateTo("Middle", codons.Budget{codons.Tokens: 91, codons.Calls: 4})
		got, _ := d.Wait()
		if err != nil || got.Summary != "calls 1, depth 31, tokens 45" || d.Spent().String() != "calls 2, tokens 45" {
			t.Errorf("the winner had %q, spent %q, %v", got.Summary, d.Spent(), err)
		}
	})
}

// TestProposalLapsesDuringDecision has a proposal lapse while a decision is made. The next
// decision is made without it.
func TestProposalLapsesDuringDecision(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		ids := spawn(w, &bidder{cost: 1, perform: failing}, &bidder{cost: 2}, &bidder{consider: func(context.Context, contractnet.Called) (contractnet.Proposal, error) {
			return contractnet.Proposal{Cost: 3, ValidUntil: time.Now().Add(5 * time.Second)}, nil
		}})
		a, err := call(w, t.Context(), ids, contractnet.WithReserve(), contractnet.WithDecision(func(ctx context.Context, b contractnet.Bidding) contractnet.Selection {
			time.Sleep(10 * time.Second)
			return contractnet.LowestCost(ctx, b)
		}))
		wantWinners(t, a, err, "B")
		wantLoss(t, a, "A", "failed", p.CodeFailed)
		wantLoss(t, a, "C", "lapsed", p.CodeExpired)
		w.Settled(0)
	})
}

// TestTimesOfACall checks the times that bidders are told: no result is due after the caller's own
// deadline, nor after the ResultBy of the call.
func TestTimesOfACall(t *testing.T) {
	for name, c := range map[string]struct{ ctx, resultBy, within, want, award time.Duration }{
		"the deadline of ctx is first": {time.Minute, time.Hour, time.Hour, time.Minute, time.Minute},
		"ResultBy is first":            {time.Hour, time.Minute, time.Hour, time.Minute, time.Minute},
		"the award has less time":      {time.Hour, time.Minute, time.Second, time.Minute, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				start, award := time.Now(), time.Time{}
				var resultBy time.Time
				w.Net.Intercept(func(m *p.Message) bool {
					switch m.Performative() { //nolint:exhaustive // the peer sends only these
					case p.ActCFP:
						call, err := p.PayloadAs[contractnet.Call](m)
						if err != nil {
							t.Error(err)
						}
						resultBy = call.ResultBy
					case p.ActAcceptProposal:
						award = m.ReplyBy()
					}
					return false
				})
				ctx, cancel := context.WithTimeout(t.Context(), c.ctx)
				defer cancel()
				ids := spawn(w, &bidder{cost: 1})
				a, err := contractnet.CallForProposals(ctx, w.Eddy, ids, contractnet.Call{Task: kit.Task(), ResultBy: start.Add(c.resultBy)}, contractnet.WithResultWithin(c.within))
				wantWinners(t, a, err, "A")
				if got := resultBy.Sub(start); got != c.want {
					t.Errorf("the result is due after %v, want %v", got, c.want)
				}
				if got := award.Sub(start); got != c.award {
					t.Errorf("the award is due after %v, want %v", got, c.award)
				}
			})
		})
	}
}

// TestTermsOfTheRoundBefore calls for another round without terms: those of the round before hold.
func TestTermsOfTheRoundBefore(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		var terms []string
		ids := spawn(w, &bidder{consider: func(_ context.Context, c contractnet.Called) (contractnet.Proposal, error) {
			text, err := c.Terms.MarshalJSON()
			terms = append(terms, string(text))
			return contractnet.Proposal{Cost: 1}, err
		}})
		decide := func(ctx context.Context, b contractnet.Bidding) contractnet.Selection {
			if b.Again {
				return contractnet.Selection{Revise: ids}
			}
			return contractnet.LowestCost(ctx, b)
		}
		call := contractnet.Call{Task: kit.Task(), Terms: p.ContentOf(map[string]any{"below": 5})}
		a, err := contractnet.CallForProposals(t.Context(), w.Eddy, ids, call, contractnet.WithRounds(2), contractnet.WithDecision(decide))
		wantWinners(t, a, err, "A")
		if len(terms) != 2 || terms[0] != `{"below":5}` || terms[1] != terms[0] {
			t.Errorf("the terms were %q", terms)
		}
	})
}

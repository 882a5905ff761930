package codons_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// failing wins, and does not deliver.
func failing(context.Context, codons.Awarded) (p.InformResult, error) {
	return p.InformResult{}, &p.Refusal{Code: p.CodeFailed, Text: "the roof fell in"}
}

func TestWinnerFails(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, err := w.call(t.Context(), w.hire(&craftsman{cost: 1, perform: failing}, &craftsman{cost: 2}))
		if !errors.Is(err, codons.ErrNoAward) || !errors.Is(err, p.CodeFailed) {
			t.Errorf("got %v", err)
		}
		wantLoss(t, a, "A", "failed", p.CodeFailed)
		wantLoss(t, a, "B", "rejected", p.CodeRejected) // at once, as FIPA has it
		w.settled(0)
	})
}

// TestReserve has the next best do it, one after the other.
func TestReserve(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		ids := w.hire(
			&craftsman{cost: 1, perform: failing},
			&craftsman{cost: 4},
			&craftsman{cost: 2, perform: func(context.Context, codons.Awarded) (p.InformResult, error) { panic("oh") }},
			&craftsman{cost: 3},
		)
		a, err := w.call(t.Context(), ids, codons.WithReserve())
		wantWinners(t, a, err, "D")
		if !a.Awards[0].Bid.Held && a.Awards[0].Round != 1 {
			t.Errorf("got %+v", a.Awards[0])
		}
		wantLoss(t, a, "A", "failed", p.CodeFailed)
		wantLoss(t, a, "C", "failed", p.CodeInternal)
		wantLoss(t, a, "B", "rejected", p.CodeRejected)
		w.settled(0)
	})
}

// TestReserveAfterSilence has a winner of whom nothing is heard.
func TestReserveAfterSilence(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		ids := w.hire(&craftsman{cost: 1, perform: never[p.InformResult, codons.Awarded]}, &craftsman{cost: 2})
		w.net.intercept(func(m *p.Message) bool { return m.Sender() == "A" && m.Performative() == p.ActFailure })
		start := time.Now()
		a, err := w.call(t.Context(), ids, codons.WithReserve(), codons.WithResultWithin(time.Minute))
		wantElapsed(t, start, time.Minute)
		wantWinners(t, a, err, "B")
		wantLoss(t, a, "A", "timed_out", p.CodeTimeout)
		w.settled(0)
	})
}

// TestReserveLapses has the winner fail when no other bid is valid any more, by the
// caller's own clock.
func TestReserveLapses(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.net.intercept(func(m *p.Message) bool { return m.Sender() == "B" && m.Performative() == p.ActFailure })
		ids := w.hire(
			&craftsman{cost: 1, perform: func(ctx context.Context, a codons.Awarded) (p.InformResult, error) {
				time.Sleep(time.Minute)
				return failing(ctx, a)
			}},
			&craftsman{consider: func(context.Context, codons.Called) (codons.Proposal, error) {
				return codons.Proposal{Cost: 2, ValidUntil: time.Now().Add(time.Second)}, nil
			}},
		)
		a, err := w.call(t.Context(), ids, codons.WithReserve())
		if !errors.Is(err, codons.ErrNoAward) {
			t.Errorf("got %v", err)
		}
		wantLoss(t, a, "A", "failed", p.CodeFailed)
		wantLoss(t, a, "B", "lapsed", p.CodeExpired)
		w.settled(0)
	})
}

func TestDecisionsThatAreNotAllowed(t *testing.T) {
	for name, decide := range map[string]func(context.Context, codons.Bidding) codons.Selection{
		"a stranger": func(context.Context, codons.Bidding) codons.Selection {
			return codons.Selection{Award: []p.AgentID{"Z"}}
		},
		"twice": func(context.Context, codons.Bidding) codons.Selection {
			return codons.Selection{Award: []p.AgentID{"A", "a"}}
		},
		"too many": func(context.Context, codons.Bidding) codons.Selection {
			return codons.Selection{Award: []p.AgentID{"A", "B"}}
		},
		"no more rounds": func(context.Context, codons.Bidding) codons.Selection {
			return codons.Selection{Revise: []p.AgentID{"A"}}
		},
		"a panic": func(context.Context, codons.Bidding) codons.Selection { panic("oh") },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				a, err := w.call(t.Context(), w.hire(&craftsman{cost: 1}, &craftsman{cost: 2}), codons.WithDecision(decide))
				if err == nil || errors.Is(err, codons.ErrNoAward) {
					t.Errorf("got %v", err)
				}
				wantLoss(t, a, "A", "cancelled", p.CodeCanceled)
				wantLoss(t, a, "B", "cancelled", p.CodeCanceled)
				w.settled(0)
			})
		})
	}
}

// TestCallIsCancelled while bidders consider, while a decision is made, and while a
// winner works.
func TestCallIsCancelled(t *testing.T) {
	slow := func(ctx context.Context, _ codons.Bidding) codons.Selection {
		<-ctx.Done()
		return codons.Selection{Award: []p.AgentID{"A"}}
	}
	for name, c := range map[string]struct {
		bidder *craftsman
		opts   []codons.CallOption
	}{
		"considering": {&craftsman{consider: never[codons.Proposal, codons.Called]}, nil},
		"deciding":    {&craftsman{}, []codons.CallOption{codons.WithDecision(slow)}},
		"working":     {&craftsman{perform: never[p.InformResult, codons.Awarded]}, nil},
		"in reserve":  {&craftsman{perform: never[p.InformResult, codons.Awarded]}, []codons.CallOption{codons.WithReserve()}},
	} {
		for way, by := range map[string]func(context.CancelFunc, *codons.Tender){
			"Cancel": func(_ context.CancelFunc, tender *codons.Tender) { tender.Cancel() },
			"ctx":    func(cancel context.CancelFunc, _ *codons.Tender) { cancel() },
		} {
			t.Run(name+" by "+way, func(t *testing.T) {
				inWorld(t, func(t *testing.T, w *world) {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					tender := w.startCall(ctx, w.hire(c.bidder, &craftsman{cost: 1}), c.opts...)
					synctest.Wait()
					by(cancel, tender)
					a, err := tender.Wait()
					if !errors.Is(err, codons.ErrNoAward) || !errors.Is(err, context.Canceled) {
						t.Errorf("got %v", err)
					}
					wantLoss(t, a, "A", "cancelled", p.CodeCanceled)
					w.settled(0)
				})
			})
		}
	}
}

// TestCallCompletesInSpiteOfCancel has the result win the race.
func TestCallCompletesInSpiteOfCancel(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		tender := w.startCall(t.Context(), w.hire(&craftsman{}))
		w.net.lose(p.ActInformResult, 1)
		synctest.Wait()
		tender.Cancel()
		a, err := tender.Wait()
		wantWinners(t, a, err, "A")
		w.settled(0)
	})
}

// TestWinnerThatDoesNotStop is reported, not called cancelled.
func TestWinnerThatDoesNotStop(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		free := make(chan struct{})
		tender := w.startCall(t.Context(), w.hire(&craftsman{perform: func(context.Context, codons.Awarded) (p.InformResult, error) {
			<-free
			return result(p.StatusSuccess), nil
		}}))
		synctest.Wait()
		tender.Cancel()
		a, _ := tender.Wait()
		wantLoss(t, a, "A", "failed", p.CodeStillRunning)
		w.settled(1)
		close(free)
		w.settled(0)
	})
}

func TestContractNetSurvivesLosses(t *testing.T) {
	for _, act := range []p.Performative{p.ActCFP, p.ActPropose, p.ActAcceptProposal, p.ActInformResult, p.ActRejectProposal} {
		inWorld(t, func(t *testing.T, w *world) {
			var considered, performed atomic.Int64
			c := &craftsman{
				consider: func(context.Context, codons.Called) (codons.Proposal, error) {
					considered.Add(1)
					return codons.Proposal{Cost: 1}, nil
				},
				perform: func(context.Context, codons.Awarded) (p.InformResult, error) {
					performed.Add(1)
					return result(p.StatusSuccess), nil
				},
			}
			w.net.lose(act, 2)
			a, err := w.call(t.Context(), w.hire(c, &craftsman{cost: 2}))
			wantWinners(t, a, err, "A")
			if considered.Load() != 1 || performed.Load() != 1 {
				t.Errorf("%s: considered %d times, performed %d times", act, considered.Load(), performed.Load())
			}
			time.Sleep(time.Minute) // the rejection is asked for again
			w.settled(0)
		})
	}
}

// TestContractNetWithDuplicates has every message come twice.
func TestContractNetWithDuplicates(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.net.intercept(func(m *p.Message) bool {
			_ = w.Deliver(m.Receiver(), m)
			return false
		})
		a, err := w.call(t.Context(), w.hire(&craftsman{cost: 1}, &craftsman{cost: 2}))
		wantWinners(t, a, err, "A")
		w.settled(0)
	})
}

func TestBidderStops(t *testing.T) {
	for name, c := range map[string]*craftsman{
		"considering": {consider: never[codons.Proposal, codons.Called]},
		"working":     {perform: never[p.InformResult, codons.Awarded]},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				tender := w.startCall(t.Context(), w.hire(c, &craftsman{cost: 1}), codons.WithReserve())
				synctest.Wait()
				if err := w.StopAgent(t.Context(), "A"); err != nil {
					t.Fatal(err)
				}
				a, err := tender.Wait()
				wantWinners(t, a, err, "B")
				wantLoss(t, a, "A", "failed", p.CodeStopped)
				w.settled(0)
			})
		})
	}
}

func TestCallerStops(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		tender := w.startCall(t.Context(), w.hire(&craftsman{perform: never[p.InformResult, codons.Awarded]}, &craftsman{cost: 1}), codons.WithReserve())
		synctest.Wait()
		if err := w.StopAgent(t.Context(), "Eddy"); err != nil {
			t.Fatal(err)
		}
		a, err := tender.Wait()
		if !errors.Is(err, codons.ErrNoAward) {
			t.Errorf("got %v", err)
		}
		wantLoss(t, a, "A", "abandoned", p.CodeStopped)
		wantLoss(t, a, "B", "abandoned", p.CodeStopped)
		w.settled(0)
	})
}

// TestLateProposal is rejected, so that it binds nobody.
func TestLateProposal(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.puppet("A")
		tender := w.startCall(t.Context(), []p.AgentID{"A"}, codons.WithProposalsWithin(time.Minute))
		cfp := a.next(p.ActCFP)
		if call, err := p.PayloadAs[codons.Call](cfp); err != nil || call.Round != 1 || call.ResultBy.IsZero() || !cfp.ReplyBy().Equal(time.Now().Add(time.Minute)) {
			t.Errorf("called to %+v by %v, %v", call, cfp.ReplyBy(), err)
		}
		if _, err := tender.Wait(); !errors.Is(err, p.CodeTimeout) {
			t.Errorf("got %v", err)
		}
		for range 5 { // the call was sent again
			a.next(p.ActCFP)
			if synctest.Wait(); len(a.got) == 0 {
				break
			}
		}
		late := a.reply(cfp, codons.Proposal{Cost: 1})
		no := a.next(p.ActRejectProposal)
		if r := no.AsRefusal(); r.Code != p.CodeExpired || !no.Answers(late) {
			t.Errorf("got %v", r)
		}
		a.silence()
	})
}

// TestUnreadableProposal is rejected with the reason.
func TestUnreadableProposal(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.puppet("A")
		tender := w.startCall(t.Context(), []p.AgentID{"A"})
		bad, err := a.next(p.ActCFP).ReplyAs(a.Stamp(), p.ActPropose, p.Raw(`{"cost":"cheap"}`))
		if err != nil {
			t.Fatal(err)
		}
		a.send(bad)
		if r := a.next(p.ActRejectProposal).AsRefusal(); r.Code != p.CodeInvalidPayload {
			t.Errorf("got %v", r)
		}
		got, _ := tender.Wait()
		wantLoss(t, got, "A", "rejected", p.CodeInvalidPayload)
	})
}

// TestForeignBidder speaks JSON of its own, without conversation ids.
func TestForeignBidder(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.puppet("A")
		tender := w.startCall(t.Context(), []p.AgentID{"A"})
		cfp := a.next(p.ActCFP)
		a.say(p.Envelope{Receiver: "Eddy", InReplyTo: string(cfp.ID()), Performative: p.ActPropose, ReplyWith: "offer-1", Payload: p.Raw(`{"cost":7,"colour":"red"}`)})
		yes := a.next(p.ActAcceptProposal)
		if yes.InReplyTo() != "offer-1" || yes.ReplyBy().IsZero() {
			t.Errorf("the award is %+v", yes.Envelope())
		}
		a.say(p.Envelope{Receiver: "Eddy", InReplyTo: string(yes.ID()), Performative: p.ActInformResult, Payload: p.Raw(`{"task_status":"success"}`)})
		got, err := tender.Wait()
		wantWinners(t, got, err, "A")
		if got.Awards[0].Proposal.Cost != 7 {
			t.Errorf("got %+v", got)
		}
	})
}

// TestForeignCaller speaks JSON of its own, and names no protocol.
func TestForeignCaller(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.hire(&craftsman{cost: 7})
		a := w.puppet("puppet")
		a.say(p.Envelope{Receiver: "A", Performative: p.ActCFP, Payload: p.Raw(`{"task":{"task_type":"x"}}`)})
		offer := a.next(p.ActPropose)
		if got, err := p.PayloadAs[codons.Proposal](offer); err != nil || got.Cost != 7 || got.ValidUntil.IsZero() {
			t.Errorf("proposed %+v, %v", got, err)
		}
		yes, err := offer.ReplyAs(a.Stamp(), p.ActAcceptProposal, p.Raw(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		a.send(yes)
		if done := a.next(p.ActInformResult); !done.Answers(yes) {
			t.Errorf("the result answers %q", done.InReplyTo())
		}
		a.say(p.Envelope{Receiver: "A", Performative: p.ActCFP, Payload: p.Raw(`{"task":{}}`)})
		if r := a.next(p.ActNotUnderstood).AsRefusal(); r.Code != p.CodeInvalidPayload {
			t.Errorf("got %v", r)
		}
	})
}

// TestFailureIsNoLapse has a winner fail with the code by which a lapsed proposal is
// known.
func TestFailureIsNoLapse(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, _ := w.call(t.Context(), w.hire(&craftsman{perform: func(context.Context, codons.Awarded) (p.InformResult, error) {
			return p.InformResult{}, &p.Refusal{Code: p.CodeExpired, Text: "too late"}
		}}))
		wantLoss(t, a, "A", "failed", p.CodeTimeout)
	})
}

// TestAwardsAreRepeatedSeldom while the winner works, long after the call was due.
func TestAwardsAreRepeatedSeldom(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		ids := w.hire(&craftsman{perform: func(context.Context, codons.Awarded) (p.InformResult, error) {
			time.Sleep(time.Hour)
			return result(p.StatusSuccess), nil
		}})
		said := 0
		w.net.intercept(func(m *p.Message) bool {
			if m.Performative() == p.ActAcceptProposal {
				said++
			}
			return false
		})
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Hour)
		defer cancel()
		a, err := w.call(ctx, ids, codons.WithProposalsWithin(time.Minute))
		wantWinners(t, a, err, "A")
		if said < 2 || said > 40 { // at least one every ten seconds, were it not for the longer waits
			t.Errorf("awarded %d times", said)
		}
	})
}

// TestUnreadableResult is none: the reserve is awarded.
func TestUnreadableResult(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		ids := w.hire(&craftsman{cost: 2})
		a := w.puppet("Z")
		go func() {
			a.reply(a.next(p.ActCFP), codons.Proposal{Cost: 1})
			award := a.next(p.ActAcceptProposal)
			a.say(p.Envelope{
				Receiver: "Eddy", Performative: p.ActInformResult, ConversationID: award.ConversationID(), InReplyTo: award.ReplyWith(),
				Payload: p.Raw(`{"task_status":7}`),
			})
		}()
		got, err := w.call(t.Context(), append(ids, "Z"), codons.WithReserve())
		wantWinners(t, got, err, "A")
		wantLoss(t, got, "Z", "completed", p.CodeInvalidPayload)
		w.settled(0)
	})
}

// TestBiddersShareTheBudget of the handler that calls them.
func TestBiddersShareTheBudget(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		ids := w.hire(&craftsman{cost: 2}, &craftsman{cost: 1, perform: func(ctx context.Context, _ codons.Awarded) (p.InformResult, error) {
			return p.InformResult{Status: p.StatusSuccess, Summary: codons.Left(ctx).String()}, codons.Spend(ctx, codons.Budget{codons.Tokens: 45})
		}})
		w.spawn("Middle", &worker{perform: func(ctx context.Context, t codons.Task) (p.InformResult, error) {
			a, err := codons.CallForProposals(ctx, t.Agent, ids, codons.Call{Task: t.TaskRequest})
			if err != nil {
				return p.InformResult{}, err
			}
			return a.Awards[0].Result, nil
		}})
		d, err := w.delegateTo("Middle", codons.Budget{codons.Tokens: 91, codons.Calls: 4})
		got, _ := d.Wait()
		if err != nil || got.Summary != "calls 1, depth 31, tokens 45" || d.Spent().String() != "calls 2, tokens 45" {
			t.Errorf("the winner had %q, spent %q, %v", got.Summary, d.Spent(), err)
		}
	})
}

// TestDecisionAboutWhoIsGone has a proposal lapse while its caller makes up its mind: the
// next decision is made all the same.
func TestDecisionAboutWhoIsGone(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		ids := w.hire(&craftsman{cost: 1, perform: failing}, &craftsman{cost: 2}, &craftsman{consider: func(context.Context, codons.Called) (codons.Proposal, error) {
			return codons.Proposal{Cost: 3, ValidUntil: time.Now().Add(5 * time.Second)}, nil
		}})
		a, err := w.call(t.Context(), ids, codons.WithReserve(), codons.WithDecision(func(ctx context.Context, b codons.Bidding) codons.Selection {
			time.Sleep(10 * time.Second)
			return codons.LowestCost(ctx, b)
		}))
		wantWinners(t, a, err, "B")
		wantLoss(t, a, "A", "failed", p.CodeFailed)
		wantLoss(t, a, "C", "lapsed", p.CodeExpired)
		w.settled(0)
	})
}

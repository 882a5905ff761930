package contractnet_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/contractnet"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// yielding returns a bidder that bids less in each round, down to its floor.
func yielding(t *testing.T, first, step, floor float64) *bidder {
	return &bidder{consider: func(_ context.Context, c contractnet.Called) (contractnet.Proposal, error) {
		if c.Round != len(c.Previous)+1 {
			t.Errorf("round %d after %d proposals", c.Round, len(c.Previous))
		}
		cost := first - step*float64(len(c.Previous))
		if cost < floor {
			return contractnet.Proposal{}, &p.Refusal{Code: p.CodeForbidden, Text: "not for less"}
		}
		return contractnet.Proposal{Cost: cost}, nil
	}}
}

// bargain returns a decision that calls the bidders below a limit for less, and awards in the
// last round, or when only one bid is left.
func bargain(limit float64) func(context.Context, contractnet.Bidding) contractnet.Selection {
	return func(ctx context.Context, b contractnet.Bidding) contractnet.Selection {
		if !b.Again || len(b.Bids) == 1 {
			return contractnet.LowestCost(ctx, b)
		}
		v := contractnet.Selection{Call: contractnet.Call{Terms: p.ContentOf(map[string]any{"below": limit})}}
		for _, bid := range b.Bids {
			if bid.Proposal.Cost < limit {
				v.Revise = append(v.Revise, bid.Bidder)
			}
		}
		return v
	}
}

func TestRoundsOfBidding(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		ids := spawn(w, yielding(t, 10, 3, 1), yielding(t, 9, 1, 1), yielding(t, 20, 5, 1), yielding(t, 9, 2, 8))
		a, err := call(w, t.Context(), ids, contractnet.WithRounds(3), contractnet.WithDecision(bargain(12)))
		wantWinners(t, a, err, "A")
		if win := a.Awards[0]; win.Round != 3 || win.Proposal.Cost != 4 {
			t.Errorf("won by %+v", win)
		}
		wantLoss(t, a, "B", "rejected", p.CodeRejected)
		wantLoss(t, a, "C", "rejected", p.CodeRejected)
		wantLoss(t, a, "D", "refused", p.CodeForbidden)
		w.Settled(0)
	})
}

func TestRoundsTranscript(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		ids := spawn(w, yielding(t, 9, 1, 1))
		rounds := 0
		a, err := call(w, t.Context(), ids, contractnet.WithRounds(2), contractnet.WithDecision(func(ctx context.Context, b contractnet.Bidding) contractnet.Selection {
			if rounds++; b.Again {
				return contractnet.Selection{Revise: ids}
			}
			return contractnet.LowestCost(ctx, b)
		}))
		wantWinners(t, a, err, "A")
		if rounds != 2 {
			t.Errorf("%d rounds", rounds)
		}
		synctest.Wait()
		kit.Golden(t, "iterated-contract-net", w.Lines())
	})
}

// TestRoundsSurviveLosses loses each message of the second round.
func TestRoundsSurviveLosses(t *testing.T) {
	for _, act := range []p.Performative{p.ActCFP, p.ActPropose, p.ActAcceptProposal, p.ActInformResult} {
		kit.InWorld(t, func(t *testing.T, w *kit.World) {
			said := map[p.MessageID]bool{}
			w.Net.Intercept(func(m *p.Message) bool {
				first := len(said) > 1 && !said[m.ID()]
				said[m.ID()] = true
				return first && m.Performative() == act
			})
			ids := spawn(w, yielding(t, 9, 1, 1))
			a, err := call(w, t.Context(), ids, contractnet.WithRounds(2), contractnet.WithDecision(func(ctx context.Context, b contractnet.Bidding) contractnet.Selection {
				if b.Again {
					return contractnet.Selection{Revise: ids}
				}
				return contractnet.LowestCost(ctx, b)
			}))
			wantWinners(t, a, err, "A")
			if a.Awards[0].Round != 2 {
				t.Errorf("%s lost: won by %+v", act, a.Awards[0])
			}
			w.Settled(0)
		})
	}
}

// TestAwardAndRevise has one decision award a bid and revise another. The revised bid wins
// only if the awarded bidder fails.
func TestAwardAndRevise(t *testing.T) {
	for name, first := range map[string]*bidder{"A": {cost: 1}, "B": {cost: 1, perform: failing}} {
		kit.InWorld(t, func(t *testing.T, w *kit.World) {
			ids := spawn(w, first, yielding(t, 9, 1, 1))
			a, err := call(w, t.Context(), ids, contractnet.WithRounds(2), contractnet.WithDecision(func(ctx context.Context, b contractnet.Bidding) contractnet.Selection {
				if b.Again {
					return contractnet.Selection{Award: []p.AgentID{"A"}, Revise: []p.AgentID{"B"}}
				}
				return contractnet.LowestCost(ctx, b)
			}))
			wantWinners(t, a, err, p.AgentID(name))
			w.Settled(0)
		})
	}
}

// TestRevisedCallAfterLapse sends a revised call after the proposal has lapsed. The bidder
// sends its FAILURE again and does not consider the call.
func TestRevisedCallAfterLapse(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		considered := 0
		spawn(w, &bidder{consider: func(context.Context, contractnet.Called) (contractnet.Proposal, error) {
			considered++
			return contractnet.Proposal{ValidUntil: time.Now().Add(time.Second)}, nil
		}})
		a := w.Peer("peer")
		first := a.Send(p.Envelope{Receiver: "A", Protocol: "iterated-contract-net", Payload: contractnet.Call{Task: kit.Task()}})
		a.Expect(p.ActPropose)
		lapsed := a.Expect(p.ActFailure)
		if r := lapsed.AsRefusal(); r.Code != p.CodeExpired {
			t.Errorf("got %v", r)
		}
		second, err := first.Follow(a.Stamp(), contractnet.Call{Task: kit.Task(), Round: 2})
		if err != nil {
			t.Fatal(err)
		}
		a.SendAgain(second)
		if again := a.Expect(p.ActFailure); again.ID() != lapsed.ID() || considered != 1 {
			t.Errorf("got %v, considered %d times", again.ID(), considered)
		}
	})
}

// TestCallerBids has the caller bid, too. Its proposals expect an answer, and arrive at its
// own caller side.
func TestCallerBids(t *testing.T) {
	for name, opts := range map[string][]codons.Option{
		"one round": nil,
		"more": {contractnet.WithRounds(3), contractnet.WithDecision(func(ctx context.Context, b contractnet.Bidding) contractnet.Selection {
			if b.Again {
				return contractnet.Selection{Revise: []p.AgentID{"A"}}
			}
			return contractnet.LowestCost(ctx, b)
		})},
		"with a conversation id": {codons.WithConversation("errand")},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				self := w.Add("A", &bidder{})
				a, err := contractnet.CallForProposals(t.Context(), self, []p.AgentID{"A"}, contractnet.Call{Task: kit.Task()}, opts...)
				if err != nil || len(a.Awards) != 1 {
					t.Fatalf("got %+v, %v", a, err)
				}
				w.Settled(0)
			})
		})
	}
}

// TestProposalLapsesBeforeTheNextCall has a proposal lapse while the call of the next round
// is on its way. The FAILURE that says so answers the earlier call, and still counts.
func TestProposalLapsesBeforeTheNextCall(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		ids := spawn(w, &bidder{consider: func(context.Context, contractnet.Called) (contractnet.Proposal, error) {
			return contractnet.Proposal{ValidUntil: time.Now().Add(time.Second)}, nil
		}})
		calls := 0
		w.Net.Intercept(func(m *p.Message) bool {
			if m.Performative() != p.ActCFP {
				return false
			}
			calls++
			return calls > 1 // the second is late
		})
		a, err := contractnet.CallForProposals(t.Context(), w.Eddy, ids, contractnet.Call{Task: kit.Task()},
			contractnet.WithRounds(2), codons.WithRetry(codons.Retry{First: -1}),
			contractnet.WithDecision(func(_ context.Context, b contractnet.Bidding) contractnet.Selection {
				return contractnet.Selection{Revise: ids}
			}))
		var end *codons.EndError
		if !errors.Is(err, contractnet.ErrNoAward) || !errors.As(a.Lost[0].Err, &end) || end.State != "lapsed" {
			t.Errorf("got %+v, %v", a, err)
		}
		w.Settled(0)
	})
}

package codons_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// yielding bids less in each round, down to its floor.
func yielding(t *testing.T, first, step, floor float64) *craftsman {
	return &craftsman{consider: func(_ context.Context, c codons.Called) (codons.Proposal, error) {
		if c.Round != len(c.Previous)+1 {
			t.Errorf("round %d after %d proposals", c.Round, len(c.Previous))
		}
		cost := first - step*float64(len(c.Previous))
		if cost < floor {
			return codons.Proposal{}, &p.Refusal{Code: p.CodeForbidden, Text: "not for less"}
		}
		return codons.Proposal{Cost: cost}, nil
	}}
}

// bargain calls those for less who bid less than a limit, and awards in the last
// round, or when only one is left.
func bargain(limit float64) func(context.Context, codons.Bidding) codons.Selection {
	return func(ctx context.Context, b codons.Bidding) codons.Selection {
		if !b.Again || len(b.Bids) == 1 {
			return codons.LowestCost(ctx, b)
		}
		v := codons.Selection{Call: codons.Call{Terms: p.ContentOf(map[string]any{"below": limit})}}
		for _, bid := range b.Bids {
			if bid.Proposal.Cost < limit {
				v.Revise = append(v.Revise, bid.Bidder)
			}
		}
		return v
	}
}

func TestRoundsOfBidding(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		ids := w.hire(yielding(t, 10, 3, 1), yielding(t, 9, 1, 1), yielding(t, 20, 5, 1), yielding(t, 9, 2, 8))
		a, err := w.call(t.Context(), ids, codons.WithRounds(3), codons.WithDecision(bargain(12)))
		wantWinners(t, a, err, "A")
		if win := a.Awards[0]; win.Round != 3 || win.Proposal.Cost != 4 {
			t.Errorf("won by %+v", win)
		}
		wantLoss(t, a, "B", "rejected", p.CodeRejected)
		wantLoss(t, a, "C", "rejected", p.CodeRejected)
		wantLoss(t, a, "D", "refused", p.CodeForbidden)
		w.settled(0)
	})
}

func TestRoundsTranscript(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		ids := w.hire(yielding(t, 9, 1, 1))
		rounds := 0
		a, err := w.call(t.Context(), ids, codons.WithRounds(2), codons.WithDecision(func(ctx context.Context, b codons.Bidding) codons.Selection {
			if rounds++; b.Again {
				return codons.Selection{Revise: ids}
			}
			return codons.LowestCost(ctx, b)
		}))
		wantWinners(t, a, err, "A")
		if rounds != 2 {
			t.Errorf("%d rounds", rounds)
		}
		synctest.Wait()
		golden(t, "iterated-contract-net", w.monitor.lines())
	})
}

// TestRoundsSurviveLosses of any message of the second round.
func TestRoundsSurviveLosses(t *testing.T) {
	for _, act := range []p.Performative{p.ActCFP, p.ActPropose, p.ActAcceptProposal, p.ActInformResult} {
		inWorld(t, func(t *testing.T, w *world) {
			said := map[p.MessageID]bool{}
			w.net.intercept(func(m *p.Message) bool {
				first := len(said) > 1 && !said[m.ID()]
				said[m.ID()] = true
				return first && m.Performative() == act
			})
			ids := w.hire(yielding(t, 9, 1, 1))
			a, err := w.call(t.Context(), ids, codons.WithRounds(2), codons.WithDecision(func(ctx context.Context, b codons.Bidding) codons.Selection {
				if b.Again {
					return codons.Selection{Revise: ids}
				}
				return codons.LowestCost(ctx, b)
			}))
			wantWinners(t, a, err, "A")
			if a.Awards[0].Round != 2 {
				t.Errorf("%s lost: won by %+v", act, a.Awards[0])
			}
			w.settled(0)
		})
	}
}

// TestAwardAndRevise at once: while one delivers, others bid again, and win only if
// it fails.
func TestAwardAndRevise(t *testing.T) {
	for name, first := range map[string]*craftsman{"A": {cost: 1}, "B": {cost: 1, perform: failing}} {
		inWorld(t, func(t *testing.T, w *world) {
			ids := w.hire(first, yielding(t, 9, 1, 1))
			a, err := w.call(t.Context(), ids, codons.WithRounds(2), codons.WithDecision(func(ctx context.Context, b codons.Bidding) codons.Selection {
				if b.Again {
					return codons.Selection{Award: []p.AgentID{"A"}, Revise: []p.AgentID{"B"}}
				}
				return codons.LowestCost(ctx, b)
			}))
			wantWinners(t, a, err, p.AgentID(name))
			w.settled(0)
		})
	}
}

// TestRoundAfterTheEnd has a revised call come when the proposal has lapsed: it is
// told so again, and begins nothing.
func TestRoundAfterTheEnd(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		considered := 0
		w.hire(&craftsman{consider: func(context.Context, codons.Called) (codons.Proposal, error) {
			considered++
			return codons.Proposal{ValidUntil: time.Now().Add(time.Second)}, nil
		}})
		a := w.puppet("puppet")
		first := a.say(p.Envelope{Receiver: "A", Protocol: "iterated-contract-net", Payload: codons.Call{Task: task()}})
		a.next(p.ActPropose)
		lapsed := a.next(p.ActFailure)
		if r := lapsed.AsRefusal(); r.Code != p.CodeExpired {
			t.Errorf("got %v", r)
		}
		second, err := first.Follow(a.Stamp(), codons.Call{Task: task(), Round: 2})
		if err != nil {
			t.Fatal(err)
		}
		a.send(second)
		if again := a.next(p.ActFailure); again.ID() != lapsed.ID() || considered != 1 {
			t.Errorf("got %v, considered %d times", again.ID(), considered)
		}
	})
}

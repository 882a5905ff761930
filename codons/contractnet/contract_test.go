package contractnet_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/contractnet"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/machine"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// bidder bids its cost and delivers at once. Its functions replace that when they are set.
type bidder struct {
	cost     float64
	consider func(context.Context, contractnet.Called) (contractnet.Proposal, error)
	perform  func(context.Context, contractnet.Awarded) (p.InformResult, error)
	max      int
}

func (*bidder) Describe() p.Capabilities { return p.Capabilities{} }

func (c *bidder) MaxTasks() int { return c.max }

func (c *bidder) ConsiderCall(ctx context.Context, call contractnet.Called) (contractnet.Proposal, error) {
	if c.consider != nil {
		return c.consider(ctx, call)
	}
	return contractnet.Proposal{Cost: c.cost}, nil
}

func (c *bidder) PerformAward(ctx context.Context, a contractnet.Awarded) (p.InformResult, error) {
	if c.perform != nil {
		return c.perform(ctx, a)
	}
	return kit.Result(p.StatusSuccess), nil
}

// spawn spawns bidders with the ids A, B, … and returns the ids.
func spawn(w *kit.World, all ...*bidder) []p.AgentID {
	w.T.Helper()
	var ids []p.AgentID
	for i, c := range all {
		ids = append(ids, p.AgentID(rune('A'+i)))
		w.Add(ids[i], c)
	}
	return ids
}

// call runs a call for proposals of Eddy.
func call(w *kit.World, ctx context.Context, bidders []p.AgentID, opts ...codons.Option) (contractnet.Allocation, error) {
	return contractnet.CallForProposals(ctx, w.Eddy, bidders, contractnet.Call{Task: kit.Task()}, opts...)
}

func startCall(w *kit.World, ctx context.Context, bidders []p.AgentID, opts ...codons.Option) *contractnet.Tender {
	w.T.Helper()
	t, err := contractnet.Start(ctx, w.Eddy, bidders, contractnet.Call{Task: kit.Task()}, opts...)
	if err != nil {
		w.T.Fatal(err)
	}
	return t
}

// wantWinners expects awards to the bidders ids, and no error.
func wantWinners(t testing.TB, a contractnet.Allocation, err error, ids ...p.AgentID) {
	t.Helper()
	var got []p.AgentID
	for _, w := range a.Awards {
		got = append(got, w.Bidder)
	}
	if err != nil || !slices.Equal(got, ids) {
		t.Errorf("won by %v, want %v; lost %v, error %v", got, ids, a.Lost, err)
	}
}

// wantLoss expects the loss of a bidder in a state with a code.
func wantLoss(t testing.TB, a contractnet.Allocation, id p.AgentID, state string, code p.Code) {
	t.Helper()
	for _, l := range a.Lost {
		if l.Bidder == id {
			kit.WantEnd(t, l.Err, machine.State(state), code)
			return
		}
	}
	t.Errorf("%s did not lose: %+v", id, a)
}

func TestLowestCostWins(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		ids := spawn(w, &bidder{cost: 5}, &bidder{cost: 3, perform: func(_ context.Context, a contractnet.Awarded) (p.InformResult, error) {
			if a.Proposal.Cost != 3 || a.Call.Task.TaskType != "debug_code" || a.Message.ReplyBy().IsZero() {
				t.Errorf("awarded %+v", a)
			}
			return kit.Result(p.StatusSuccess), nil
		}}, &bidder{cost: 3})
		a, err := call(w, t.Context(), ids)
		wantWinners(t, a, err, "B")
		if win := a.Awards[0]; win.Proposal.Cost != 3 || win.Round != 1 || win.Result.Status != p.StatusSuccess {
			t.Errorf("got %+v", win)
		}
		wantLoss(t, a, "A", "rejected", p.CodeRejected)
		wantLoss(t, a, "C", "rejected", p.CodeRejected)
		w.Settled(0)
	})
}

// TestTranscript compares the messages of an award and of a rejection with the golden file.
func TestTranscript(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		a, err := call(w, t.Context(), spawn(w, &bidder{cost: 5}))
		wantWinners(t, a, err, "A")
		b, err := contractnet.CallForProposals(t.Context(), w.Eddy, []p.AgentID{"A"}, contractnet.Call{Task: kit.Task()}, contractnet.WithDecision(
			func(context.Context, contractnet.Bidding) contractnet.Selection { return contractnet.Selection{} }))
		if !errors.Is(err, contractnet.ErrNoAward) {
			t.Errorf("got %v", err)
		}
		wantLoss(t, b, "A", "rejected", p.CodeRejected)
		synctest.Wait()
		kit.Golden(t, "contract-net", w.Lines())
	})
}

// TestInvalidProposal has a bidder whose proposal is invalid, beside one that refuses and
// one that does not answer in time. The error has the reasons of all.
func TestInvalidProposal(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		ids := spawn(w,
			&bidder{consider: func(context.Context, contractnet.Called) (contractnet.Proposal, error) {
				return contractnet.Proposal{}, &p.Refusal{Code: p.CodeForbidden, Text: "not for you"}
			}},
			&bidder{cost: math.Inf(1)},
			&bidder{consider: kit.UntilDone[contractnet.Proposal, contractnet.Called]},
		)
		start := time.Now()
		a, err := call(w, t.Context(), ids, contractnet.WithProposalsWithin(time.Minute))
		kit.WantElapsed(t, start, time.Minute)
		if !errors.Is(err, contractnet.ErrNoAward) || !errors.Is(err, p.CodeForbidden) || !errors.Is(err, p.CodeTimeout) {
			t.Errorf("got %v", err)
		}
		wantLoss(t, a, "A", "refused", p.CodeForbidden)
		wantLoss(t, a, "B", "failed", p.CodeInternal)
		w.Settled(0)
	})
}

func TestCallWithoutTask(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		ids := spawn(w, &bidder{})
		if _, err := contractnet.CallForProposals(t.Context(), w.Eddy, ids, contractnet.Call{}); !errors.Is(err, p.CodeInvalidPayload) {
			t.Errorf("got %v", err)
		}
		w.Settled(0)
	})
}

func TestSeveralWinners(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		a, err := call(w, t.Context(), spawn(w, &bidder{cost: 3}, &bidder{cost: 1}, &bidder{cost: 2}), contractnet.WithWinners(2))
		wantWinners(t, a, err, "B", "C")
		wantLoss(t, a, "A", "rejected", p.CodeRejected)
		b, err := call(w, t.Context(), []p.AgentID{"A", "B", "C"}, contractnet.WithWinners(9))
		wantWinners(t, b, err, "A", "B", "C")
		w.Settled(0)
	})
}

// TestProposalHoldsSlot has a bidder with one slot. A second call is refused until the first
// proposal is rejected.
func TestProposalHoldsSlot(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		ids := spawn(w, &bidder{cost: 1, max: 1})
		rejecting := contractnet.WithDecision(func(ctx context.Context, _ contractnet.Bidding) contractnet.Selection {
			b, err := call(w, ctx, ids)
			if !errors.Is(err, contractnet.ErrNoAward) {
				t.Errorf("got %v", err)
			}
			wantLoss(t, b, "A", "refused", p.CodeBusy)
			return contractnet.Selection{}
		})
		if _, err := call(w, t.Context(), ids, rejecting); !errors.Is(err, contractnet.ErrNoAward) {
			t.Errorf("got %v", err)
		}
		synctest.Wait()
		a, err := call(w, t.Context(), ids)
		wantWinners(t, a, err, "A")
		synctest.Wait()
		a, err = call(w, t.Context(), ids)
		wantWinners(t, a, err, "A")
	})
}

package codons_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// craftsman bids what it costs, and delivers at once, unless it has functions that
// do otherwise.
type craftsman struct {
	cost     float64
	consider func(context.Context, codons.Called) (codons.Proposal, error)
	perform  func(context.Context, codons.Awarded) (p.InformResult, error)
	max      int
}

func (*craftsman) Describe() p.Capabilities { return p.Capabilities{} }

func (c *craftsman) MaxTasks() int { return c.max }

func (c *craftsman) ConsiderCall(ctx context.Context, call codons.Called) (codons.Proposal, error) {
	if c.consider != nil {
		return c.consider(ctx, call)
	}
	return codons.Proposal{Cost: c.cost}, nil
}

func (c *craftsman) PerformAward(ctx context.Context, a codons.Awarded) (p.InformResult, error) {
	if c.perform != nil {
		return c.perform(ctx, a)
	}
	return result(p.StatusSuccess), nil
}

// never ends a handler with its context.
func never[T, In any](ctx context.Context, _ In) (T, error) {
	<-ctx.Done()
	var none T
	return none, context.Cause(ctx)
}

// hire spawns the craftsmen A, B, … and returns their ids.
func (w *world) hire(all ...*craftsman) []p.AgentID {
	w.t.Helper()
	var ids []p.AgentID
	for i, c := range all {
		ids = append(ids, p.AgentID(rune('A'+i)))
		w.spawn(ids[i], c)
	}
	return ids
}

// call has Eddy call for proposals.
func (w *world) call(ctx context.Context, bidders []p.AgentID, opts ...codons.CallOption) (codons.Allocation, error) {
	return codons.CallForProposals(ctx, w.eddy, bidders, codons.Call{Task: task()}, opts...)
}

func (w *world) startCall(ctx context.Context, bidders []p.AgentID, opts ...codons.CallOption) *codons.Tender {
	w.t.Helper()
	t, err := codons.StartCall(ctx, w.eddy, bidders, codons.Call{Task: task()}, opts...)
	if err != nil {
		w.t.Fatal(err)
	}
	return t
}

// wantWinners expects awards to those, and no error.
func wantWinners(t testing.TB, a codons.Allocation, err error, ids ...p.AgentID) {
	t.Helper()
	var got []p.AgentID
	for _, w := range a.Awards {
		got = append(got, w.Bidder)
	}
	if err != nil || !slices.Equal(got, ids) {
		t.Errorf("won by %v, want %v; lost %v, error %v", got, ids, a.Lost, err)
	}
}

// wantLoss expects that the bidder lost in that way.
func wantLoss(t testing.TB, a codons.Allocation, id p.AgentID, state string, code p.Code) {
	t.Helper()
	for _, l := range a.Lost {
		if l.Bidder == id {
			wantEnd(t, l.Err, machineState(state), code)
			return
		}
	}
	t.Errorf("%s did not lose: %+v", id, a)
}

func TestLowestCostWins(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		ids := w.hire(&craftsman{cost: 5}, &craftsman{cost: 3, perform: func(_ context.Context, a codons.Awarded) (p.InformResult, error) {
			if a.Proposal.Cost != 3 || a.Call.Task.TaskType != "debug_code" || a.Message.ReplyBy().IsZero() {
				t.Errorf("awarded %+v", a)
			}
			return result(p.StatusSuccess), nil
		}}, &craftsman{cost: 3})
		a, err := w.call(t.Context(), ids)
		wantWinners(t, a, err, "B")
		if win := a.Awards[0]; win.Proposal.Cost != 3 || win.Round != 1 || win.Result.Status != p.StatusSuccess {
			t.Errorf("got %+v", win)
		}
		wantLoss(t, a, "A", "rejected", p.CodeRejected)
		wantLoss(t, a, "C", "rejected", p.CodeRejected)
		w.settled(0)
	})
}

// TestContractNetTranscript is the course of one conversation.
func TestContractNetTranscript(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, err := w.call(t.Context(), w.hire(&craftsman{cost: 5}))
		wantWinners(t, a, err, "A")
		b, err := codons.CallForProposals(t.Context(), w.eddy, []p.AgentID{"A"}, codons.Call{Task: task()}, codons.WithDecision(
			func(context.Context, codons.Bidding) codons.Selection { return codons.Selection{} }))
		if !errors.Is(err, codons.ErrNoAward) {
			t.Errorf("got %v", err)
		}
		wantLoss(t, b, "A", "rejected", p.CodeRejected)
		synctest.Wait()
		golden(t, "contract-net", w.monitor.lines())
	})
}

func TestBidsAreTurnedDown(t *testing.T) {
	refusing := func(err error) *craftsman {
		return &craftsman{consider: func(context.Context, codons.Called) (codons.Proposal, error) { return codons.Proposal{}, err }}
	}
	inWorld(t, func(t *testing.T, w *world) {
		ids := w.hire(
			refusing(&p.Refusal{Code: p.CodeForbidden, Text: "not for you"}),
			refusing(&p.Refusal{Code: p.CodeInvalidPayload, Text: "no such task"}),
			refusing(errors.New("secret")),
			&craftsman{consider: func(context.Context, codons.Called) (codons.Proposal, error) { panic("oh") }},
			&craftsman{consider: func(context.Context, codons.Called) (codons.Proposal, error) {
				return codons.Proposal{Cost: infinite()}, nil
			}},
			&craftsman{consider: never[codons.Proposal, codons.Called]},
		)
		w.spawn("Worker", &worker{})
		start := time.Now()
		a, err := w.call(t.Context(), append(ids, "Worker", "Nobody"), codons.WithProposalsWithin(time.Minute))
		wantElapsed(t, start, time.Minute)
		if !errors.Is(err, codons.ErrNoAward) || !errors.Is(err, p.CodeForbidden) || !errors.Is(err, p.CodeTimeout) {
			t.Errorf("got %v", err)
		}
		wantLoss(t, a, "A", "refused", p.CodeForbidden)
		wantLoss(t, a, "B", "not_understood", p.CodeInvalidPayload)
		wantLoss(t, a, "C", "failed", p.CodeFailed)
		wantLoss(t, a, "D", "failed", p.CodeInternal)
		wantLoss(t, a, "E", "failed", p.CodeInternal)
		wantLoss(t, a, "Worker", "refused", p.CodeIncapable)
		wantLoss(t, a, "Nobody", "refused", p.CodeUnknownAgent)
		w.settled(0)
	})
}

// TestSilentBiddersAreOut, and do not hold up the others for longer.
func TestSilentBiddersAreOut(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		ids := w.hire(&craftsman{cost: 1, consider: never[codons.Proposal, codons.Called]}, &craftsman{cost: 2})
		w.net.lose(p.ActFailure, 1) // with which A would say so
		start := time.Now()
		a, err := w.call(t.Context(), ids, codons.WithProposalsWithin(time.Minute))
		wantElapsed(t, start, time.Minute)
		wantWinners(t, a, err, "B")
		wantLoss(t, a, "A", "timed_out", p.CodeTimeout)
		w.settled(0)
	})
}

func TestCallsThatCannotBegin(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.hire(&craftsman{})
		if _, err := w.call(t.Context(), nil); err == nil {
			t.Error("no bidders, no error")
		}
		if _, err := w.call(t.Context(), []p.AgentID{"A", "a"}); err == nil {
			t.Error("a bidder twice, no error")
		}
		if _, err := codons.CallForProposals(t.Context(), w.eddy, []p.AgentID{"A"}, codons.Call{}); !errors.Is(err, p.CodeInvalidPayload) {
			t.Errorf("no task: %v", err)
		}
		if _, err := w.call(t.Context(), []p.AgentID{"A", ""}); !errors.Is(err, p.CodeInvalidPayload) {
			t.Errorf("nobody: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := w.call(ctx, []p.AgentID{"A"}); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled before: %v", err)
		}
		w.settled(0)
	})
}

func TestSeveralWinners(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, err := w.call(t.Context(), w.hire(&craftsman{cost: 3}, &craftsman{cost: 1}, &craftsman{cost: 2}), codons.WithWinners(2))
		wantWinners(t, a, err, "B", "C")
		wantLoss(t, a, "A", "rejected", p.CodeRejected)
		b, err := w.call(t.Context(), []p.AgentID{"A", "B", "C"}, codons.WithWinners(9))
		wantWinners(t, b, err, "A", "B", "C")
		w.settled(0)
	})
}

// TestBusyBidder has room for one bid, which takes up its place until it is rejected.
func TestBusyBidder(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		ids := w.hire(&craftsman{cost: 1, max: 1})
		rejecting := codons.WithDecision(func(ctx context.Context, _ codons.Bidding) codons.Selection {
			b, err := w.call(ctx, ids)
			if !errors.Is(err, codons.ErrNoAward) {
				t.Errorf("got %v", err)
			}
			wantLoss(t, b, "A", "refused", p.CodeBusy)
			return codons.Selection{}
		})
		if _, err := w.call(t.Context(), ids, rejecting); !errors.Is(err, codons.ErrNoAward) {
			t.Errorf("got %v", err)
		}
		synctest.Wait()
		a, err := w.call(t.Context(), ids)
		wantWinners(t, a, err, "A")
		synctest.Wait()
		a, err = w.call(t.Context(), ids)
		wantWinners(t, a, err, "A")
	})
}

func infinite() float64 { return math.Inf(1) }

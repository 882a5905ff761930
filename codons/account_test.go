package codons_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// middle has Eddy delegate to an agent with that handler, whose budget is 100 tokens
// and 5 calls, and returns what the handler says is left.
func (w *world) middle(perform func(context.Context, codons.Task) error) (left string, d *codons.Delegated, err error) {
	w.t.Helper()
	w.spawn("Middle", &worker{perform: func(ctx context.Context, t codons.Task) (p.InformResult, error) {
		err := perform(ctx, t)
		return p.InformResult{Status: p.StatusSuccess, Summary: codons.Left(ctx).String()}, err
	}})
	d, err = codons.StartDelegation(w.t.Context(), w.eddy, "Middle", task(),
		codons.WithBudget(codons.Budget{codons.Tokens: 100, codons.Calls: 5}))
	if err != nil {
		w.t.Fatal(err)
	}
	r, err := d.Wait()
	return r.Summary, d, err
}

// TestNumbersBeyondReason neither make an allowance out of a debt nor a debt out of
// an allowance.
func TestNumbersBeyondReason(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Leaf", &worker{perform: spends(codons.Budget{codons.Tokens: math.MaxInt64})})
		left, d, err := w.middle(func(ctx context.Context, t codons.Task) error {
			_, err := codons.Delegate(ctx, t.Agent, "Leaf", t.TaskRequest, codons.WithBudget(codons.Budget{codons.Calls: math.MaxInt64}))
			if !errors.Is(err, p.CodeBudget) || !strings.Contains(err.Error(), "calls: ") {
				w.t.Errorf("so many calls: %v", err)
			}
			for range 3 {
				_, err = codons.Delegate(ctx, t.Agent, "Leaf", t.TaskRequest)
				wantEnd(w.t, err, "failed", p.CodeBudget)
			}
			return nil
		})
		if err != nil || !strings.HasPrefix(left, "calls 2, depth 32, tokens -") {
			t.Errorf("left %q, %v", left, err)
		}
		if spent := d.Spent()[codons.Tokens]; spent != math.MaxInt64 {
			t.Errorf("spent %d", spent)
		}
	})
}

// TestQuestionsCostOnlyTheirCall although nobody gave them a budget.
func TestQuestionsCostOnlyTheirCall(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		ids := []p.AgentID{"A", "B", "C"}
		for _, id := range ids {
			w.spawn(id, &worker{})
		}
		left, _, err := w.middle(func(ctx context.Context, t codons.Task) error {
			got, err := codons.WhisperAll(ctx, t.Agent, ids, p.QueryCapabilities{Type: p.QuerySummary})
			if len(got) != len(ids) {
				w.t.Errorf("%d of %d answered", len(got), len(ids))
			}
			return err
		})
		if err != nil || left != "calls 2, depth 32, tokens 100" {
			t.Errorf("left %q, %v", left, err)
		}
	})
}

// TestWhatNeverRanCostsNothing wherever the CANCEL reached it.
func TestWhatNeverRanCostsNothing(t *testing.T) {
	t.Run("its request was lost", func(t *testing.T) {
		inWorld(t, func(t *testing.T, w *world) {
			w.spawn("Leaf", &worker{})
			left, _, err := w.middle(func(ctx context.Context, t codons.Task) error {
				w.net.lose(p.ActTaskRequest, 1)
				d, err := codons.StartDelegation(ctx, t.Agent, "Leaf", t.TaskRequest)
				if err == nil {
					synctest.Wait()
					d.Cancel()
					_, err = d.Wait()
					wantEnd(w.t, err, "cancelled", p.CodeCanceled)
				}
				return nil
			})
			if err != nil || left != "calls 4, depth 32, tokens 100" {
				t.Errorf("left %q, %v", left, err)
			}
		})
	})
	t.Run("the agent panicked over it", func(t *testing.T) {
		inWorld(t, func(t *testing.T, w *world) {
			rounds := atomic.Int64{}
			w.spawn("Leaf", &worker{consider: func(context.Context, codons.Task) codons.Decision {
				if rounds.Add(1) > 1 {
					panic("boom")
				}
				return codons.Accept()
			}, perform: func(context.Context, codons.Task) (p.InformResult, error) { return asking("more"), nil }})
			left, _, err := w.middle(func(ctx context.Context, t codons.Task) error {
				_, err := codons.Delegate(ctx, t.Agent, "Leaf", t.TaskRequest,
					codons.WithInput(func(context.Context, p.InformResult) (p.TaskRequest, bool) { return task(), true }))
				return err
			})
			if err != nil || left != "calls 4, depth 32, tokens 100" {
				t.Errorf("left %q, %v", left, err)
			}
		})
	})
}

// TestAPartialResultSaysWhatItCost because no further word may come.
func TestAPartialResultSaysWhatItCost(t *testing.T) {
	for name, c := range map[string]struct {
		goOn, lost, refused bool
		left                string
	}{
		"it stands":                {left: "calls 4, depth 32, tokens 93"},
		"it is continued":          {goOn: true, left: "calls 4, depth 32, tokens 86"},
		"nobody knows what it was": {goOn: true, lost: true, left: "calls 0, depth 32, tokens 0"},
		"its sequel was refused":   {goOn: true, refused: true, left: "calls 4, depth 32, tokens 93"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.spawn("Leaf", &worker{perform: func(ctx context.Context, t codons.Task) (p.InformResult, error) {
					if len(t.Previous) > 0 {
						return result(p.StatusSuccess), codons.Spend(ctx, codons.Budget{codons.Tokens: 7})
					}
					return asking("more"), codons.Spend(ctx, codons.Budget{codons.Tokens: 7})
				}})
				left, _, err := w.middle(func(ctx context.Context, t codons.Task) error {
					short, cancel := context.WithTimeout(ctx, time.Second)
					defer cancel()
					_, err := codons.Delegate(short, t.Agent, "Leaf", t.TaskRequest,
						codons.WithInput(func(context.Context, p.InformResult) (p.TaskRequest, bool) {
							switch {
							case c.lost:
								w.net.lose(p.ActTaskRequest, math.MaxInt)
							case c.refused:
								w.net.busy.Store(true)
							}
							return task(), c.goOn
						}))
					w.net.busy.Store(false)
					return err
				})
				if err != nil || left != c.left {
					t.Errorf("left %q, %v", left, err)
				}
			})
		})
	}
}

// TestWhatIsUnderWayMayBeUsed when the last word is said without waiting for it.
func TestWhatIsUnderWayMayBeUsed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Leaf", &worker{perform: patient})
		w.spawn("Middle", &worker{perform: func(ctx context.Context, t codons.Task) (p.InformResult, error) {
			_ = codons.Spend(ctx, codons.Budget{codons.Tokens: 7})
			undo, cancel := context.WithTimeout(codons.Detach(ctx), time.Minute)
			defer cancel()
			return codons.Delegate(undo, t.Agent, "Leaf", t.TaskRequest, codons.WithBudget(codons.Budget{codons.Tokens: 40}))
		}})
		d, err := codons.StartDelegation(t.Context(), w.eddy, "Middle", task(), codons.WithBudget(codons.Budget{codons.Tokens: 100}))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		d.Cancel()
		_, err = d.Wait()
		wantEnd(t, err, "failed", p.CodeStillRunning)
		if got := d.Spent().String(); got != "tokens 47" {
			t.Errorf("spent %q", got)
		}
		time.Sleep(time.Minute)
		w.settled(0)
	})
}

// TestInputBelongsToTheHandlerThatAsked so that its depth holds there, too.
func TestInputBelongsToTheHandlerThatAsked(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Leaf", &worker{perform: func(context.Context, codons.Task) (p.InformResult, error) { return asking("more"), nil }})
		var input error
		left, _, err := w.middle(func(ctx context.Context, t codons.Task) error {
			_, err := codons.Delegate(ctx, t.Agent, "Leaf", t.TaskRequest, codons.WithBudget(codons.Budget{codons.Calls: 0}),
				codons.WithInput(func(ctx context.Context, _ p.InformResult) (p.TaskRequest, bool) {
					_, input = codons.Delegate(ctx, t.Agent, "Leaf", t.TaskRequest, codons.WithBudget(codons.Budget{codons.Tokens: 101}))
					return p.TaskRequest{}, false
				}))
			return err
		})
		if err != nil || !errors.Is(input, p.CodeBudget) || left != "calls 4, depth 32, tokens 100" {
			t.Errorf("left %q, %v; what was begun for the input: %v", left, err, input)
		}
		w.settled(0)
	})
}

// TestAnOverdrawnBudget leases nothing, rather than less than nothing.
func TestAnOverdrawnBudget(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Leaf", &worker{perform: spends(codons.Budget{codons.Tokens: 101})})
		w.spawn("Idle", &worker{})
		left, _, err := w.middle(func(ctx context.Context, t codons.Task) error {
			_, err := codons.Delegate(ctx, t.Agent, "Leaf", t.TaskRequest)
			wantEnd(w.t, err, "failed", p.CodeBudget)
			_, err = codons.Delegate(ctx, t.Agent, "Idle", t.TaskRequest)
			return err
		})
		if err != nil || left != "calls 3, depth 32, tokens -1" {
			t.Errorf("left %q, %v", left, err)
		}
	})
}

// TestAChildThatNeverBegan does not keep its parent, nor its lease.
func TestAChildThatNeverBegan(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Leaf", &worker{perform: func(context.Context, codons.Task) (p.InformResult, error) {
			time.Sleep(time.Second)
			return result(p.StatusSuccess), nil
		}})
		gone := w.spawn("Gone", &worker{})
		if err := w.StopAgent(t.Context(), "Gone"); err != nil {
			t.Fatal(err)
		}
		left, _, err := w.middle(func(ctx context.Context, t codons.Task) error {
			ended, cancel := context.WithCancel(ctx)
			cancel()
			if _, err := codons.StartDelegation(ended, t.Agent, "Leaf", t.TaskRequest); !errors.Is(err, context.Canceled) {
				w.t.Error(err)
			}
			if _, err := codons.StartDelegation(ctx, gone, "Leaf", t.TaskRequest); !errors.Is(err, actors.ErrStopped) {
				w.t.Error(err)
			}
			named, free := codons.WithConversation("same"), codons.WithBudget(codons.Budget{codons.Calls: 0, codons.Tokens: 0})
			d, err := codons.StartDelegation(ctx, t.Agent, "Leaf", t.TaskRequest, named, free)
			if err != nil {
				return err
			}
			synctest.Wait()
			if _, err := codons.Delegate(ctx, t.Agent, "Leaf", t.TaskRequest, named, free); !errors.Is(err, actors.ErrConversationExists) {
				w.t.Error(err)
			}
			_, err = d.Wait()
			return err
		})
		if err != nil || left != "calls 4, depth 32, tokens 100" {
			t.Errorf("left %q, %v", left, err)
		}
		w.settled(0)
	})
}

// TestOverspendingIsNotForgotten by spending what suffices.
func TestOverspendingIsNotForgotten(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Jules", &worker{perform: func(ctx context.Context, _ codons.Task) (p.InformResult, error) {
			_ = codons.Spend(ctx, codons.Budget{codons.Tokens: 2})
			return result(p.StatusSuccess), codons.Spend(ctx, codons.Budget{"lamps": 1})
		}})
		_, err := w.delegateTo("Jules", codons.Budget{codons.Tokens: 1})
		wantEnd(t, err, "failed", p.CodeBudget)
	})
}

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
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/discovery"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/internal/systemtest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// middle has Eddy delegate to an agent with that handler, whose budget is 100 tokens
// and 5 calls, and returns what the handler says is left.
func middle(w *kit.World, perform func(context.Context, delegation.Task) error) (left string, d *delegation.Delegated, err error) {
	w.T.Helper()
	w.Add("Middle", &kit.Worker{Perform: func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
		err := perform(ctx, t)
		return p.InformResult{Status: p.StatusSuccess, Summary: codons.BudgetLeft(ctx).String()}, err
	}})
	d, err = delegation.Start(w.T.Context(), w.Eddy, "Middle", kit.Task(),
		codons.WithBudget(codons.Budget{codons.Tokens: 100, codons.Calls: 5}))
	if err != nil {
		w.T.Fatal(err)
	}
	r, err := d.Wait()
	return r.Summary, d, err
}

// TestBudgetOverflow checks that no usage turns a debt into an allowance, or the reverse.
func TestBudgetOverflow(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Leaf", &kit.Worker{Perform: kit.Spends(codons.Budget{codons.Tokens: math.MaxInt64})})
		left, d, err := middle(w, func(ctx context.Context, t delegation.Task) error {
			_, err := delegation.Delegate(ctx, t.Agent, "Leaf", t.TaskRequest, codons.WithBudget(codons.Budget{codons.Calls: math.MaxInt64}))
			if !errors.Is(err, p.CodeBudget) || !strings.Contains(err.Error(), "calls: ") {
				w.T.Errorf("so many calls: %v", err)
			}
			for range 4 {
				_, err = delegation.Delegate(ctx, t.Agent, "Leaf", t.TaskRequest)
				kit.WantEnd(w.T, err, "failed", p.CodeBudget)
			}
			return nil
		})
		if err != nil || !strings.HasPrefix(left, "calls 1, depth 32, tokens -") {
			t.Errorf("left %q, %v", left, err)
		}
		if spent := d.Spent()[codons.Tokens]; spent != math.MaxInt64 {
			t.Errorf("spent %d", spent)
		}
	})
}

// TestQueryCostsOneCall checks the cost of a query without a budget of its own.
func TestQueryCostsOneCall(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		ids := []p.AgentID{"A", "B", "C"}
		for _, id := range ids {
			w.Add(id, &kit.Worker{})
		}
		left, _, err := middle(w, func(ctx context.Context, t delegation.Task) error {
			got, err := discovery.WhisperAll(ctx, t.Agent, ids, p.QueryCapabilities{Type: p.QuerySummary})
			if len(got) != len(ids) {
				w.T.Errorf("%d of %d answered", len(got), len(ids))
			}
			return err
		})
		if err != nil || left != "calls 2, depth 32, tokens 100" {
			t.Errorf("left %q, %v", left, err)
		}
	})
}

// TestRefusedChildCostsNothing checks the cost of a child that was cancelled before its work began.
func TestRefusedChildCostsNothing(t *testing.T) {
	t.Run("its request was lost", func(t *testing.T) {
		kit.InWorld(t, func(t *testing.T, w *kit.World) {
			w.Add("Leaf", &kit.Worker{})
			left, _, err := middle(w, func(ctx context.Context, t delegation.Task) error {
				w.Net.Lose(p.ActTaskRequest, 1)
				d, err := delegation.Start(ctx, t.Agent, "Leaf", t.TaskRequest)
				if err == nil {
					synctest.Wait()
					d.Cancel()
					_, err = d.Wait()
					kit.WantEnd(w.T, err, "cancelled", p.CodeCanceled)
				}
				return nil
			})
			if err != nil || left != "calls 4, depth 32, tokens 100" {
				t.Errorf("left %q, %v", left, err)
			}
		})
	})
	t.Run("the agent panicked over it", func(t *testing.T) {
		kit.InWorld(t, func(t *testing.T, w *kit.World) {
			w.Allow(systemtest.ErrorLogged)
			rounds := atomic.Int64{}
			w.Add("Leaf", &kit.Worker{Consider: func(context.Context, delegation.Task) delegation.Decision {
				if rounds.Add(1) > 1 {
					panic("boom")
				}
				return delegation.Accept()
			}, Perform: func(context.Context, delegation.Task) (p.InformResult, error) { return kit.Asking("more"), nil }})
			left, _, err := middle(w, func(ctx context.Context, t delegation.Task) error {
				_, err := delegation.Delegate(ctx, t.Agent, "Leaf", t.TaskRequest,
					delegation.WithInput(func(context.Context, p.InformResult) (p.TaskRequest, bool) { return kit.Task(), true }))
				return err
			})
			if err != nil || left != "calls 4, depth 32, tokens 100" {
				t.Errorf("left %q, %v", left, err)
			}
		})
	})
}

// TestPartialResultCarriesUsage checks the usage in a partial result, after which no further
// message may come.
func TestPartialResultCarriesUsage(t *testing.T) {
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
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				w.Add("Leaf", &kit.Worker{Perform: func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
					if len(t.Previous) > 0 {
						return kit.Result(p.StatusSuccess), codons.Spend(ctx, codons.Budget{codons.Tokens: 7})
					}
					return kit.Asking("more"), codons.Spend(ctx, codons.Budget{codons.Tokens: 7})
				}})
				left, _, err := middle(w, func(ctx context.Context, t delegation.Task) error {
					short, cancel := context.WithTimeout(ctx, time.Second)
					defer cancel()
					room := func() {}
					_, err := delegation.Delegate(short, t.Agent, "Leaf", t.TaskRequest,
						delegation.WithInput(func(context.Context, p.InformResult) (p.TaskRequest, bool) {
							switch {
							case c.lost:
								w.Net.Intercept(func(m *p.Message) bool { // the FAILURE of the worker's deadline has the usage, too
									return m.Performative() == p.ActTaskRequest || m.Performative() == p.ActFailure
								})
							case c.refused:
								room = w.FillMailboxes()
							}
							return kit.Task(), c.goOn
						}))
					room()
					return err
				})
				if err != nil || left != c.left {
					t.Errorf("left %q, %v", left, err)
				}
			})
		})
	}
}

// TestLeaseUnderWayCountsAsUsed checks the usage of a handler that returns while a child runs.
func TestLeaseUnderWayCountsAsUsed(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Leaf", &kit.Worker{Perform: kit.UntilDone[p.InformResult, delegation.Task]})
		w.Add("Middle", &kit.Worker{Perform: func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
			_ = codons.Spend(ctx, codons.Budget{codons.Tokens: 7})
			undo, cancel := context.WithTimeout(codons.Detach(ctx), time.Minute)
			defer cancel()
			return delegation.Delegate(undo, t.Agent, "Leaf", t.TaskRequest, codons.WithBudget(codons.Budget{codons.Tokens: 40}))
		}})
		d, err := delegation.Start(t.Context(), w.Eddy, "Middle", kit.Task(), codons.WithBudget(codons.Budget{codons.Tokens: 100}))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		d.Cancel()
		_, err = d.Wait()
		kit.WantEnd(t, err, "failed", p.CodeStillRunning)
		if got := d.Spent().String(); got != "tokens 47" {
			t.Errorf("spent %q", got)
		}
		time.Sleep(time.Minute)
		w.Settled(0)
	})
}

// TestInputConversationIsAChild checks that the depth limits a conversation that gives input.
func TestInputConversationIsAChild(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Leaf", &kit.Worker{Perform: func(context.Context, delegation.Task) (p.InformResult, error) { return kit.Asking("more"), nil }})
		var input error
		left, _, err := middle(w, func(ctx context.Context, t delegation.Task) error {
			_, err := delegation.Delegate(ctx, t.Agent, "Leaf", t.TaskRequest, codons.WithBudget(codons.Budget{codons.Calls: 0}),
				delegation.WithInput(func(ctx context.Context, _ p.InformResult) (p.TaskRequest, bool) {
					_, input = delegation.Delegate(ctx, t.Agent, "Leaf", t.TaskRequest, codons.WithBudget(codons.Budget{codons.Tokens: 101}))
					return p.TaskRequest{}, false
				}))
			return err
		})
		if err != nil || !errors.Is(input, p.CodeBudget) || left != "calls 4, depth 32, tokens 100" {
			t.Errorf("left %q, %v; what was begun for the input: %v", left, err, input)
		}
		w.Settled(0)
	})
}

// TestOverdrawnBudget checks that an overdrawn budget leases nothing, and never a negative amount.
func TestOverdrawnBudget(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Leaf", &kit.Worker{Perform: kit.Spends(codons.Budget{codons.Tokens: 101})})
		w.Add("Idle", &kit.Worker{})
		left, _, err := middle(w, func(ctx context.Context, t delegation.Task) error {
			_, err := delegation.Delegate(ctx, t.Agent, "Leaf", t.TaskRequest)
			kit.WantEnd(w.T, err, "failed", p.CodeBudget)
			_, err = delegation.Delegate(ctx, t.Agent, "Idle", t.TaskRequest)
			return err
		})
		if err != nil || left != "calls 3, depth 32, tokens -1" {
			t.Errorf("left %q, %v", left, err)
		}
	})
}

// TestChildThatNeverBegan checks that such a child neither delays its parent nor keeps its lease.
func TestChildThatNeverBegan(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Leaf", &kit.Worker{Perform: func(context.Context, delegation.Task) (p.InformResult, error) {
			time.Sleep(time.Second)
			return kit.Result(p.StatusSuccess), nil
		}})
		gone := w.Add("Gone", &kit.Worker{})
		if err := w.StopAgent(t.Context(), "Gone"); err != nil {
			t.Fatal(err)
		}
		left, _, err := middle(w, func(ctx context.Context, t delegation.Task) error {
			ended, cancel := context.WithCancel(ctx)
			cancel()
			if _, err := delegation.Start(ended, t.Agent, "Leaf", t.TaskRequest); !errors.Is(err, context.Canceled) {
				w.T.Error(err)
			}
			if _, err := delegation.Start(ctx, gone, "Leaf", t.TaskRequest); !errors.Is(err, actors.ErrStopped) {
				w.T.Error(err)
			}
			named, free := codons.WithConversation("same"), codons.WithBudget(codons.Budget{codons.Calls: 0, codons.Tokens: 0})
			d, err := delegation.Start(ctx, t.Agent, "Leaf", t.TaskRequest, named, free)
			if err != nil {
				return err
			}
			synctest.Wait()
			if _, err := delegation.Delegate(ctx, t.Agent, "Leaf", t.TaskRequest, named, free); !errors.Is(err, actors.ErrConversationExists) {
				w.T.Error(err)
			}
			_, err = d.Wait()
			return err
		})
		if err != nil || left != "calls 4, depth 32, tokens 100" {
			t.Errorf("left %q, %v", left, err)
		}
		w.Settled(0)
	})
}

// TestOverspendingIsKept checks that a later affordable Spend does not clear the first shortfall.
func TestOverspendingIsKept(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{Perform: func(ctx context.Context, _ delegation.Task) (p.InformResult, error) {
			_ = codons.Spend(ctx, codons.Budget{codons.Tokens: 2})
			return kit.Result(p.StatusSuccess), codons.Spend(ctx, codons.Budget{"lamps": 1})
		}})
		_, err := w.DelegateTo("Jules", codons.Budget{codons.Tokens: 1})
		kit.WantEnd(t, err, "failed", p.CodeBudget)
	})
}

// TestOverspendingBetweenRounds overspends with the context of a round that is over. The ctx of the
// next round has ended from the start.
func TestOverspendingBetweenRounds(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		var first context.Context
		var spent, second error
		w.Add("Jules", &kit.Worker{Perform: func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
			if len(t.Previous) == 0 {
				first = ctx
				return kit.Asking("more"), nil
			}
			second = context.Cause(ctx)
			return kit.Result(p.StatusSuccess), nil
		}})
		_, err := w.Delegate(t.Context(), codons.WithBudget(codons.Budget{codons.Tokens: 500}),
			delegation.WithInput(func(context.Context, p.InformResult) (p.TaskRequest, bool) {
				spent = codons.Spend(first, codons.Budget{codons.Tokens: 501})
				return kit.Task(), true
			}))
		kit.WantEnd(t, err, "failed", p.CodeBudget)
		if !errors.Is(spent, p.CodeBudget) || !errors.Is(second, p.CodeBudget) {
			t.Errorf("Spend returned %v, and the cause of the second round's ctx is %v", spent, second)
		}
		w.Settled(0)
	})
}

// TestInvalidBudgetNamesTheFirst checks that of several invalid allowances the error names
// the first by name, whatever the order of the map.
func TestInvalidBudgetNamesTheFirst(t *testing.T) {
	b := codons.Budget{"a": 1}
	for _, r := range "bcdefghij" {
		b[codons.Quantity(r)] = -1
	}
	for range 20 {
		if err := b.Validate(); err == nil || !strings.Contains(err.Error(), `"b": -1`) {
			t.Fatal(err)
		}
	}
	if err := (codons.Budget{"": 1}).Validate(); !errors.Is(err, p.CodeInvalidPayload) {
		t.Errorf("a quantity without a name: %v", err)
	}
}

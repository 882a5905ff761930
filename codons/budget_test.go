package codons_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/request"
	p "github.com/ribosome-agents/ribosome/performatives"
)

func TestAnswerCarriesUsage(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{Perform: kit.Spends(codons.Budget{codons.Tokens: 300, "lamps": 2})})
		d, err := w.DelegateTo("Jules", codons.Budget{codons.Tokens: 500})
		if err != nil || d.Spent().String() != "lamps 2, tokens 300" {
			t.Errorf("spent %q, %v", d.Spent(), err)
		}
	})
}

// TestUsageIsTheCallers changes the usage of a conversation that has used nothing: no other has
// used more.
func TestUsageIsTheCallers(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{})
		for range 2 {
			d, err := w.DelegateTo("Jules", codons.Budget{codons.Tokens: 500})
			if err != nil || d.Spent() == nil || len(d.Spent()) > 0 {
				t.Fatalf("spent %q, %v", d.Spent(), err)
			}
			d.Spent()[codons.Tokens] = 7
		}
	})
}

// TestBudgetOfIsTheCallers changes the usage that an answer carries: no other answer carries it.
func TestBudgetOfIsTheCallers(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{})
		a := w.Peer("peer")
		for range 2 {
			a.Send(p.Envelope{Receiver: "Jules", Payload: kit.Task(), Budget: p.ContentOf(codons.Budget{codons.Tokens: 500})})
			a.Expect(p.ActTaskAccept)
			used, err := codons.BudgetOf(a.Expect(p.ActInformResult))
			if err != nil || used == nil || len(used) > 0 {
				t.Fatalf("used %q, %v", used, err)
			}
			used[codons.Tokens] = 7
		}
	})
}

func TestOverspendingFails(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		var cause error
		w.Add("Jules", &kit.Worker{Perform: func(ctx context.Context, _ delegation.Task) (p.InformResult, error) {
			_ = codons.Spend(ctx, codons.Budget{codons.Tokens: 200})
			_ = codons.Spend(ctx, codons.Budget{codons.Tokens: 301, codons.Cost: 7})
			cause = context.Cause(ctx)
			return kit.Result(p.StatusSuccess), nil // it does not even look
		}})
		d, err := w.DelegateTo("Jules", codons.Budget{codons.Tokens: 500})
		kit.WantEnd(t, err, "failed", p.CodeBudget)
		if !strings.Contains(err.Error(), "tokens: 301 wanted, 300 left") || !errors.Is(cause, p.CodeBudget) {
			t.Errorf("%v; the handler's context ended with %v", err, cause)
		}
		if got := d.Spent().String(); got != "cost 7, tokens 501" {
			t.Errorf("spent %q", got)
		}
		w.Settled(0)
	})
}

func TestChildrenLeaseTheirBudget(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Leaf", &kit.Worker{Perform: kit.Spends(codons.Budget{codons.Tokens: 40})})
		w.Add("Middle", &kit.Worker{Perform: func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
			part := codons.WithBudget(codons.Budget{codons.Tokens: 100})
			if _, err := delegation.Delegate(ctx, t.Agent, "Leaf", t.TaskRequest, part); err != nil {
				return p.InformResult{}, err
			}
			return p.InformResult{Status: p.StatusSuccess, Summary: codons.BudgetLeft(ctx).String()}, nil
		}})
		d, err := delegation.Start(t.Context(), w.Eddy, "Middle", kit.Task(),
			codons.WithBudget(codons.Budget{codons.Tokens: 120, codons.Calls: 2, codons.Depth: 1}))
		if err != nil {
			t.Fatal(err)
		}
		got, err := d.Wait()
		if err != nil || got.Summary != "calls 1, depth 1, tokens 80" || d.Spent().String() != "calls 1, tokens 40" {
			t.Errorf("left %q, spent %q, %v", got.Summary, d.Spent(), err)
		}
	})
}

// TestLeaseIsWithheld checks that a lease is withheld while the child runs.
func TestLeaseIsWithheld(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Leaf", &kit.Worker{Perform: kit.UntilDone[p.InformResult, delegation.Task]})
		w.Add("Middle", &kit.Worker{Perform: func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
			part := codons.WithBudget(codons.Budget{codons.Tokens: 100})
			if _, err := delegation.Start(ctx, t.Agent, "Leaf", t.TaskRequest, part); err != nil {
				return p.InformResult{}, err
			}
			_, err := delegation.Start(ctx, t.Agent, "Leaf", t.TaskRequest, part)
			return p.InformResult{}, err
		}})
		_, err := w.DelegateTo("Middle", codons.Budget{codons.Tokens: 120})
		kit.WantEnd(t, err, "failed", p.CodeBudget)
		if !strings.Contains(err.Error(), "tokens: 100 wanted, 20 left, and 100 with conversations under way") {
			t.Error(err)
		}
		w.Settled(0)
	})
}

// TestUnusedBudgetIsReturned checks that the unused part of a lease is returned at every kind of
// end.
func TestUnusedBudgetIsReturned(t *testing.T) {
	for name, c := range map[string]struct {
		leaf *kit.Worker
		to   p.AgentID
		left string
	}{
		"it used nothing":   {&kit.Worker{}, "Leaf", "calls 4, depth 32, tokens 100"},
		"it used some":      {&kit.Worker{Perform: kit.Spends(codons.Budget{codons.Tokens: 10})}, "Leaf", "calls 4, depth 32, tokens 90"},
		"it used too much":  {&kit.Worker{Perform: kit.Spends(codons.Budget{codons.Tokens: 101})}, "Leaf", "calls 4, depth 32, tokens -1"},
		"it was not taken":  {&kit.Worker{Consider: rejects}, "Leaf", "calls 4, depth 32, tokens 100"},
		"nobody is there":   {&kit.Worker{}, "Nobody", "calls 4, depth 32, tokens 100"},
		"the task is wrong": {&kit.Worker{}, "", "calls 5, depth 32, tokens 100"},
		"it was cancelled":  {&kit.Worker{Perform: kit.UntilDone[p.InformResult, delegation.Task]}, "Leaf", "calls 4, depth 32, tokens 100"},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				w.Add("Leaf", c.leaf)
				w.Add("Middle", &kit.Worker{Perform: func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
					if d, err := delegation.Start(ctx, t.Agent, c.to, t.TaskRequest); err == nil {
						synctest.Wait()
						d.Cancel()
						_, _ = d.Wait()
					}
					return p.InformResult{Status: p.StatusSuccess, Summary: codons.BudgetLeft(ctx).String()}, nil
				}})
				d, err := delegation.Start(t.Context(), w.Eddy, "Middle", kit.Task(), codons.WithBudget(codons.Budget{codons.Tokens: 100, codons.Calls: 5}))
				if err != nil {
					t.Fatal(err)
				}
				got, err := d.Wait()
				if err != nil || got.Summary != c.left {
					t.Errorf("left %q, %v, want %q", got.Summary, err, c.left)
				}
				w.Settled(0)
			})
		})
	}
}

func rejects(context.Context, delegation.Task) delegation.Decision {
	return delegation.Reject(p.CodeIncapable, "")
}

// TestPeerWithoutUsage checks that a peer which reports no usage counts as having used its whole
// allowance.
func TestPeerWithoutUsage(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		a := w.Peer("Leaf")
		d, err := delegation.Start(t.Context(), w.Eddy, "Leaf", kit.Task(), codons.WithBudget(codons.Budget{codons.Tokens: 9}))
		if err != nil {
			t.Fatal(err)
		}
		a.Reply(a.Expect(p.ActTaskRequest), kit.Result(p.StatusSuccess))
		if _, err := d.Wait(); err != nil || d.Spent()[codons.Tokens] != 9 {
			t.Errorf("spent %v, %v", d.Spent(), err)
		}
	})
}

func TestCallsAreCounted(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Leaf", &kit.Worker{})
		w.Add("Middle", &kit.Worker{Perform: delegates("Leaf", "Leaf")})
		w.Add("Top", &kit.Worker{Perform: delegates("Middle", "Middle")})
		d, err := w.DelegateTo("Top", codons.Budget{codons.Calls: 6})
		if err != nil || d.Spent()[codons.Calls] != 6 {
			t.Errorf("spent %v, %v", d.Spent(), err)
		}
		_, err = w.DelegateTo("Top", codons.Budget{codons.Calls: 5})
		kit.WantEnd(t, err, "failed", p.CodeBudget)
		if !strings.Contains(err.Error(), "calls: 1 wanted, 0 left") {
			t.Error(err)
		}
	})
}

// TestInvalidBudgets checks that invalid budgets are refused on either side.
// oneTask is an agent that takes one request at a time.
type oneTask struct{ *kit.RequestHandler }

func (oneTask) MaxTasks() int { return 1 }

func TestInvalidBudgets(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{})
		w.Add("Shop", oneTask{&kit.RequestHandler{Handle: func(context.Context, request.Requested) (any, error) { return nil, nil }}})
		bad := codons.WithBudget(codons.Budget{codons.Tokens: -1})
		if _, err := w.Delegate(t.Context(), bad); !errors.Is(err, p.CodeInvalidPayload) {
			t.Errorf("got %v", err)
		}
		a := w.Peer("peer")
		for _, text := range []string{`3`, `{"tokens":-1}`, `{"tokens":"many"}`, `{"tokens":1.5}`} {
			content := p.RawContent([]byte(text))
			a.Send(p.Envelope{Receiver: "Jules", Payload: kit.Task(), Budget: content})
			a.Expect(p.ActNotUnderstood)
			a.Send(p.Envelope{Receiver: "Shop", Performative: p.ActRequest, Payload: kit.Order{Item: "tea"}, Budget: content})
			a.Expect(p.ActNotUnderstood)
		}
		w.Settled(0)
	})
}

func TestSpendOutsideOfAConversation(t *testing.T) {
	if err := codons.Spend(t.Context(), codons.Budget{codons.Tokens: 1}); err != nil {
		t.Error(err)
	}
	if left := codons.BudgetLeft(t.Context()); left != nil {
		t.Errorf("left %v", left)
	}
}

// TestShareKeepsCallsBack checks that each of the conversations which share a budget can begin:
// they cost a call each.
func TestShareKeepsCallsBack(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		looked := make(chan struct{}) // what a leaf has not used is given back when it ends
		w.Add("Leaf", &kit.Worker{Perform: func(context.Context, delegation.Task) (p.InformResult, error) {
			<-looked
			return kit.Result(p.StatusSuccess), nil
		}})
		w.Add("Middle", &kit.Worker{Perform: func(ctx context.Context, task delegation.Task) (p.InformResult, error) {
			defer close(looked)
			share := codons.WithBudgetShare(ctx, 2)
			for range 2 {
				if _, err := delegation.Start(ctx, task.Agent, "Leaf", task.TaskRequest, share); err != nil {
					return p.InformResult{}, err
				}
			}
			return p.InformResult{Status: p.StatusSuccess, Summary: codons.BudgetLeft(ctx).String()}, nil
		}})
		d, err := delegation.Start(t.Context(), w.Eddy, "Middle", kit.Task(), codons.WithBudget(codons.Budget{codons.Tokens: 9, codons.Calls: 10}))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := d.Wait(); err != nil || got.Summary != "calls 0, depth 32, tokens 1" {
			t.Errorf("left %q, %v", got.Summary, err)
		}
	})
}

package codons_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// spends returns a handler that uses so much and succeeds.
func spends(b codons.Budget) func(context.Context, codons.Task) (p.InformResult, error) {
	return func(ctx context.Context, _ codons.Task) (p.InformResult, error) {
		return result(p.StatusSuccess), codons.Spend(ctx, b)
	}
}

func (w *world) delegateTo(to p.AgentID, b codons.Budget) (*codons.Delegated, error) {
	w.t.Helper()
	d, err := codons.StartDelegation(w.t.Context(), w.eddy, to, task(), codons.WithBudget(b))
	if err != nil {
		w.t.Fatal(err)
	}
	_, err = d.Wait()
	return d, err
}

func TestWhatIsSpentIsTold(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Jules", &worker{perform: spends(codons.Budget{codons.Tokens: 300, "lamps": 2})})
		d, err := w.delegateTo("Jules", codons.Budget{codons.Tokens: 500})
		if err != nil || d.Spent().String() != "lamps 2, tokens 300" {
			t.Errorf("spent %q, %v", d.Spent(), err)
		}
	})
}

func TestOverspendingFails(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var cause error
		w.spawn("Jules", &worker{perform: func(ctx context.Context, _ codons.Task) (p.InformResult, error) {
			_ = codons.Spend(ctx, codons.Budget{codons.Tokens: 200})
			_ = codons.Spend(ctx, codons.Budget{codons.Tokens: 301, codons.Cost: 7})
			cause = context.Cause(ctx)
			return result(p.StatusSuccess), nil // it does not even look
		}})
		d, err := w.delegateTo("Jules", codons.Budget{codons.Tokens: 500})
		wantEnd(t, err, "failed", p.CodeBudget)
		if !strings.Contains(err.Error(), "tokens: 301 wanted, 300 left") || !errors.Is(cause, p.CodeBudget) {
			t.Errorf("%v; the handler's context ended with %v", err, cause)
		}
		if got := d.Spent().String(); got != "cost 7, tokens 501" {
			t.Errorf("spent %q", got)
		}
		w.settled(0)
	})
}

func TestChildrenLeaseTheirBudget(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Leaf", &worker{perform: spends(codons.Budget{codons.Tokens: 40})})
		w.spawn("Middle", &worker{perform: func(ctx context.Context, t codons.Task) (p.InformResult, error) {
			part := codons.WithBudget(codons.Budget{codons.Tokens: 100})
			if _, err := codons.Delegate(ctx, t.Agent, "Leaf", t.TaskRequest, part); err != nil {
				return p.InformResult{}, err
			}
			return p.InformResult{Status: p.StatusSuccess, Summary: codons.Left(ctx).String()}, nil
		}})
		d, err := codons.StartDelegation(t.Context(), w.eddy, "Middle", task(),
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

// TestALeaseIsWithheld while the child runs.
func TestALeaseIsWithheld(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Leaf", &worker{perform: patient})
		w.spawn("Middle", &worker{perform: func(ctx context.Context, t codons.Task) (p.InformResult, error) {
			part := codons.WithBudget(codons.Budget{codons.Tokens: 100})
			if _, err := codons.StartDelegation(ctx, t.Agent, "Leaf", t.TaskRequest, part); err != nil {
				return p.InformResult{}, err
			}
			_, err := codons.StartDelegation(ctx, t.Agent, "Leaf", t.TaskRequest, part)
			return p.InformResult{}, err
		}})
		_, err := w.delegateTo("Middle", codons.Budget{codons.Tokens: 120})
		wantEnd(t, err, "failed", p.CodeBudget)
		if !strings.Contains(err.Error(), "tokens: 100 wanted, 20 left, and 100 with conversations under way") {
			t.Error(err)
		}
		w.settled(0)
	})
}

// TestWhatIsNotUsedIsGivenBack whatever became of the child.
func TestWhatIsNotUsedIsGivenBack(t *testing.T) {
	for name, c := range map[string]struct {
		leaf *worker
		to   p.AgentID
		left string
	}{
		"it used nothing":   {&worker{}, "Leaf", "calls 4, depth 32, tokens 100"},
		"it used some":      {&worker{perform: spends(codons.Budget{codons.Tokens: 10})}, "Leaf", "calls 4, depth 32, tokens 90"},
		"it used too much":  {&worker{perform: spends(codons.Budget{codons.Tokens: 101})}, "Leaf", "calls 4, depth 32, tokens -1"},
		"it was not taken":  {&worker{consider: rejects}, "Leaf", "calls 4, depth 32, tokens 100"},
		"nobody is there":   {&worker{}, "Nobody", "calls 4, depth 32, tokens 100"},
		"the task is wrong": {&worker{}, "", "calls 5, depth 32, tokens 100"},
		"it was cancelled":  {&worker{perform: patient}, "Leaf", "calls 4, depth 32, tokens 100"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.spawn("Leaf", c.leaf)
				w.spawn("Middle", &worker{perform: func(ctx context.Context, t codons.Task) (p.InformResult, error) {
					if d, err := codons.StartDelegation(ctx, t.Agent, c.to, t.TaskRequest); err == nil {
						synctest.Wait()
						d.Cancel()
						_, _ = d.Wait()
					}
					return p.InformResult{Status: p.StatusSuccess, Summary: codons.Left(ctx).String()}, nil
				}})
				d, err := codons.StartDelegation(t.Context(), w.eddy, "Middle", task(), codons.WithBudget(codons.Budget{codons.Tokens: 100, codons.Calls: 5}))
				if err != nil {
					t.Fatal(err)
				}
				got, err := d.Wait()
				if err != nil || got.Summary != c.left {
					t.Errorf("left %q, %v, want %q", got.Summary, err, c.left)
				}
				w.settled(0)
			})
		})
	}
}

func rejects(context.Context, codons.Task) codons.Decision { return codons.Reject(p.CodeIncapable, "") }

// TestAPeerWithoutAnAccount may have used all that it was given.
func TestAPeerWithoutAnAccount(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.puppet("Leaf")
		d, err := codons.StartDelegation(t.Context(), w.eddy, "Leaf", task(), codons.WithBudget(codons.Budget{codons.Tokens: 9}))
		if err != nil {
			t.Fatal(err)
		}
		a.reply(a.next(p.ActTaskRequest), result(p.StatusSuccess))
		if _, err := d.Wait(); err != nil || d.Spent()[codons.Tokens] != 9 {
			t.Errorf("spent %v, %v", d.Spent(), err)
		}
	})
}

func TestCallsAreCounted(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Leaf", &worker{})
		w.spawn("Middle", &worker{perform: delegates("Leaf", "Leaf")})
		w.spawn("Top", &worker{perform: delegates("Middle", "Middle")})
		d, err := w.delegateTo("Top", codons.Budget{codons.Calls: 6})
		if err != nil || d.Spent()[codons.Calls] != 6 {
			t.Errorf("spent %v, %v", d.Spent(), err)
		}
		_, err = w.delegateTo("Top", codons.Budget{codons.Calls: 5})
		wantEnd(t, err, "failed", p.CodeBudget)
		if !strings.Contains(err.Error(), "calls: 1 wanted, 0 left") {
			t.Error(err)
		}
	})
}

// TestBudgetsThatMakeNoSense are refused on either side.
func TestBudgetsThatMakeNoSense(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Jules", &worker{})
		w.spawn("Shop", &shop{func(context.Context, codons.Requested) (any, error) { return nil, nil }})
		bad := codons.WithBudget(codons.Budget{codons.Tokens: -1})
		if _, err := w.delegate(t.Context(), bad); !errors.Is(err, p.CodeInvalidPayload) {
			t.Errorf("got %v", err)
		}
		a := w.puppet("puppet")
		for _, text := range []string{`3`, `{"tokens":-1}`, `{"tokens":"many"}`, `{"tokens":1.5}`} {
			content := p.RawContent([]byte(text))
			a.say(p.Envelope{Receiver: "Jules", Payload: task(), Budget: content})
			a.next(p.ActNotUnderstood)
			a.say(p.Envelope{Receiver: "Shop", Performative: p.ActRequest, Payload: order{"tea"}, Budget: content})
			a.next(p.ActNotUnderstood)
		}
		w.settled(0)
	})
}

func TestSpendOutsideOfAConversation(t *testing.T) {
	if err := codons.Spend(t.Context(), codons.Budget{codons.Tokens: 1}); err != nil {
		t.Error(err)
	}
	if left := codons.Left(t.Context()); left != nil {
		t.Errorf("left %v", left)
	}
}

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

	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// stuck is an agent whose handler does not look at its context.
func (w *world) stuck(id p.AgentID) (release func()) {
	block := make(chan struct{})
	w.spawn(id, &worker{perform: func(context.Context, codons.Task) (p.InformResult, error) {
		<-block
		return result(p.StatusSuccess), nil
	}})
	return func() { close(block) }
}

// TestACancelWhileItSettles comes when the handler has returned and its child has
// been withdrawn: the receipt is no less a promise then.
func TestACancelWhileItSettles(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		release := w.stuck("Stuck")
		w.spawn("Middle", &worker{perform: func(ctx context.Context, t codons.Task) (p.InformResult, error) {
			_, err := codons.StartDelegation(ctx, t.Agent, "Stuck", t.TaskRequest)
			synctest.Wait()
			return result(p.StatusSuccess), err
		}})
		d, err := codons.StartDelegation(t.Context(), w.eddy, "Middle", task())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // the grace of the child has begun
		d.Cancel()
		_, err = d.Wait()
		wantEnd(t, err, "failed", p.CodeStillRunning)
		release()
		w.settled(0)
	})
}

// TestAChildThatWasGivenUp by its parent's handler runs on all the same.
func TestAChildThatWasGivenUp(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		release := w.stuck("Stuck")
		w.spawn("Middle", &worker{perform: func(ctx context.Context, t codons.Task) (p.InformResult, error) {
			d, err := codons.StartDelegation(ctx, t.Agent, "Stuck", t.TaskRequest)
			if err != nil {
				return p.InformResult{}, err
			}
			synctest.Wait()
			d.Cancel()
			_, _ = d.Wait()
			return patient(ctx, t)
		}})
		d, err := codons.StartDelegation(t.Context(), w.eddy, "Middle", task())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		d.Cancel()
		_, err = d.Wait()
		wantEnd(t, err, "failed", p.CodeStillRunning)
		release()
		w.settled(0)
	})
}

// TestAChildWhoseTimeHasPassed is no reason to say that something runs.
func TestAChildWhoseTimeHasPassed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Slow", &worker{perform: patient})
		w.spawn("Middle", &worker{perform: func(ctx context.Context, t codons.Task) (p.InformResult, error) {
			short, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_, _ = codons.Delegate(short, t.Agent, "Slow", t.TaskRequest)
			return patient(ctx, t)
		}})
		d, err := codons.StartDelegation(t.Context(), w.eddy, "Middle", task())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		d.Cancel()
		_, err = d.Wait()
		wantEnd(t, err, "cancelled", p.CodeCanceled)
		w.settled(0)
	})
}

// TestAnAnswerWhoseTypePanics must not keep the handler that asked waiting for ever.
func TestAnAnswerWhoseTypePanics(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Shop", &shop{func(context.Context, codons.Requested) (any, error) { return p.Raw(`{"price":3}`), nil }})
		var asked error
		w.spawn("Middle", &worker{perform: func(ctx context.Context, t codons.Task) (p.InformResult, error) {
			_, asked = codons.Request[explosive](ctx, t.Agent, "Shop", order{"tea"})
			return result(p.StatusSuccess), nil
		}})
		if _, err := codons.Delegate(t.Context(), w.eddy, "Middle", task()); err != nil || asked == nil {
			t.Errorf("%v; the answer was read with %v", err, asked)
		}
		w.settled(0)
	})
}

type explosive struct{}

func (*explosive) UnmarshalJSON([]byte) error { panic("boom") }

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
				wantEnd(w.t, err, "failed", p.CodeInternal)
				return nil
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
		opts []codons.DelegateOption
		left string
	}{
		"it stands":       {nil, "calls 4, depth 32, tokens 93"},
		"it is continued": {[]codons.DelegateOption{codons.WithInput(func(context.Context, p.InformResult) (p.TaskRequest, bool) { return task(), true })}, "calls 4, depth 32, tokens 86"},
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
					_, err := codons.Delegate(ctx, t.Agent, "Leaf", t.TaskRequest, c.opts...)
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

// TestADecisionBeginsNothing since nothing is decided yet, but may look at the budget.
func TestADecisionBeginsNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var calls atomic.Int64
		loop := &worker{}
		loop.consider = func(ctx context.Context, t codons.Task) codons.Decision {
			calls.Add(1)
			if left := codons.Left(ctx).String(); left != "depth 32, tokens 9" {
				w.t.Errorf("left %q", left)
			}
			if err := codons.Spend(ctx, codons.Budget{codons.Tokens: 10}); err != nil {
				w.t.Error(err)
			}
			_, err := codons.StartDelegation(ctx, t.Agent, "Loop", t.TaskRequest)
			if !errors.Is(err, codons.ErrDeciding) {
				w.t.Errorf("got %v, want %v", err, codons.ErrDeciding)
			}
			return codons.Reject(p.CodeIncapable, "")
		}
		w.spawn("Loop", loop)
		_, err := w.delegateTo("Loop", codons.Budget{codons.Tokens: 9})
		wantEnd(t, err, "rejected", p.CodeIncapable)
		if calls.Load() != 1 {
			t.Errorf("it decided %d times", calls.Load())
		}
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

// TestADeadlineOfTheAgentsOwnFlowsDown has the agent take its time over a further
// round of a peer that names no ReplyBy.
func TestADeadlineOfTheAgentsOwnFlowsDown(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		got := w.requests()
		var asked time.Time
		w.spawn("Middle", &worker{
			consider: func(_ context.Context, t codons.Task) codons.Decision {
				time.Sleep(time.Duration(len(t.Previous)) * time.Minute)
				return codons.Accept()
			},
			perform: func(ctx context.Context, t codons.Task) (p.InformResult, error) {
				if len(t.Previous) == 0 {
					return asking("more"), nil
				}
				return codons.Delegate(ctx, t.Agent, "Leaf", t.TaskRequest)
			},
		})
		w.spawn("Leaf", &worker{})
		a := w.puppet("puppet")
		first := a.say(p.Envelope{Receiver: "Middle", Payload: task()})
		a.next(p.ActTaskAccept)
		a.next(p.ActInformResult)
		asked = time.Now()
		a.say(p.Envelope{Receiver: "Middle", Payload: task(), ConversationID: first.ConversationID(), InReplyTo: string(first.ID())})
		a.next(p.ActTaskAccept)
		a.next(p.ActInformResult)
		if by := got("Leaf")[0].ReplyBy(); !by.Equal(asked.Add(codons.DefaultDeadline)) {
			t.Errorf("the child had until %v, its parent until %v", by, asked.Add(codons.DefaultDeadline))
		}
	})
}

// TestWhatAnEarlierRoundLeft may go on to use the context that it had, as the further
// round begins.
func TestWhatAnEarlierRoundLeft(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var spent error
		w.spawn("Jules", &worker{perform: func(ctx context.Context, t codons.Task) (p.InformResult, error) {
			if len(t.Previous) > 0 {
				return patient(ctx, t)
			}
			go func() {
				time.Sleep(time.Second)
				spent = codons.Spend(ctx, codons.Budget{codons.Tokens: 501})
			}()
			return asking("more"), nil
		}})
		_, err := w.delegate(t.Context(), codons.WithBudget(codons.Budget{codons.Tokens: 500}),
			codons.WithInput(func(context.Context, p.InformResult) (p.TaskRequest, bool) {
				time.Sleep(time.Second)
				return task(), true
			}))
		wantEnd(t, err, "failed", p.CodeBudget)
		synctest.Wait()
		if !errors.Is(spent, p.CodeBudget) {
			t.Error(spent)
		}
		w.settled(0)
	})
}

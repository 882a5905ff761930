package saga_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/contractnet"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/discovery"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/saga"
	"github.com/ribosome-agents/ribosome/codons/scatter"
	"github.com/ribosome-agents/ribosome/internal/exhaustive"
	"github.com/ribosome-agents/ribosome/internal/systemtest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// TestCancelledBeforeTheStart does no step.
func TestCancelledBeforeTheStart(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		var d deeds
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := saga.Saga{Steps: []saga.Step{d.step("a")}}.Run(ctx, w.Eddy)
		if failure := failureOf(t, err); failure.Step != "a" || !errors.Is(err, context.Canceled) {
			t.Errorf("got %+v", failure)
		}
		d.want(t)
	})
}

// TestCancelledBetweenSteps cancels a saga between two steps, and while it is undone.
func TestCancelledBetweenSteps(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		var d deeds
		ctx, cancel := context.WithCancel(t.Context())
		saga := saga.Saga{Steps: []saga.Step{d.step("a"), d.step("b")}, Journal: func(_ context.Context, r codons.Record) error {
			if stateOf(t, r) == "doing_2" {
				cancel()
			}
			return nil
		}}
		_, err := saga.Run(ctx, w.Eddy)
		if failure := failureOf(t, err); failure.Step != "b" || !errors.Is(err, context.Canceled) {
			t.Errorf("got %+v", failure)
		}
		d.want(t, "a after 0", "undo a's")
	})
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		var d deeds
		ctx, cancel := context.WithCancel(t.Context())
		a, no := d.step("a"), errors.New("no")
		undo := a.Undo
		a.Undo = func(ctx context.Context, done any) error {
			cancel()
			synctest.Wait()
			return errors.Join(ctx.Err(), undo(ctx, done))
		}
		_, err := saga.Saga{Steps: []saga.Step{a, d.failing("b", no)}}.Run(ctx, w.Eddy)
		if failure := failureOf(t, err); !errors.Is(err, no) || errors.Is(err, context.Canceled) || len(failure.Lost) != 0 {
			t.Errorf("got %+v", failure)
		}
		d.want(t, "a after 0", "undo a's")
	})
}

// TestReceiptAfterUndo cancels the conversation in whose handler a saga runs. The receipt is sent
// after all steps are undone; there is none when that takes longer than the grace.
func TestReceiptAfterUndo(t *testing.T) {
	for name, c := range map[string]struct {
		undoing time.Duration
		state   string
		code    p.Code
	}{
		"in time":  {time.Second, "cancelled", p.CodeCanceled},
		"too late": {time.Minute, "failed", p.CodeStillRunning},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				w.Allow(systemtest.ErrorLogged)
				var d deeds
				w.Add("Hotel", &kit.Worker{Perform: func(_ context.Context, t delegation.Task) (p.InformResult, error) {
					if t.Description == "cancel" {
						time.Sleep(c.undoing)
					}
					d.do(t.Description)
					return kit.Result(p.StatusSuccess), nil
				}})
				w.Add("Jules", &kit.Worker{Perform: func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
					hotel := func(ctx context.Context, what string) error {
						_, err := delegation.Delegate(ctx, t.Agent, "Hotel", p.TaskRequest{TaskType: "hotel", Description: what})
						return err
					}
					_, err := saga.Saga{Steps: []saga.Step{
						{
							Name: "hotel",
							Do:   func(ctx context.Context, _ map[string]any) (any, error) { return nil, hotel(ctx, "book") },
							Undo: func(ctx context.Context, _ any) error { return hotel(ctx, "cancel") },
						},
						{Name: "wait", Do: func(ctx context.Context, _ map[string]any) (any, error) {
							return kit.UntilDone[p.InformResult, delegation.Task](ctx, t)
						}},
					}}.Run(ctx, t.Agent)
					return p.InformResult{}, err
				}})
				task := w.Start(t.Context())
				synctest.Wait()
				task.Cancel()
				_, err := task.Wait()
				kit.WantEnd(t, err, machine.State(c.state), c.code)
				if c.code == p.CodeStillRunning {
					time.Sleep(c.undoing)
					synctest.Wait()
				}
				d.want(t, "book", "cancel")
				w.Settled(0)
			})
		})
	}
}

// TestJournalPanics has Journal panic, and Do and Unknown in turn.
func TestJournalPanics(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Allow(systemtest.ErrorLogged)
		var d deeds
		saga := saga.Saga{Steps: []saga.Step{d.step("a"), d.step("b")}, Journal: func(_ context.Context, r codons.Record) error {
			if stateOf(t, r) != "doing_1" {
				panic("oh")
			}
			return nil
		}}
		if failure := failureOf(t, second(saga.Run(t.Context(), w.Eddy))); failure.Step != "b" {
			t.Errorf("got %+v", failure)
		}
		d.want(t, "a after 0", "undo a's")
	})
	for name, do := range map[string]func(context.Context, map[string]any) (any, error){
		"Unknown": func(context.Context, map[string]any) (any, error) { return nil, errors.New("no") },
		"Do":      func(context.Context, map[string]any) (any, error) { panic("no") },
	} {
		kit.InWorld(t, func(t *testing.T, w *kit.World) {
			w.Allow(systemtest.ErrorLogged)
			var d deeds
			a := d.step("a")
			a.Do, a.Unknown = do, func(error) bool {
				if name == "Unknown" {
					panic("oh")
				}
				return false
			}
			_ = failureOf(t, second(saga.Saga{Steps: []saga.Step{a}}.Run(t.Context(), w.Eddy)))
			d.want(t, "undo <nil>")
		})
	}
}

// TestJournalAfterTheEndOfCtx has a step end the context of its saga: the journal of what follows
// has another.
func TestJournalAfterTheEndOfCtx(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		var d deeds
		ctx, cancel := context.WithCancel(t.Context())
		b := d.step("b")
		b.Do = func(context.Context, map[string]any) (any, error) {
			cancel()
			return nil, errors.New("no")
		}
		told := 0
		saga := saga.Saga{Steps: []saga.Step{d.step("a"), b}, Journal: func(journal context.Context, r codons.Record) error {
			if told++; ctx.Err() != nil && journal.Err() != nil {
				t.Errorf("%s is journalled by a context that has ended", stateOf(t, r))
			}
			return nil
		}}
		_ = failureOf(t, second(saga.Run(ctx, w.Eddy)))
		if told < 4 {
			t.Errorf("the journal was called %d times, want at least 4", told)
		}
	})
}

func second[A any](_ A, err error) error { return err }

// TestUndoAfterTheAgentStopped calls Undo once: the stopped agent can begin no conversation.
func TestUndoAfterTheAgentStopped(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Allow(systemtest.ErrorLogged)
		w.Add("Jules", &kit.Worker{})
		tries := 0
		_, err := saga.Saga{Steps: []saga.Step{
			{
				Name: "a",
				Do:   func(ctx context.Context, _ map[string]any) (any, error) { return w.Delegate(ctx) },
				Undo: func(ctx context.Context, _ any) error { tries++; return second(w.Delegate(ctx)) },
			},
			{Name: "b", Do: func(ctx context.Context, _ map[string]any) (any, error) {
				return nil, errors.Join(errors.New("no"), w.StopAgent(ctx, "Eddy"))
			}},
		}}.Run(t.Context(), w.Eddy)
		if failure := failureOf(t, err); len(failure.Lost) != 1 || tries != 1 {
			t.Errorf("got %+v after %d tries", failure, tries)
		}
	})
}

func TestStepUnknown(t *testing.T) {
	no, maybe := &codons.EndError{State: "rejected"}, &codons.EndError{State: "timed_out"}
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"nil":                          {nil, false},
		"no peer":                      {errors.New("no"), false},
		"a deadline":                   {fmt.Errorf("a: %w", context.DeadlineExceeded), true},
		"a rejection":                  {fmt.Errorf("a: %w", no), false},
		"silence":                      {fmt.Errorf("a: %w", maybe), true},
		"an overspent budget":          {&codons.EndError{State: "failed", Refusal: p.Refusal{Code: p.CodeBudget}}, true},
		"a failure of the work":        {&codons.EndError{State: "failed", Refusal: p.Refusal{Code: p.CodeFailed}}, false},
		"a CANCEL to a peer that left": {&codons.EndError{State: "failed", Refusal: p.Refusal{Code: p.CodeUnknownAgent}}, true},
		"a late CANCEL":                {&codons.EndError{State: "failed", Refusal: p.Refusal{Code: p.CodeExpired}}, true},
		"a lost reply, not kept":       {&codons.EndError{State: "failed", Refusal: p.Refusal{Code: p.CodeConversationEnded}}, true},
		"rejected by all":              {&discovery.NoAgentError{Attempts: []discovery.Attempt{{Err: no}, {Err: no}}}, false},
		"the second timed out":         {&discovery.NoAgentError{Attempts: []discovery.Attempt{{Err: no}, {Err: maybe}}}, true},
		"one of many did it":           {&scatter.QuorumError{Want: 2, Got: 1, Answers: []scatter.Answer{{Err: no}, {}}}, true},
		"none of many did it":          {&scatter.QuorumError{Want: 2, Answers: []scatter.Answer{{Err: no}, {Err: no}}}, false},
		"a winner was lost":            {errors.Join(contractnet.ErrNoAward, no, maybe), true},
		"no bids":                      {errors.Join(contractnet.ErrNoAward, no), false},
		"a saga that is undone":        {&saga.Error{Cause: maybe, Undone: []string{"a"}}, false},
		"a saga that left things over": {&saga.Error{Cause: no, Lost: []saga.LostStep{{Step: "a", Err: no}}}, true},
	} {
		if got := saga.StepUnknown(c.err); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestManySteps compiles and runs a table of 120 steps.
func TestManySteps(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		var d deeds
		var steps []saga.Step
		n := 30
		if exhaustive.Enabled() {
			n = 120 // the machine of so many steps takes seconds to compile
		}
		for i := range n {
			steps = append(steps, d.step(fmt.Sprint(i)))
		}
		got, err := saga.Saga{Steps: steps}.Run(t.Context(), w.Eddy)
		if err != nil || len(got) != len(steps) {
			t.Errorf("%d results, %v", len(got), err)
		}
	})
}

// TestDeadlinePassesDuringUndo has the deadline of a saga pass while a failed saga is undone: it is
// undone all the same.
func TestDeadlinePassesDuringUndo(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		var d deeds
		slow := d.step("a")
		slow.Undo = func(ctx context.Context, _ any) error {
			time.Sleep(5 * time.Second)
			d.do("undo a")
			return ctx.Err()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		no := errors.New("no")
		_, err := saga.Saga{Steps: []saga.Step{slow, d.failing("b", no)}}.Run(ctx, w.Eddy)
		if failure := failureOf(t, err); !errors.Is(failure, no) || len(failure.Lost) > 0 || len(failure.Undone) != 1 {
			t.Errorf("got %v, undone %v, lost %v", failure, failure.Undone, failure.Lost)
		}
		d.want(t, "a after 0", "undo a")
	})
}

package codons_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// TestSagaThatNobodyWants any more does nothing.
func TestSagaThatNobodyWants(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var d deeds
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := codons.Saga{Steps: []codons.SagaStep{d.step("a")}}.Run(ctx, w.eddy)
		if failure := sagaFailure(t, err); failure.Step != "a" || !errors.Is(err, context.Canceled) {
			t.Errorf("got %+v", failure)
		}
		d.want(t)
	})
}

// TestSagaIsCancelledBetween two steps, and while it goes back.
func TestSagaIsCancelledBetween(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var d deeds
		ctx, cancel := context.WithCancel(t.Context())
		saga := codons.Saga{Steps: []codons.SagaStep{d.step("a"), d.step("b")}, Journal: func(_ context.Context, s codons.SagaState) error {
			if s.At == "doing_2" {
				cancel()
			}
			return nil
		}}
		_, err := saga.Run(ctx, w.eddy)
		if failure := sagaFailure(t, err); failure.Step != "b" || !errors.Is(err, context.Canceled) {
			t.Errorf("got %+v", failure)
		}
		d.want(t, "a after 0", "undo a's")
	})
	inWorld(t, func(t *testing.T, w *world) {
		var d deeds
		ctx, cancel := context.WithCancel(t.Context())
		a, no := d.step("a"), errors.New("no")
		undo := a.Undo
		a.Undo = func(ctx context.Context, done any) error {
			cancel()
			synctest.Wait()
			return errors.Join(ctx.Err(), undo(ctx, done))
		}
		_, err := codons.Saga{Steps: []codons.SagaStep{a, d.failing("b", no)}}.Run(ctx, w.eddy)
		if failure := sagaFailure(t, err); !errors.Is(err, no) || errors.Is(err, context.Canceled) || len(failure.Lost) != 0 {
			t.Errorf("got %+v", failure)
		}
		d.want(t, "a after 0", "undo a's")
	})
}

// TestSagaOutlivesTheCancel of the conversation in whose work it runs: the receipt comes
// after all is undone, and where that takes longer than the grace there is none.
func TestSagaOutlivesTheCancel(t *testing.T) {
	for name, c := range map[string]struct {
		undoing time.Duration
		state   string
		code    p.Code
	}{
		"in time":  {time.Second, "cancelled", p.CodeCanceled},
		"too late": {time.Minute, "failed", p.CodeStillRunning},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				var d deeds
				w.spawn("Hotel", &worker{perform: func(_ context.Context, t codons.Task) (p.InformResult, error) {
					if t.Description == "cancel" {
						time.Sleep(c.undoing)
					}
					d.do(t.Description)
					return result(p.StatusSuccess), nil
				}})
				w.spawn("Jules", &worker{perform: func(ctx context.Context, t codons.Task) (p.InformResult, error) {
					hotel := func(ctx context.Context, what string) error {
						_, err := codons.Delegate(ctx, t.Agent, "Hotel", p.TaskRequest{TaskType: "hotel", Description: what})
						return err
					}
					_, err := codons.Saga{Steps: []codons.SagaStep{
						{
							Name: "hotel",
							Do:   func(ctx context.Context, _ map[string]any) (any, error) { return nil, hotel(ctx, "book") },
							Undo: func(ctx context.Context, _ any) error { return hotel(ctx, "cancel") },
						},
						{Name: "wait", Do: func(ctx context.Context, _ map[string]any) (any, error) { return patient(ctx, t) }},
					}}.Run(ctx, t.Agent)
					return p.InformResult{}, err
				}})
				task := w.start(t.Context())
				synctest.Wait()
				task.Cancel()
				_, err := task.Wait()
				wantEnd(t, err, machineState(c.state), c.code)
				if c.code == p.CodeStillRunning {
					time.Sleep(c.undoing)
					synctest.Wait()
				}
				d.want(t, "book", "cancel")
				w.settled(0)
			})
		})
	}
}

// TestSagaWithCodeThatPanics beside its steps.
func TestSagaWithCodeThatPanics(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var d deeds
		saga := codons.Saga{Steps: []codons.SagaStep{d.step("a"), d.step("b")}, Journal: func(_ context.Context, s codons.SagaState) error {
			if s.At != "doing_1" {
				panic("oh")
			}
			return nil
		}}
		if failure := sagaFailure(t, second(saga.Run(t.Context(), w.eddy))); failure.Step != "b" {
			t.Errorf("got %+v", failure)
		}
		d.want(t, "a after 0", "undo a's")
	})
	for name, do := range map[string]func(context.Context, map[string]any) (any, error){
		"Unknown": func(context.Context, map[string]any) (any, error) { return nil, errors.New("no") },
		"Do":      func(context.Context, map[string]any) (any, error) { panic("no") },
	} {
		inWorld(t, func(t *testing.T, w *world) {
			var d deeds
			a := d.step("a")
			a.Do, a.Unknown = do, func(error) bool {
				if name == "Unknown" {
					panic("oh")
				}
				return false
			}
			_ = sagaFailure(t, second(codons.Saga{Steps: []codons.SagaStep{a}}.Run(t.Context(), w.eddy)))
			d.want(t, "undo <nil>")
		})
	}
}

func second[A any](_ A, err error) error { return err }

// TestSagaWithoutItsParty does not try for long to undo what nobody can undo.
func TestSagaWithoutItsParty(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Jules", &worker{})
		tries := 0
		_, err := codons.Saga{Steps: []codons.SagaStep{
			{
				Name: "a",
				Do:   func(ctx context.Context, _ map[string]any) (any, error) { return w.delegate(ctx) },
				Undo: func(ctx context.Context, _ any) error { tries++; return second(w.delegate(ctx)) },
			},
			{Name: "b", Do: func(ctx context.Context, _ map[string]any) (any, error) {
				return nil, errors.Join(errors.New("no"), w.StopAgent(ctx, "Eddy"))
			}},
		}}.Run(t.Context(), w.eddy)
		if failure := sagaFailure(t, err); len(failure.Lost) != 1 || tries != 1 {
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
		"nothing":                      {nil, false},
		"no peer":                      {errors.New("no"), false},
		"time":                         {fmt.Errorf("a: %w", context.DeadlineExceeded), true},
		"a rejection":                  {fmt.Errorf("a: %w", no), false},
		"silence":                      {fmt.Errorf("a: %w", maybe), true},
		"an overspent budget":          {&codons.EndError{State: "failed", Refusal: p.Refusal{Code: p.CodeBudget}}, true},
		"nobody took it on":            {&codons.NobodyError{Attempts: []codons.Attempt{{Err: no}, {Err: no}}}, false},
		"the second took it on":        {&codons.NobodyError{Attempts: []codons.Attempt{{Err: no}, {Err: maybe}}}, true},
		"one of many did it":           {&codons.QuorumError{Want: 2, Got: 1, Answers: []codons.Answer{{Err: no}, {}}}, true},
		"none of many did it":          {&codons.QuorumError{Want: 2, Answers: []codons.Answer{{Err: no}, {Err: no}}}, false},
		"a winner was lost":            {errors.Join(codons.ErrNoAward, no, maybe), true},
		"no bids":                      {errors.Join(codons.ErrNoAward, no), false},
		"a saga that is undone":        {&codons.SagaError{Cause: maybe, Undone: []string{"a"}}, false},
		"a saga that left things over": {&codons.SagaError{Cause: no, Lost: []codons.LostStep{{Step: "a", Err: no}}}, true},
	} {
		if got := codons.StepUnknown(c.err); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestSagaOfManySteps also has to be ready soon.
func TestSagaOfManySteps(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var d deeds
		var steps []codons.SagaStep
		for i := range 120 {
			steps = append(steps, d.step(fmt.Sprint(i)))
		}
		got, err := codons.Saga{Steps: steps}.Run(t.Context(), w.eddy)
		if err != nil || len(got) != len(steps) {
			t.Errorf("%d results, %v", len(got), err)
		}
	})
}

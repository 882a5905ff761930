package codons_test

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// deeds are what the steps of a saga under test have done, in order.
type deeds struct {
	mu   sync.Mutex
	done []string
}

func (d *deeds) do(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.done = append(d.done, what)
}

// step is one that only does, and undoes, deeds.
func (d *deeds) step(name string) codons.SagaStep {
	return codons.SagaStep{
		Name: name,
		Do: func(_ context.Context, earlier map[string]any) (any, error) {
			d.do(fmt.Sprint(name, " after ", len(earlier)))
			return name + "'s", nil
		},
		Undo: func(_ context.Context, done any) error {
			d.do(fmt.Sprint("undo ", done))
			return nil
		},
	}
}

// failing is a step that fails so.
func (d *deeds) failing(name string, err error) codons.SagaStep {
	s := d.step(name)
	s.Do = func(context.Context, map[string]any) (any, error) { return nil, err }
	return s
}

func (d *deeds) want(t *testing.T, want ...string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Equal(d.done, want) {
		t.Errorf("done: %q, want %q", d.done, want)
	}
}

// sagaFailure expects err to be that of a saga.
func sagaFailure(t *testing.T, err error) *codons.SagaError {
	t.Helper()
	var failure *codons.SagaError
	if !errors.As(err, &failure) {
		t.Fatalf("got %v, want a SagaError", err)
	}
	return failure
}

func TestSagaSucceeds(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var d deeds
		got, err := codons.Saga{Steps: []codons.SagaStep{d.step("a"), d.step("b"), d.step("c")}}.Run(t.Context(), w.eddy)
		if err != nil || got["a"] != "a's" || got["c"] != "c's" {
			t.Errorf("got %v, %v", got, err)
		}
		d.want(t, "a after 0", "b after 1", "c after 2")
		w.settled(0)
	})
}

func TestSagaGoesBack(t *testing.T) {
	unknown := &codons.EndError{State: "timed_out"}
	for name, c := range map[string]struct {
		err  error
		want []string
	}{
		"the step did nothing": {errors.New("no room"), []string{"a after 0", "b after 1", "undo b's", "undo a's"}},
		"rejected":             {&codons.EndError{State: "rejected"}, []string{"a after 0", "b after 1", "undo b's", "undo a's"}},
		"failed":               {&codons.EndError{State: "failed", Refusal: p.Refusal{Code: p.CodeFailed}}, []string{"a after 0", "b after 1", "undo b's", "undo a's"}},
		"nobody knows":         {unknown, []string{"a after 0", "b after 1", "undo <nil>", "undo b's", "undo a's"}},
		"still running":        {&codons.EndError{State: "failed", Refusal: p.Refusal{Code: p.CodeStillRunning}}, []string{"a after 0", "b after 1", "undo <nil>", "undo b's", "undo a's"}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				var d deeds
				_, err := codons.Saga{Steps: []codons.SagaStep{d.step("a"), d.step("b"), d.failing("c", c.err), d.step("d")}}.Run(t.Context(), w.eddy)
				failure := sagaFailure(t, err)
				if failure.Step != "c" || !errors.Is(err, c.err) || len(failure.Lost) != 0 || len(failure.Undone) != len(c.want)-2 {
					t.Errorf("got %+v", failure)
				}
				d.want(t, c.want...)
				w.settled(0)
			})
		})
	}
}

func TestSagaOfStepsThatDoNotReturn(t *testing.T) {
	for name, do := range map[string]func(context.Context, map[string]any) (any, error){
		"panic":  func(context.Context, map[string]any) (any, error) { panic("oh") },
		"goexit": func(context.Context, map[string]any) (any, error) { goruntime.Goexit(); return nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				var d deeds
				b := d.step("b")
				b.Do = do
				_, err := codons.Saga{Steps: []codons.SagaStep{d.step("a"), b}}.Run(t.Context(), w.eddy)
				if failure := sagaFailure(t, err); failure.Step != "b" {
					t.Errorf("got %+v", failure)
				}
				d.want(t, "a after 0", "undo <nil>", "undo a's")
			})
		})
	}
}

// TestSagaRetriesAndNames has one step that is undone at the third try, and one that
// never is: the others still are.
func TestSagaRetriesAndNames(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var d deeds
		stuck := errors.New("stuck")
		a, b, c := d.step("a"), d.step("b"), d.step("c")
		tries := 0
		b.Undo = func(context.Context, any) error {
			if tries++; tries < 3 {
				return errors.New("not now")
			}
			d.do("undo b at last")
			return nil
		}
		c.UndoTime, c.Retry = time.Minute, codons.Retry{First: 20 * time.Second, Max: 20 * time.Second, Jitter: -1}
		cTries := 0
		c.Undo = func(context.Context, any) error { cTries++; return stuck }
		start := time.Now()
		_, err := codons.Saga{Steps: []codons.SagaStep{a, b, c, d.failing("d", errors.New("no"))}}.Run(t.Context(), w.eddy)
		failure := sagaFailure(t, err)
		if !slices.Equal(failure.Undone, []string{"b", "a"}) || len(failure.Lost) != 1 || failure.Lost[0].Step != "c" || !errors.Is(err, stuck) {
			t.Errorf("got %+v", failure)
		}
		if cTries != 3 || tries != 3 {
			t.Errorf("tried %d and %d times, want 3 and 3", cTries, tries)
		}
		if text := err.Error(); !strings.Contains(text, "step d: no; undone: b, a; NOT undone: c: stuck") {
			t.Errorf("it says %q", text)
		}
		if time.Since(start) > 3*time.Minute {
			t.Errorf("it took %v", time.Since(start))
		}
		d.want(t, "a after 0", "b after 1", "c after 2", "undo b at last", "undo a's")
	})
}

// TestSagaIsEndedFromOutside has the context end while the second step works.
func TestSagaIsEndedFromOutside(t *testing.T) {
	for name, c := range map[string]struct {
		end   func(context.Context) (context.Context, context.CancelFunc)
		cause error
	}{
		"deadline": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Minute)
		}, context.DeadlineExceeded},
		"cancel": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Minute, cancel)
			return ctx, cancel
		}, context.Canceled},
	} {
		for _, stubborn := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " stubborn ", stubborn), func(t *testing.T) {
				inWorld(t, func(t *testing.T, w *world) {
					var d deeds
					release := make(chan struct{})
					b := d.step("b")
					b.Do = func(ctx context.Context, _ map[string]any) (any, error) {
						if stubborn {
							<-release
							return "too late", nil
						}
						<-ctx.Done()
						return nil, ctx.Err()
					}
					undo := b.Undo
					b.Undo = func(ctx context.Context, done any) error {
						if ctx.Err() != nil {
							t.Error("undoing is cut off by the end of the saga's context")
						}
						return undo(ctx, done)
					}
					ctx, cancel := c.end(t.Context())
					defer cancel()
					_, err := codons.Saga{Steps: []codons.SagaStep{d.step("a"), b}}.Run(ctx, w.eddy)
					if failure := sagaFailure(t, err); failure.Step != "b" || !errors.Is(err, c.cause) {
						t.Errorf("got %+v", failure)
					}
					d.want(t, "a after 0", "undo <nil>", "undo a's")
					close(release)
					w.settled(0)
				})
			})
		}
	}
}

// TestSagaOfAgents cancels a saga whose second step another agent works on.
func TestSagaOfAgents(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var d deeds
		w.spawn("Hotel", &worker{perform: func(_ context.Context, t codons.Task) (p.InformResult, error) {
			d.do(t.Description)
			return result(p.StatusSuccess), nil
		}})
		w.spawn("Flight", &worker{perform: func(ctx context.Context, t codons.Task) (p.InformResult, error) {
			d.do(t.Description)
			if t.Description == "cancel flight" {
				return result(p.StatusSuccess), nil
			}
			return patient(ctx, t)
		}})
		delegate := func(to p.AgentID, what string) func(context.Context) (any, error) {
			return func(ctx context.Context) (any, error) {
				return codons.Delegate(ctx, w.eddy, to, p.TaskRequest{TaskType: "book", Description: what})
			}
		}
		step := func(name string, to p.AgentID) codons.SagaStep {
			return codons.SagaStep{
				Name: name,
				Do:   func(ctx context.Context, _ map[string]any) (any, error) { return delegate(to, "book "+name)(ctx) },
				Undo: func(ctx context.Context, _ any) error { _, err := delegate(to, "cancel "+name)(ctx); return err },
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := codons.Saga{Steps: []codons.SagaStep{step("hotel", "Hotel"), step("flight", "Flight")}}.Run(ctx, w.eddy)
			ended <- err
		}()
		synctest.Wait()
		cancel()
		if failure := sagaFailure(t, <-ended); len(failure.Lost) != 0 {
			t.Errorf("got %+v", failure)
		}
		d.want(t, "book hotel", "book flight", "cancel flight", "cancel hotel")
		w.settled(0)
	})
}

// TestSagaResumes has a saga crash at each of its states, and another undo what it did.
func TestSagaResumes(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var states []codons.SagaState
		var d deeds
		steps := []codons.SagaStep{d.step("a"), d.step("b"), d.failing("c", errors.New("no"))}
		saga := codons.Saga{Steps: steps, Journal: func(_ context.Context, s codons.SagaState) error {
			states = append(states, s)
			return nil
		}}
		_, err := saga.Run(t.Context(), w.eddy)
		if failure := sagaFailure(t, err); failure.Step != "c" {
			t.Errorf("got %+v", failure)
		}
		want := [][]string{{"undo <nil>"}, {"undo <nil>", "undo a's"}, {"undo <nil>", "undo b's", "undo a's"}, {"undo b's", "undo a's"}, {"undo a's"}}
		if len(states) != len(want)+1 || states[5].At != "undone" {
			t.Fatalf("states: %+v", states)
		}
		for i, from := range states[:5] {
			var again deeds
			saga := codons.Saga{Steps: []codons.SagaStep{again.step("a"), again.step("b"), again.step("c")}}
			if err := saga.Resume(t.Context(), w.eddy, from); !errors.Is(err, codons.ErrResumed) {
				t.Errorf("from %s: %v", from.At, err)
			}
			again.want(t, want[i]...)
		}
		if err := saga.Resume(t.Context(), w.eddy, states[5]); err == nil || errors.Is(err, codons.ErrResumed) {
			t.Errorf("from its end: %v", err)
		}
	})
}

func TestSagaThatCannotBeJournalled(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var d deeds
		full := errors.New("disk full")
		saga := codons.Saga{Steps: []codons.SagaStep{d.step("a"), d.step("b")}, Journal: func(_ context.Context, s codons.SagaState) error {
			if s.At == "doing_1" {
				return nil
			}
			return full
		}}
		_, err := saga.Run(t.Context(), w.eddy)
		if failure := sagaFailure(t, err); failure.Step != "b" || !errors.Is(err, full) {
			t.Errorf("got %+v", failure)
		}
		d.want(t, "a after 0", "undo a's")
	})
}

func TestSagasThatAreNone(t *testing.T) {
	var d deeds
	for name, s := range map[string]codons.Saga{
		"no steps": {}, "no name": {Steps: []codons.SagaStep{{Do: d.step("a").Do}}},
		"nothing to do": {Steps: []codons.SagaStep{{Name: "a"}}}, "twins": {Steps: []codons.SagaStep{d.step("a"), d.step("a")}},
	} {
		if _, err := s.Run(t.Context(), nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

package saga_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/saga"
	"github.com/ribosome-agents/ribosome/internal/systemtest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// failureOf expects err to be a [saga.Error].
func failureOf(t *testing.T, err error) *saga.Error {
	t.Helper()
	var failure *saga.Error
	if !errors.As(err, &failure) {
		t.Fatalf("got %v, want a saga.Error", err)
	}
	return failure
}

func TestAllStepsDone(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		var d deeds
		got, err := saga.Saga{Steps: []saga.Step{d.step("a"), d.step("b"), d.step("c")}}.Run(t.Context(), w.Eddy)
		if err != nil || got["a"] != "a's" || got["c"] != "c's" {
			t.Errorf("got %v, %v", got, err)
		}
		d.want(t, "a after 0", "b after 1", "c after 2")
		w.Settled(0)
	})
}

// TestStepFails undoes the steps before, and the failed step itself when it may have been done.
func TestStepFails(t *testing.T) {
	unknown := &codons.EndError{State: "timed_out"}
	for name, c := range map[string]struct {
		err  error
		want []string
	}{
		"the step did nothing": {errors.New("no room"), []string{"a after 0", "b after 1", "undo b's", "undo a's"}},
		"rejected":             {&codons.EndError{State: "rejected"}, []string{"a after 0", "b after 1", "undo b's", "undo a's"}},
		"failed":               {&codons.EndError{State: "failed", Refusal: p.Refusal{Code: p.CodeFailed}}, []string{"a after 0", "b after 1", "undo b's", "undo a's"}},
		"timed out":            {unknown, []string{"a after 0", "b after 1", "undo <nil>", "undo b's", "undo a's"}},
		"still running":        {&codons.EndError{State: "failed", Refusal: p.Refusal{Code: p.CodeStillRunning}}, []string{"a after 0", "b after 1", "undo <nil>", "undo b's", "undo a's"}},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				var d deeds
				_, err := saga.Saga{Steps: []saga.Step{d.step("a"), d.step("b"), d.failing("c", c.err), d.step("d")}}.Run(t.Context(), w.Eddy)
				failure := failureOf(t, err)
				if failure.Step != "c" || !errors.Is(err, c.err) || len(failure.Lost) != 0 || len(failure.Undone) != len(c.want)-2 {
					t.Errorf("got %+v", failure)
				}
				d.want(t, c.want...)
				w.Settled(0)
			})
		})
	}
}

// TestStepPanics has a step that panics, and one that ends its goroutine. Both are undone.
func TestStepPanics(t *testing.T) {
	for name, do := range map[string]func(context.Context, map[string]any) (any, error){
		"panic":  func(context.Context, map[string]any) (any, error) { panic("oh") },
		"goexit": func(context.Context, map[string]any) (any, error) { goruntime.Goexit(); return nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				w.Allow(systemtest.ErrorLogged)
				var d deeds
				b := d.step("b")
				b.Do = do
				_, err := saga.Saga{Steps: []saga.Step{d.step("a"), b}}.Run(t.Context(), w.Eddy)
				if failure := failureOf(t, err); failure.Step != "b" {
					t.Errorf("got %+v", failure)
				}
				d.want(t, "a after 0", "undo <nil>", "undo a's")
			})
		})
	}
}

// A step or an undo that fails is published as a failure of its agent, in the conversation whose
// work the saga is part of.
func TestFailuresArePublished(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Allow(systemtest.ErrorLogged)
		failed := kit.Recording(&w.Events, lifecycle.KindJobFailed)
		want := func(lines ...string) {
			t.Helper()
			got := []string{}
			for _, e := range kit.Published[lifecycle.JobFailed](t, failed) {
				got = append(got, fmt.Sprintf("%s/%s of %s in %s with %s: %v, stack %v", e.Protocol, e.Job, e.Agent, e.Conversation, e.Peer, e.Err, strings.Contains(string(e.Stack), "saga_test.go")))
			}
			if !slices.Equal(got, lines) {
				t.Errorf("published %q, want %q", got, lines)
			}
		}
		run := func(ctx context.Context, err error) {
			var d deeds
			a := d.step("a")
			a.Retry = codons.Retry{Jitter: -1}
			if _, failure := (saga.Saga{Steps: []saga.Step{a, d.failing("b", err)}}).Run(ctx, w.Eddy); failure == nil {
				t.Error("it has not failed")
			}
		}
		in := context.WithValue(t.Context(), actors.CallerKey{}, actors.Caller{Conversation: "above", Peer: "Asker"})
		run(in, errors.New("no seats"))
		want("saga/b of Eddy in above with Asker: no seats, stack false")
		run(t.Context(), &p.Refusal{Code: p.CodeForbidden, Text: "not you"})
		want()
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		run(ended, nil)
		want()
		var d deeds
		a, b := d.step("a"), d.step("b")
		a.Undo = func(context.Context, any) error { panic("oh") }
		a.UndoTime = 1
		b.Do = func(context.Context, map[string]any) (any, error) { goruntime.Goexit(); return nil, nil }
		_, _ = saga.Saga{Steps: []saga.Step{a, b}}.Run(in, w.Eddy)
		want("saga/b of Eddy in above with Asker: saga: the step ended its goroutine, stack false", "saga/a of Eddy in above with Asker: actors: panic: oh, stack true")
	})
}

// TestUndoRetries has one step that is undone at the third try, and one that cannot be undone.
// The error names it, and the steps before it are undone.
func TestUndoRetries(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Allow(systemtest.ErrorLogged)
		var d deeds
		stuck := errors.New("stuck")
		a, b, c := d.step("a"), d.step("b"), d.step("c")
		tries, last := 0, time.Time{}
		b.Undo = func(context.Context, any) error {
			if tries++; tries == 2 {
				last = time.Now()
				return &p.Refusal{Code: p.CodeBusy, RetryAfter: 25 * time.Second}
			}
			if tries == 1 {
				return errors.New("not now")
			}
			if wait := time.Since(last); wait < 25*time.Second || wait > 38*time.Second {
				t.Errorf("tried again after %v by an agent that is busy for 25 s", wait)
			}
			d.do("undo b at last")
			return nil
		}
		c.UndoTime, c.Retry = time.Minute, codons.Retry{First: 20 * time.Second, Max: 20 * time.Second, Jitter: -1}
		cTries := 0
		c.Undo = func(context.Context, any) error { cTries++; return stuck }
		start := time.Now()
		_, err := saga.Saga{Steps: []saga.Step{a, b, c, d.failing("d", errors.New("no"))}}.Run(t.Context(), w.Eddy)
		failure := failureOf(t, err)
		if !slices.Equal(failure.Undone, []string{"b", "a"}) || len(failure.Lost) != 1 || failure.Lost[0].Step != "c" || !errors.Is(err, stuck) {
			t.Errorf("got %+v", failure)
		}
		if cTries != 3 || tries != 3 {
			t.Errorf("tried %d and %d times, want 3 and 3", cTries, tries)
		}
		if text := err.Error(); !strings.Contains(text, "step d: no; undone: b, a; NOT undone: c: stuck") {
			t.Errorf("the error text is %q", text)
		}
		if time.Since(start) > 3*time.Minute {
			t.Errorf("it took %v", time.Since(start))
		}
		d.want(t, "a after 0", "b after 1", "c after 2", "undo b at last", "undo a's")
	})
}

// TestUndoIgnoresItsTime has an Undo that returns while the step before it is undone. That is too
// late, whatever it returns.
func TestUndoIgnoresItsTime(t *testing.T) {
	for _, late := range []error{nil, errors.New("late")} {
		t.Run(fmt.Sprint(late), func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				w.Allow(systemtest.ErrorLogged)
				var d deeds
				release := make(chan struct{})
				a, b := d.step("a"), d.step("b")
				undo := a.Undo
				a.Undo = func(ctx context.Context, done any) error {
					close(release)
					synctest.Wait()
					return undo(ctx, done)
				}
				b.Undo = func(context.Context, any) error { <-release; return late }
				_, err := saga.Saga{Steps: []saga.Step{a, b, d.failing("c", errors.New("no"))}}.Run(t.Context(), w.Eddy)
				failure := failureOf(t, err)
				if failure.Step != "c" || len(failure.Lost) != 1 || failure.Lost[0].Step != "b" || !errors.Is(failure.Lost[0].Err, context.DeadlineExceeded) {
					t.Errorf("got %+v", failure)
				}
				if !slices.Equal(failure.Undone, []string{"a"}) {
					t.Errorf("undone: %q", failure.Undone)
				}
				d.want(t, "a after 0", "b after 1", "undo a's")
				w.Settled(0)
			})
		})
	}
}

// TestUndoAfterTheGrace has a cancelled step return within the grace, and the undoing take longer
// than it. It has a time of its own, and the grace once more.
func TestUndoAfterTheGrace(t *testing.T) {
	const grace = 10 * time.Second
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		var d deeds
		a, b := d.step("a"), d.step("b")
		b.Do = func(ctx context.Context, _ map[string]any) (any, error) {
			<-ctx.Done()
			time.Sleep(grace / 2)
			return nil, ctx.Err()
		}
		undo := a.Undo
		a.UndoTime = 3 * grace
		a.Undo = func(ctx context.Context, done any) error {
			<-ctx.Done()
			time.Sleep(grace / 2)
			return undo(ctx, done)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := saga.Saga{Steps: []saga.Step{a, b}, Grace: grace}.Run(ctx, w.Eddy)
		if failure := failureOf(t, err); failure.Step != "b" || len(failure.Lost) != 0 {
			t.Errorf("got %+v", failure)
		}
		d.want(t, "a after 0", "undo <nil>", "undo a's")
		w.Settled(0)
	})
}

// TestLateResult drops the result, and the error, of a step that returns while it is undone.
func TestLateResult(t *testing.T) {
	for _, late := range []error{nil, errors.New("late")} {
		t.Run(fmt.Sprint(late), func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				records := kit.Recording(&w.Events, codons.KindRecorded)
				var d deeds
				a := d.step("a")
				ctx, cancel := context.WithCancel(t.Context())
				release := make(chan struct{})
				a.Do = func(context.Context, map[string]any) (any, error) { cancel(); <-release; return "late", late }
				a.Undo = func(context.Context, any) error { close(release); synctest.Wait(); return nil }
				_, err := saga.Saga{Steps: []saga.Step{a}}.Run(ctx, w.Eddy)
				_ = failureOf(t, err)
				all := kit.Published[codons.Recorded](t, records)
				if len(all) != 1 {
					t.Fatalf("got %+v", all)
				}
				if data, err := json.Marshal(all[0].Data); err != nil || strings.Contains(string(data), "late") {
					t.Errorf("the data is %s, %v", data, err)
				}
			})
		})
	}
}

// TestContextEnds ends the context during the second step, which returns or does not.
func TestContextEnds(t *testing.T) {
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
		for _, ignores := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " ignored ", ignores), func(t *testing.T) {
				kit.InWorld(t, func(t *testing.T, w *kit.World) {
					var d deeds
					release := make(chan struct{})
					b := d.step("b")
					b.Do = func(ctx context.Context, _ map[string]any) (any, error) {
						if ignores {
							<-release
							return "too late", nil
						}
						<-ctx.Done()
						return nil, ctx.Err()
					}
					undo := b.Undo
					b.Undo = func(ctx context.Context, done any) error {
						if ctx.Err() != nil {
							t.Error("the context of Undo ended with the saga's")
						}
						return undo(ctx, done)
					}
					ctx, cancel := c.end(t.Context())
					defer cancel()
					_, err := saga.Saga{Steps: []saga.Step{d.step("a"), b}}.Run(ctx, w.Eddy)
					if failure := failureOf(t, err); failure.Step != "b" || !errors.Is(err, c.cause) {
						t.Errorf("got %+v", failure)
					}
					d.want(t, "a after 0", "undo <nil>", "undo a's")
					close(release)
					w.Settled(0)
				})
			})
		}
	}
}

// TestStepsOfOtherAgents cancels a saga while another agent works on its second step.
func TestStepsOfOtherAgents(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		var d deeds
		w.Add("Hotel", &kit.Worker{Perform: func(_ context.Context, t delegation.Task) (p.InformResult, error) {
			d.do(t.Description)
			return kit.Result(p.StatusSuccess), nil
		}})
		w.Add("Flight", &kit.Worker{Perform: func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
			d.do(t.Description)
			if t.Description == "cancel flight" {
				return kit.Result(p.StatusSuccess), nil
			}
			return kit.UntilDone[p.InformResult, delegation.Task](ctx, t)
		}})
		delegate := func(to p.AgentID, what string) func(context.Context) (any, error) {
			return func(ctx context.Context) (any, error) {
				return delegation.Delegate(ctx, w.Eddy, to, p.TaskRequest{TaskType: "book", Description: what})
			}
		}
		step := func(name string, to p.AgentID) saga.Step {
			return saga.Step{
				Name: name,
				Do:   func(ctx context.Context, _ map[string]any) (any, error) { return delegate(to, "book "+name)(ctx) },
				Undo: func(ctx context.Context, _ any) error { _, err := delegate(to, "cancel "+name)(ctx); return err },
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := saga.Saga{Steps: []saga.Step{step("hotel", "Hotel"), step("flight", "Flight")}}.Run(ctx, w.Eddy)
			ended <- err
		}()
		synctest.Wait()
		cancel()
		if failure := failureOf(t, <-ended); len(failure.Lost) != 0 {
			t.Errorf("got %+v", failure)
		}
		d.want(t, "book hotel", "book flight", "cancel flight", "cancel hotel")
		w.Settled(0)
	})
}

// stateOf returns the state that the events of a record lead to.
func stateOf(t *testing.T, r codons.Record) machine.State {
	t.Helper()
	v, _, err := codons.Rebuild(saga.Codon, r)
	if err != nil {
		t.Error(err)
		return ""
	}
	return v.State()
}

// TestJournalFails fails the step whose beginning is not journalled.
func TestJournalFails(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Allow(systemtest.ErrorLogged)
		var d deeds
		full := errors.New("disk full")
		saga := saga.Saga{Steps: []saga.Step{d.step("a"), d.step("b")}, Journal: func(_ context.Context, r codons.Record) error {
			if stateOf(t, r) == "doing_1" {
				return nil
			}
			return full
		}}
		_, err := saga.Run(t.Context(), w.Eddy)
		if failure := failureOf(t, err); failure.Step != "b" || !errors.Is(err, full) {
			t.Errorf("got %+v", failure)
		}
		d.want(t, "a after 0", "undo a's")
	})
}

func TestInvalidSagas(t *testing.T) {
	var d deeds
	for name, s := range map[string]saga.Saga{
		"no steps": {}, "no name": {Steps: []saga.Step{{Do: d.step("a").Do}}},
		"nothing to do": {Steps: []saga.Step{{Name: "a"}}}, "two steps of one name": {Steps: []saga.Step{d.step("a"), d.step("a")}},
	} {
		if _, err := s.Run(t.Context(), nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestStepWithRefusedCopy has a full mailbox refuse a repetition of the request of a step that is
// under way. The step is done, so a later failure undoes it.
func TestStepWithRefusedCopy(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{Consider: func(context.Context, delegation.Task) delegation.Decision {
			time.Sleep(time.Second)
			return delegation.Accept()
		}})
		w.RefuseRepeats(p.ActTaskRequest)
		var d deeds
		booked := d.step("a")
		booked.Do = func(ctx context.Context, _ map[string]any) (any, error) {
			_, err := delegation.Delegate(ctx, w.Eddy, "Jules", kit.Task(), codons.WithRetry(codons.Retry{First: 300 * time.Millisecond}))
			return "a's", err
		}
		_, err := saga.Saga{Steps: []saga.Step{booked, d.failing("b", errors.New("no room"))}}.Run(t.Context(), w.Eddy)
		if failure := failureOf(t, err); failure.Step != "b" {
			t.Errorf("got %+v", failure)
		}
		d.want(t, "undo a's")
		w.Settled(0)
	})
}

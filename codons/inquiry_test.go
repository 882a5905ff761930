package codons_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// inquiring asks each question in turn, and tells the answers.
func inquiring(questions ...string) func(context.Context, codons.Task) (p.InformResult, error) {
	return func(ctx context.Context, t codons.Task) (p.InformResult, error) {
		var answers []string
		for _, q := range questions {
			answer, err := t.NeedInput(ctx, q)
			if err != nil {
				return p.InformResult{}, err
			}
			answers = append(answers, answer.Description)
		}
		return p.InformResult{Status: p.StatusSuccess, Summary: strings.Join(answers, ", ")}, nil
	}
}

// telling answers each question with itself.
func telling() codons.DelegateOption {
	return codons.WithInput(func(_ context.Context, r p.InformResult) (p.TaskRequest, bool) {
		return p.TaskRequest{TaskType: "debug_code", Description: "of " + r.RequestForUser()}, true
	})
}

func TestHandlerGoesOnWhereItWas(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		considered := 0
		w.spawn("Jules", &worker{max: 1, perform: inquiring("branch", "file"), consider: func(context.Context, codons.Task) codons.Decision {
			considered++
			return codons.Accept()
		}})
		got, err := w.delegate(t.Context(), telling())
		if err != nil || got.Summary != "of branch, of file" || considered != 1 {
			t.Errorf("got %+v, %v, considered %d times", got, err, considered)
		}
		golden(t, "inquiry", w.monitor.lines())
		w.settled(0)
	})
}

func TestInquirySurvivesLosses(t *testing.T) {
	for _, act := range []p.Performative{p.ActTaskRequest, p.ActTaskAccept, p.ActInformResult} {
		for skip := range 3 {
			inWorld(t, func(t *testing.T, w *world) {
				w.spawn("Jules", &worker{perform: inquiring("branch")})
				lost := 0
				w.net.intercept(func(m *p.Message) bool {
					if m.Performative() != act {
						return false
					}
					lost++
					return lost == skip+1
				})
				got, err := w.delegate(t.Context(), telling())
				if err != nil || got.Summary != "of branch" {
					t.Errorf("%s %d lost: got %+v, %v", act, skip, got, err)
				}
				w.settled(0)
			})
		}
	}
}

// TestInquiryIsNotAnswered ends the handler's wait.
func TestInquiryIsNotAnswered(t *testing.T) {
	for name, c := range map[string]struct {
		end   func(*world, *codons.Delegated)
		input func(context.Context) bool
		cause error
	}{
		"declined":     {func(*world, *codons.Delegated) {}, func(context.Context) bool { return false }, codons.ErrCanceled},
		"cancelled":    {func(_ *world, d *codons.Delegated) { d.Cancel() }, outlast, codons.ErrCanceled},
		"deadline":     {func(*world, *codons.Delegated) {}, outlast, codons.ErrDeadline},
		"worker stops": {func(w *world, _ *codons.Delegated) { _ = w.StopAgent(w.t.Context(), "Jules") }, outlast, codons.ErrEnded},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				cause := make(chan error, 1)
				w.spawn("Jules", &worker{max: 1, perform: func(ctx context.Context, t codons.Task) (p.InformResult, error) {
					_, err := t.NeedInput(ctx, "branch")
					cause <- err
					return p.InformResult{}, err
				}})
				d := w.start(t.Context(), codons.WithInput(func(ctx context.Context, _ p.InformResult) (p.TaskRequest, bool) {
					return task(), c.input(ctx)
				}))
				synctest.Wait()
				c.end(w, d)
				if got, err := d.Wait(); err != nil || got.RequestForUser() != "branch" {
					t.Errorf("got %+v, %v", got, err)
				}
				err := <-cause
				first := name == "deadline" && errors.Is(err, codons.ErrCanceled) // whose clock is first is open
				if !errors.Is(err, c.cause) && !first {
					t.Errorf("the handler got %v, want %v", err, c.cause)
				}
				time.Sleep(time.Minute)
				w.settled(0)
			})
		})
	}
}

func outlast(ctx context.Context) bool {
	<-ctx.Done()
	return false
}

// TestHandlerDoesNotWaitForEver has it give up on the answer, and what becomes of
// that when it comes after all.
func TestHandlerDoesNotWaitForEver(t *testing.T) {
	for name, c := range map[string]struct {
		then func(context.Context, codons.Task) (p.InformResult, error)
		want string
		err  p.Code
	}{
		"and finishes": {func(context.Context, codons.Task) (p.InformResult, error) {
			return p.InformResult{Status: p.StatusSuccess, Summary: "main"}, nil
		}, "main", ""},
		"and fails": {func(context.Context, codons.Task) (p.InformResult, error) {
			return p.InformResult{}, &p.Refusal{Code: p.CodeForbidden}
		}, "", p.CodeForbidden},
		"and asks more by its result": {func(context.Context, codons.Task) (p.InformResult, error) {
			return asking("more"), nil
		}, "", p.CodeInternal},
		"and goes on until it comes": {func(ctx context.Context, t codons.Task) (p.InformResult, error) {
			for i := range 40 { // more than there is room for
				if err := t.Progress(float64(i), ""); err != nil {
					return p.InformResult{}, err
				}
			}
			if _, err := t.NeedInput(ctx, "more"); !errors.Is(err, codons.ErrQuestionOpen) {
				return p.InformResult{}, fmt.Errorf("a second question: %w", err)
			}
			time.Sleep(time.Hour)
			return inquiring("file")(ctx, t)
		}, "of file", ""},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.spawn("Jules", &worker{perform: func(ctx context.Context, t codons.Task) (p.InformResult, error) {
					short, cancel := context.WithTimeout(ctx, time.Minute)
					defer cancel()
					if _, err := t.NeedInput(short, "branch"); !errors.Is(err, context.DeadlineExceeded) {
						return p.InformResult{}, fmt.Errorf("the wait: %w", err)
					}
					return c.then(ctx, t)
				}})
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Hour)
				defer cancel()
				slow := codons.WithInput(func(ctx context.Context, r p.InformResult) (p.TaskRequest, bool) {
					select {
					case <-ctx.Done():
					case <-time.After(30 * time.Minute):
					}
					return p.TaskRequest{TaskType: "debug_code", Description: "of " + r.RequestForUser()}, true
				})
				d := w.start(ctx, slow)
				got, err := d.Wait()
				switch {
				case err != nil:
					t.Error(err)
				case c.err != "":
					if got.RequestForUser() != "branch" || !errors.Is(d.Unserved(), c.err) {
						t.Errorf("got %+v, for want of %v", got, d.Unserved())
					}
				case got.Summary != c.want:
					t.Errorf("got %+v, want %q", got, c.want)
				}
				w.settled(0)
			})
		})
	}
}

func TestQuestionsThatAreNone(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var first, second error
		w.spawn("Jules", &worker{perform: func(ctx context.Context, t codons.Task) (p.InformResult, error) {
			_, first = t.NeedInput(ctx, "")
			_, second = t.NeedInputFor(ctx, result(p.StatusSuccess))
			return result(p.StatusSuccess), nil
		}, consider: func(ctx context.Context, task codons.Task) codons.Decision {
			if _, err := task.NeedInput(ctx, "while it considers?"); err == nil {
				t.Error("it may ask before it has accepted")
			}
			return codons.Accept()
		}})
		if _, err := w.delegate(t.Context()); err != nil || !errors.Is(first, p.CodeInvalidPayload) || !errors.Is(second, p.CodeInvalidPayload) {
			t.Errorf("got %v, and %v, %v", err, first, second)
		}
	})
}

// TestResultCrossesWithTheFurtherRound ends the work while the answer is on its way:
// the late round begins no task of its own.
func TestResultCrossesWithTheFurtherRound(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		performed := 0
		w.spawn("Jules", &worker{perform: func(ctx context.Context, t codons.Task) (p.InformResult, error) {
			performed++
			short, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_, _ = t.NeedInput(short, "branch")
			return result(p.StatusSuccess), nil
		}})
		var late *p.Message
		w.net.intercept(func(m *p.Message) bool {
			if m.Performative() == p.ActTaskRequest && m.InReplyTo() != "" && late == nil {
				late = m
				return true
			}
			return false
		})
		got, err := w.delegate(t.Context(), telling())
		if err != nil || got.Status != p.StatusSuccess {
			t.Errorf("got %+v, %v", got, err)
		}
		if err := w.Deliver("Jules", late); err != nil {
			t.Error(err)
		}
		w.settled(0)
		if performed != 1 {
			t.Errorf("performed %d times", performed)
		}
	})
}

func TestInputFromAnotherAgent(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(context.Context, codons.Requested) (any, error)
		want   string
	}{
		"answers": {func(_ context.Context, r codons.Requested) (any, error) {
			in, err := p.PayloadAs[codons.InputNeeded](r.Message)
			if err != nil || in.Worker != "Jules" || in.Task.Description != "fix it" {
				return nil, fmt.Errorf("asked %+v, %w", in, err)
			}
			return codons.InputGiven{Text: "main, for " + in.Question}, nil
		}, "main, for branch"},
		"answers as from outside": {func(context.Context, codons.Requested) (any, error) { return p.Raw(`{"text": "dev"}`), nil }, "dev"},
		"refuses":                 {func(context.Context, codons.Requested) (any, error) { return nil, &p.Refusal{Code: p.CodeForbidden} }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.spawn("Jules", &worker{perform: inquiring("branch")})
				w.spawn("Person", &shop{c.answer})
				got, err := w.delegate(t.Context(), codons.WithInputFrom("Person"))
				if err != nil || got.Summary != c.want || c.want == "" && got.RequestForUser() != "branch" {
					t.Errorf("got %+v, %v", got, err)
				}
				w.settled(0)
			})
		})
	}
}

// TestInputFromIsWithdrawn cancels the delegation while the other agent thinks.
func TestInputFromIsWithdrawn(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		cause := make(chan error, 1)
		w.spawn("Jules", &worker{perform: inquiring("branch")})
		w.spawn("Person", &shop{func(ctx context.Context, _ codons.Requested) (any, error) {
			<-ctx.Done()
			cause <- context.Cause(ctx)
			return nil, ctx.Err()
		}})
		d := w.start(t.Context(), codons.WithInputFrom("Person"))
		synctest.Wait()
		d.Cancel()
		if got, err := d.Wait(); err != nil || got.RequestForUser() != "branch" {
			t.Errorf("got %+v, %v", got, err)
		}
		if err := <-cause; !errors.Is(err, codons.ErrCanceled) {
			t.Errorf("the person's cause is %v", err)
		}
		w.settled(0)
	})
}

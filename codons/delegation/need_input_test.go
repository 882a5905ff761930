package delegation_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/request"
	"github.com/ribosome-agents/ribosome/codons/standard"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// askFor returns a handler that asks the questions one after the other and returns the answers
// as its summary.
func askFor(questions ...string) func(context.Context, delegation.Task) (p.InformResult, error) {
	return func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
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

// echoInput answers each question with its own text.
func echoInput() codons.Option {
	return delegation.WithInput(func(_ context.Context, r p.InformResult) (p.TaskRequest, bool) {
		return p.TaskRequest{TaskType: "debug_code", Description: "of " + r.RequestForUser()}, true
	})
}

func TestHandlerContinuesWithTheAnswer(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		considered := 0
		w.Add("Jules", &kit.Worker{Max: 1, Perform: askFor("branch", "file"), Consider: func(context.Context, delegation.Task) delegation.Decision {
			considered++
			return delegation.Accept()
		}})
		got, err := w.Delegate(t.Context(), echoInput())
		if err != nil || got.Summary != "of branch, of file" || considered != 1 {
			t.Errorf("got %+v, %v, considered %d times", got, err, considered)
		}
		kit.Golden(t, "need input", w.Lines())
		w.Settled(0)
	})
}

func TestNeedInputSurvivesLostMessages(t *testing.T) {
	for _, act := range []p.Performative{p.ActTaskRequest, p.ActTaskAccept, p.ActInformResult} {
		for skip := range 3 {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				w.Add("Jules", &kit.Worker{Perform: askFor("branch")})
				lost := 0
				w.Net.Intercept(func(m *p.Message) bool {
					if m.Performative() != act {
						return false
					}
					lost++
					return lost == skip+1
				})
				got, err := w.Delegate(t.Context(), echoInput())
				if err != nil || got.Summary != "of branch" {
					t.Errorf("%s %d lost: got %+v, %v", act, skip, got, err)
				}
				w.Settled(0)
			})
		}
	}
}

// TestNeedInputIsNotAnswered checks the error of NeedInput for each way in which no answer
// comes.
func TestNeedInputIsNotAnswered(t *testing.T) {
	for name, c := range map[string]struct {
		end   func(*kit.World, *delegation.Delegated)
		input func(context.Context) bool
		cause error
	}{
		"declined":     {func(*kit.World, *delegation.Delegated) {}, func(context.Context) bool { return false }, codons.ErrCanceled},
		"cancelled":    {func(_ *kit.World, d *delegation.Delegated) { d.Cancel() }, waitForEnd, codons.ErrCanceled},
		"deadline":     {func(*kit.World, *delegation.Delegated) {}, waitForEnd, codons.ErrDeadline},
		"worker stops": {func(w *kit.World, _ *delegation.Delegated) { _ = w.StopAgent(w.T.Context(), "Jules") }, waitForEnd, codons.ErrEnded},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				cause := make(chan error, 1)
				w.Add("Jules", &kit.Worker{Max: 1, Perform: func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
					_, err := t.NeedInput(ctx, "branch")
					cause <- err
					return p.InformResult{}, err
				}})
				d := w.Start(t.Context(), delegation.WithInput(func(ctx context.Context, _ p.InformResult) (p.TaskRequest, bool) {
					return kit.Task(), c.input(ctx)
				}))
				synctest.Wait()
				c.end(w, d)
				if got, err := d.Wait(); err != nil || got.RequestForUser() != "branch" {
					t.Errorf("got %+v, %v", got, err)
				}
				err := <-cause
				first := name == "deadline" && errors.Is(err, codons.ErrCanceled) // the deadline of either side may pass first
				if !errors.Is(err, c.cause) && !first {
					t.Errorf("the handler got %v, want %v", err, c.cause)
				}
				time.Sleep(time.Minute)
				w.Settled(0)
			})
		})
	}
}

// TestHandlerIgnoresTheCancelOfItsQuestion has a handler go on after CANCEL has ended its wait for
// an answer. The initiator is told when the grace has passed, and not only when the handler
// returns.
func TestHandlerIgnoresTheCancelOfItsQuestion(t *testing.T) {
	const grace = 3 * time.Second
	kit.InWorldWith(t, codons.Times{Grace: grace}, actors.Options{}, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{Perform: func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
			_, err := t.NeedInput(ctx, "branch")
			time.Sleep(time.Minute) // although ctx has ended
			return p.InformResult{}, err
		}})
		a := w.Peer("peer")
		request := a.Send(p.Envelope{Receiver: "Jules", ConversationID: "c", Performative: p.ActTaskRequest, Protocol: "task-delegation", Payload: kit.Task()})
		a.Expect(p.ActTaskAccept)
		a.Expect(p.ActInformResult)
		start := time.Now()
		a.Send(p.Envelope{
			Receiver: "Jules", ConversationID: "c", Performative: p.ActCancel, Protocol: "task-delegation",
			InReplyTo: string(request.ID()), Payload: p.Cancel{Reason: "never mind"},
		})
		if got := a.Expect(p.ActFailure).AsRefusal(); !errors.Is(got, p.CodeStillRunning) {
			t.Errorf("got %v", got)
		}
		kit.WantElapsed(t, start, grace)
		time.Sleep(time.Minute)
		a.Silent()
		w.Settled(0)
	})
}

// waitForEnd declines the question at the end of ctx.
func waitForEnd(ctx context.Context) bool {
	<-ctx.Done()
	return false
}

// TestHandlerStopsWaiting has a handler stop waiting after a minute, and checks the outcome of
// each way to continue. The answer comes after half an hour.
func TestHandlerStopsWaiting(t *testing.T) {
	for name, c := range map[string]struct {
		then func(context.Context, delegation.Task) (p.InformResult, error)
		want string
		err  p.Code
	}{
		"finishes": {func(context.Context, delegation.Task) (p.InformResult, error) {
			return p.InformResult{Status: p.StatusSuccess, Summary: "main"}, nil
		}, "main", ""},
		"fails": {func(context.Context, delegation.Task) (p.InformResult, error) {
			return p.InformResult{}, &p.Refusal{Code: p.CodeForbidden}
		}, "", p.CodeForbidden},
		"asks again by its result": {func(context.Context, delegation.Task) (p.InformResult, error) {
			return kit.Asking("more"), nil
		}, "", p.CodeInternal},
		"continues until the answer comes": {func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
			for i := range 40 { // more than the 16 reports that may wait
				if err := t.Progress(float64(i), ""); err != nil {
					return p.InformResult{}, err
				}
			}
			if _, err := t.NeedInput(ctx, "more"); !errors.Is(err, delegation.ErrQuestionOpen) {
				return p.InformResult{}, fmt.Errorf("second question: %w", err)
			}
			time.Sleep(time.Hour)
			return askFor("file")(ctx, t)
		}, "of file", ""},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				w.Add("Jules", &kit.Worker{Perform: func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
					short, cancel := context.WithTimeout(ctx, time.Minute)
					defer cancel()
					if _, err := t.NeedInput(short, "branch"); !errors.Is(err, context.DeadlineExceeded) {
						return p.InformResult{}, fmt.Errorf("first question: %w", err)
					}
					return c.then(ctx, t)
				}})
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Hour)
				defer cancel()
				slow := delegation.WithInput(func(ctx context.Context, r p.InformResult) (p.TaskRequest, bool) {
					select {
					case <-ctx.Done():
					case <-time.After(30 * time.Minute):
					}
					return p.TaskRequest{TaskType: "debug_code", Description: "of " + r.RequestForUser()}, true
				})
				d := w.Start(ctx, slow)
				got, err := d.Wait()
				switch {
				case err != nil:
					t.Error(err)
				case c.err != "":
					if got.RequestForUser() != "branch" || !errors.Is(d.Unserved(), c.err) {
						t.Errorf("got %+v, unserved: %v", got, d.Unserved())
					}
				case got.Summary != c.want:
					t.Errorf("got %+v, want %q", got, c.want)
				}
				w.Settled(0)
			})
		})
	}
}

// TestNoRetryWhileAsked has the caller think for longer than many retries. The request is not sent
// again, because the partial result has answered it.
func TestNoRetryWhileAsked(t *testing.T) {
	for name, perform := range map[string]func(context.Context, delegation.Task) (p.InformResult, error){
		"the handler waits": askFor("branch"),
		"the handler has returned": func(_ context.Context, t delegation.Task) (p.InformResult, error) {
			if len(t.Previous) == 0 {
				return kit.Asking("branch"), nil
			}
			return p.InformResult{Status: p.StatusSuccess, Summary: t.Description}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				w.Add("Jules", &kit.Worker{Perform: perform})
				requests := countActs(w, p.ActTaskRequest)
				ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
				defer cancel()
				got, err := w.Delegate(ctx, delegation.WithInput(func(context.Context, p.InformResult) (p.TaskRequest, bool) {
					time.Sleep(12 * time.Hour)
					if n := requests.Load(); n != 1 {
						t.Errorf("%d requests were sent before the answer, want 1", n)
					}
					return p.TaskRequest{TaskType: "debug_code", Description: "main"}, true
				}))
				if err != nil || got.Summary != "main" || requests.Load() != 2 {
					t.Errorf("got %+v, %v after %d requests", got, err, requests.Load())
				}
				w.Settled(0)
			})
		})
	}
}

// countActs returns the number of messages of an act that are sent from now on.
func countActs(w *kit.World, act p.Performative) *atomic.Int64 {
	n := &atomic.Int64{}
	w.Net.Intercept(func(m *p.Message) bool {
		if m.Performative() == act {
			n.Add(1)
		}
		return false
	})
	return n
}

// heldDispatcher is a dispatcher that keeps what it is given while it is held.
type heldDispatcher struct {
	mu   sync.Mutex
	held bool
	kept []func()
}

func (d *heldDispatcher) Schedule(fn func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held {
		d.kept = append(d.kept, fn)
		return
	}
	go fn()
}

func (*heldDispatcher) Throughput() int { return 300 }

// hold sets whether the dispatcher is held. It runs what was kept once it is not.
func (d *heldDispatcher) hold(held bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held = held; held {
		return
	}
	for _, fn := range d.kept {
		go fn()
	}
	d.kept = nil
}

// TestAnswerAfterTheDeadline gives the answer at the deadline, before the conversation has noticed
// it. The answer is not sent: the worker would reject it.
func TestAnswerAfterTheDeadline(t *testing.T) {
	d := &heldDispatcher{}
	kit.InWorldWith(t, codons.Times{}, actors.Options{Dispatcher: d}, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{Perform: askFor("branch")})
		requests := countActs(w, p.ActTaskRequest)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		asked := w.Start(ctx, codons.WithPriority(p.Urgent), delegation.WithInput(func(ctx context.Context, _ p.InformResult) (p.TaskRequest, bool) {
			d.hold(true)
			<-ctx.Done()
			return kit.Task(), true
		}))
		time.Sleep(2 * time.Minute)
		d.hold(false) // the urgent answer overtakes the timer
		if got, err := asked.Wait(); err != nil || got.RequestForUser() != "branch" || asked.Unserved() != nil {
			t.Errorf("got %+v, %v, unserved: %v", got, err, asked.Unserved())
		}
		time.Sleep(time.Minute)
		w.Settled(0)
		if n := requests.Load(); n != 1 {
			t.Errorf("%d requests were sent, want 1", n)
		}
	})
}

func TestInvalidQuestions(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		var first, second error
		w.Add("Jules", &kit.Worker{Perform: func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
			_, first = t.NeedInput(ctx, "")
			_, second = t.NeedInputFor(ctx, kit.Result(p.StatusSuccess))
			return kit.Result(p.StatusSuccess), nil
		}, Consider: func(ctx context.Context, task delegation.Task) delegation.Decision {
			if _, err := task.NeedInput(ctx, "while it considers?"); err == nil {
				t.Error("ConsiderTask may ask for input")
			}
			return delegation.Accept()
		}})
		if _, err := w.Delegate(t.Context()); err != nil || !errors.Is(first, p.CodeInvalidPayload) || !errors.Is(second, p.CodeInvalidPayload) {
			t.Errorf("got %v, and %v, %v", err, first, second)
		}
	})
}

// TestResultCrossesWithTheFurtherRound has the worker finish while the request of the further
// round is on its way: the late request begins no second task.
func TestResultCrossesWithTheFurtherRound(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		performed := 0
		w.Add("Jules", &kit.Worker{Perform: func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
			performed++
			short, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_, _ = t.NeedInput(short, "branch")
			return kit.Result(p.StatusSuccess), nil
		}})
		var late *p.Message
		w.Net.Intercept(func(m *p.Message) bool {
			if m.Performative() == p.ActTaskRequest && m.InReplyTo() != "" && late == nil {
				late = m
				return true
			}
			return false
		})
		got, err := w.Delegate(t.Context(), echoInput())
		if err != nil || got.Status != p.StatusSuccess {
			t.Errorf("got %+v, %v", got, err)
		}
		if err := w.Deliver("Jules", late); err != nil {
			t.Error(err)
		}
		w.Settled(0)
		if performed != 1 {
			t.Errorf("performed %d times", performed)
		}
	})
}

func TestInputFromAnotherAgent(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(context.Context, request.Requested) (any, error)
		want   string
	}{
		"answers": {func(_ context.Context, r request.Requested) (any, error) {
			in, err := p.PayloadAs[delegation.InputNeeded](r.Message)
			if err != nil || in.Worker != "Jules" || in.Task.Description != "fix it" {
				return nil, fmt.Errorf("asked %+v, %w", in, err)
			}
			return delegation.InputGiven{Text: "main, for " + in.Question}, nil
		}, "main, for branch"},
		"answers in JSON": {func(context.Context, request.Requested) (any, error) { return p.Raw(`{"text": "dev"}`), nil }, "dev"},
		"refuses":         {func(context.Context, request.Requested) (any, error) { return nil, &p.Refusal{Code: p.CodeForbidden} }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				w.Add("Jules", &kit.Worker{Perform: askFor("branch")})
				w.Add("Person", &kit.RequestHandler{Handle: c.answer})
				got, err := w.Delegate(t.Context(), delegation.WithInputFrom("Person"))
				if err != nil || got.Summary != c.want || c.want == "" && got.RequestForUser() != "branch" {
					t.Errorf("got %+v, %v", got, err)
				}
				w.Settled(0)
			})
		})
	}
}

// TestInputFromIsWithdrawn cancels the delegation while the other agent works on its answer.
func TestInputFromIsWithdrawn(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		cause := make(chan error, 1)
		w.Add("Jules", &kit.Worker{Perform: askFor("branch")})
		w.Add("Person", &kit.RequestHandler{Handle: func(ctx context.Context, _ request.Requested) (any, error) {
			<-ctx.Done()
			cause <- context.Cause(ctx)
			return nil, ctx.Err()
		}})
		d := w.Start(t.Context(), delegation.WithInputFrom("Person"))
		synctest.Wait()
		d.Cancel()
		if got, err := d.Wait(); err != nil || got.RequestForUser() != "branch" {
			t.Errorf("got %+v, %v", got, err)
		}
		if err := <-cause; !errors.Is(err, codons.ErrCanceled) {
			t.Errorf("the cause of the other agent's ctx is %v", err)
		}
		w.Settled(0)
	})
}

// TestFurtherRoundOverspends has the second round of a task use more than its budget, and its
// TASK_ACCEPT lost. The partial result of the first round is the outcome then, and what was spent
// says that it was too much.
func TestFurtherRoundOverspends(t *testing.T) {
	for name, c := range map[string]struct {
		lost  bool
		state machine.State // of the error; empty for the partial result
	}{
		"the acceptance is heard": {false, standard.StateFailed},
		"the acceptance is lost":  {true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				rounds := 0
				w.Add("Jules", &kit.Worker{Perform: func(ctx context.Context, _ delegation.Task) (p.InformResult, error) {
					rounds++
					if err := codons.Spend(ctx, codons.Budget{codons.Tokens: 30}); err != nil {
						return p.InformResult{}, err
					}
					return kit.Asking("more"), nil
				}})
				w.Net.Intercept(func(m *p.Message) bool { return c.lost && rounds > 0 && m.Performative() == p.ActTaskAccept })
				d, err := delegation.Start(t.Context(), w.Eddy, "Jules", kit.Task(), codons.WithBudget(codons.Budget{codons.Tokens: 40}),
					delegation.WithInput(func(context.Context, p.InformResult) (p.TaskRequest, bool) { return kit.Task(), true }))
				if err != nil {
					t.Fatal(err)
				}
				r, err := d.Wait()
				switch {
				case c.state != "":
					kit.WantEnd(t, err, c.state, p.CodeBudget)
				case err != nil || r.Status != p.StatusPartial:
					t.Errorf("got %+v, %v, want the partial result", r, err)
				}
				if n := d.Spent()[codons.Tokens]; n != 60 || rounds != 2 {
					t.Errorf("%d tokens spent in %d rounds, want 60 in 2", n, rounds)
				}
				w.Settled(0)
			})
		})
	}
}

package codons_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	goruntime "runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

func TestDelegateResults(t *testing.T) {
	for _, status := range []p.TaskStatus{p.StatusSuccess, p.StatusPartial, p.StatusFailure} {
		t.Run(string(status), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.spawn("Jules", &worker{
					consider: func(context.Context, codons.Task) codons.Decision {
						return codons.AcceptWith(p.TaskAccept{TaskID: "t-1"})
					},
					perform: func(_ context.Context, t codons.Task) (p.InformResult, error) {
						for i := range 3 {
							if err := t.Progress(float64(i*10), fmt.Sprint(i)); err != nil {
								return p.InformResult{}, err
							}
						}
						return result(status), nil
					},
				})
				var heard []string
				got, err := w.delegate(t.Context(),
					codons.WithAccepted(func(a p.TaskAccept) { heard = append(heard, a.TaskID) }),
					codons.WithProgress(func(u p.StatusUpdate) { heard = append(heard, fmt.Sprint(*u.Progress, " ", u.Description)) }))
				if err != nil || !reflect.DeepEqual(got, result(status)) {
					t.Errorf("got %+v, %v", got, err)
				}
				if want := []string{"t-1", "0 0", "10 1", "20 2"}; !reflect.DeepEqual(heard, want) {
					t.Errorf("heard %q, want %q", heard, want)
				}
				w.settled(0)
			})
		})
	}
}

func TestDelegateDecisions(t *testing.T) {
	for _, c := range []struct {
		name     string
		decision codons.Decision
		state    string
		code     p.Code
	}{
		{"busy", codons.Reject(p.CodeBusy, "later"), "rejected", p.CodeBusy},
		{"incapable", codons.Reject(p.CodeIncapable, ""), "rejected", p.CodeIncapable},
		{"unauthorized", codons.Reject(p.CodeUnauthorized, ""), "rejected", p.CodeUnauthorized},
		{"forbidden", codons.Reject(p.CodeForbidden, ""), "rejected", p.CodeForbidden},
		{"rate_limited", codons.Reject(p.CodeRateLimited, ""), "rejected", p.CodeRateLimited},
		{"its own", codons.Reject("lunch", ""), "rejected", "lunch"},
		{"no code", codons.Reject("", ""), "rejected", p.CodeIncapable},
		{"zero", codons.Decision{}, "rejected", p.CodeIncapable},
		{"not understood", codons.NotUnderstood(p.CodeUnknownOntology, "what?"), "not_understood", p.CodeUnknownOntology},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.spawn("Jules", &worker{max: 1, consider: func(context.Context, codons.Task) codons.Decision { return c.decision }})
				for range 2 { // the second finds the place that the first has given back
					_, err := w.delegate(t.Context())
					wantEnd(t, err, machineState(c.state), c.code)
				}
				w.settled(0)
			})
		})
	}
}

func TestDelegateToAPanickingMind(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		panics := true
		w.spawn("Jules", &worker{max: 1, consider: func(context.Context, codons.Task) codons.Decision {
			if panics {
				panics = false
				panic("secret")
			}
			return codons.Accept()
		}})
		restarts := actors.Subscribe[actors.AgentStarted](&w.Events, 8)
		_, err := w.delegate(t.Context())
		wantEnd(t, err, "failed", p.CodeInternal)
		noSecret(t, err)
		for ev := range restarts.C {
			if ev.Again {
				break
			}
		}
		if _, err := w.delegate(t.Context()); err != nil {
			t.Errorf("after the restart: %v", err)
		}
	})
}

func noSecret(t *testing.T, err error) {
	t.Helper()
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the peer got an internal error: %v", err)
	}
}

func TestDelegateToAFailingHandler(t *testing.T) {
	for _, c := range []struct {
		name    string
		perform func(context.Context, codons.Task) (p.InformResult, error)
		code    p.Code
		events  int
	}{
		{"panic", func(context.Context, codons.Task) (p.InformResult, error) { panic("secret") }, p.CodeInternal, 1},
		{"goexit", func(context.Context, codons.Task) (p.InformResult, error) {
			goruntime.Goexit()
			return p.InformResult{}, nil
		}, p.CodeInternal, 1},
		{"error", func(context.Context, codons.Task) (p.InformResult, error) {
			return p.InformResult{}, errors.New("secret: /etc/passwd")
		}, p.CodeFailed, 0},
		{"refusal", func(context.Context, codons.Task) (p.InformResult, error) {
			return p.InformResult{}, fmt.Errorf("secret: %w", &p.Refusal{Code: p.CodeRateLimited, Text: "slowly"})
		}, p.CodeRateLimited, 0},
		{"invalid result", func(context.Context, codons.Task) (p.InformResult, error) {
			return p.InformResult{Status: "secret"}, nil
		}, p.CodeInternal, 0},
		{"no result", func(context.Context, codons.Task) (p.InformResult, error) { return p.InformResult{}, nil }, p.CodeInternal, 0},
		{"timeout", func(context.Context, codons.Task) (p.InformResult, error) {
			return p.InformResult{}, fmt.Errorf("secret: %w", context.DeadlineExceeded)
		}, p.CodeTimeout, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.spawn("Jules", &worker{perform: c.perform, max: 1})
				restarts := actors.Subscribe[actors.Supervised](&w.Events, 8)
				panics := actors.Subscribe[codons.HandlerPanicked](&w.Events, 8)
				for range 2 { // the agent lives, and its place was given back
					_, err := w.delegate(t.Context())
					wantEnd(t, err, "failed", c.code)
					noSecret(t, err)
				}
				w.settled(0)
				if len(restarts.C) != 0 || len(panics.C) != 2*c.events {
					t.Errorf("%d supervised, %d panics, want 0 and %d", len(restarts.C), len(panics.C), 2*c.events)
				}
			})
		})
	}
}

func TestDeadline(t *testing.T) {
	t.Run("handler keeps it", func(t *testing.T) {
		inWorld(t, func(t *testing.T, w *world) {
			cause := make(chan error, 1)
			w.spawn("Jules", &worker{perform: func(ctx context.Context, _ codons.Task) (p.InformResult, error) {
				<-ctx.Done()
				cause <- context.Cause(ctx)
				return p.InformResult{}, ctx.Err()
			}})
			abandoned := actors.Subscribe[actors.WorkAbandoned](&w.Events, 1)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			start := time.Now()
			_, err := w.delegate(ctx)
			wantElapsed(t, start, time.Second)
			wantTimeout(t, err)
			if err := <-cause; !errors.Is(err, codons.ErrDeadline) && !errors.Is(err, codons.ErrEnded) {
				t.Errorf("the handler's cause is %v", err)
			}
			time.Sleep(time.Minute)
			if len(abandoned.C) != 0 {
				t.Error("a handler that returned was called abandoned")
			}
			w.settled(0)
		})
	})
	t.Run("handler ignores it", func(t *testing.T) {
		inWorldOf(t, codons.Delegation{Grace: time.Second}, func(t *testing.T, w *world) {
			release := make(chan struct{})
			w.spawn("Jules", &worker{max: 1, perform: func(context.Context, codons.Task) (p.InformResult, error) {
				<-release
				return result(p.StatusSuccess), nil
			}})
			abandoned := actors.Subscribe[actors.WorkAbandoned](&w.Events, 8)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			start := time.Now()
			_, err := w.delegate(ctx)
			wantElapsed(t, start, time.Second)
			wantTimeout(t, err)
			w.settled(1)
			if ev := <-abandoned.C; ev.Agent != "Jules" {
				t.Errorf("got %+v", ev)
			}
			wantElapsed(t, start, 2*time.Second)
			_, err = w.delegate(t.Context())
			wantEnd(t, err, "rejected", p.CodeBusy) // the place is still taken
			close(release)
			w.settled(0)
			if _, err := w.delegate(t.Context()); err != nil {
				t.Errorf("the place was not given back: %v", err)
			}
			if len(abandoned.C) != 0 {
				t.Error("abandoned twice")
			}
		})
	})
	t.Run("default", func(t *testing.T) {
		inWorld(t, func(t *testing.T, w *world) {
			w.spawn("Jules", &worker{perform: patient})
			start := time.Now()
			_, err := w.delegate(t.Context())
			wantElapsed(t, start, codons.DefaultDeadline)
			wantTimeout(t, err)
		})
	})
	t.Run("worker's own", func(t *testing.T) {
		inWorldOf(t, codons.Delegation{Deadline: time.Second}, func(t *testing.T, w *world) {
			w.spawn("Jules", &worker{perform: patient})
			a := w.puppet("puppet")
			a.say(p.Envelope{Receiver: "Jules", Payload: task()})
			start := time.Now()
			a.next(p.ActTaskAccept)
			if f := a.next(p.ActFailure).AsRefusal(); f.Code != p.CodeTimeout {
				t.Errorf("got %v", f)
			}
			wantElapsed(t, start, time.Second)
		})
	})
	t.Run("passed on arrival", func(t *testing.T) {
		inWorld(t, func(t *testing.T, w *world) {
			asked := false
			w.spawn("Jules", &worker{consider: func(context.Context, codons.Task) codons.Decision {
				asked = true
				return codons.Accept()
			}})
			a := w.puppet("puppet")
			a.say(p.Envelope{Receiver: "Jules", Payload: task(), ReplyBy: time.Now().Add(-time.Second)})
			if r := a.next(p.ActTaskReject).AsRefusal(); r.Code != p.CodeExpired || asked {
				t.Errorf("got %v, asked %t", r, asked)
			}
			w.settled(0)
		})
	})
}

// wantTimeout expects the end by a deadline, whoever's timer was the first.
func wantTimeout(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, p.CodeTimeout) {
		t.Errorf("got %v", err)
	}
	if end := endOf(t, err); end.State == "timed_out" && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v is no DeadlineExceeded", err)
	}
}

func TestMisuse(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Jules", &worker{perform: patient})
		ctx := t.Context()
		for name, start := range map[string]func() (*codons.Delegated, error){
			"no receiver": func() (*codons.Delegated, error) { return codons.StartDelegation(ctx, w.eddy, "", task()) },
			"no task type": func() (*codons.Delegated, error) {
				return codons.StartDelegation(ctx, w.eddy, "Jules", p.TaskRequest{})
			},
			"trace": func() (*codons.Delegated, error) {
				return codons.StartDelegation(ctx, w.eddy, "Jules", task(), codons.WithTrace("nonsense"))
			},
			"priority": func() (*codons.Delegated, error) {
				return codons.StartDelegation(ctx, w.eddy, "Jules", task(), codons.WithPriority(9))
			},
			"conversation": func() (*codons.Delegated, error) {
				return codons.StartDelegation(ctx, w.eddy, "Jules", task(), codons.WithConversation("a\nb"))
			},
		} {
			var r *p.Refusal
			if d, err := start(); !errors.As(err, &r) || r.Field == "" || d != nil {
				t.Errorf("%s: got %v", name, err)
			}
		}
		if _, err := codons.Whisper(ctx, w.eddy, "", p.QueryCapabilities{Type: p.QuerySummary}); !errors.Is(err, p.CodeInvalidPayload) {
			t.Errorf("whisper to nobody: %v", err)
		}
		if said := w.monitor.lines(); len(said) != 0 {
			t.Errorf("said %q", said)
		}
	})
}

func TestUndeliverable(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		start := time.Now()
		_, err := w.delegate(t.Context())
		wantEnd(t, err, "rejected", p.CodeUnknownAgent)

		w.spawn("Jules", &worker{})
		if err := w.StopAgent(t.Context(), "Jules"); err != nil {
			t.Fatal(err)
		}
		_, err = w.delegate(t.Context())
		wantEnd(t, err, "rejected", p.CodeStopped)

		block, entered := make(chan struct{}), make(chan struct{})
		_, err = w.Spawn(t.Context(), actors.Spec{ID: "Slow", Capacity: 1, New: func() actors.Agent {
			return &worker{consider: func(context.Context, codons.Task) codons.Decision {
				close(entered)
				<-block
				return codons.Reject(p.CodeIncapable, "")
			}}
		}})
		if err != nil {
			t.Fatal(err)
		}
		blocked, err := codons.StartDelegation(t.Context(), w.eddy, "Slow", task())
		if err != nil {
			t.Fatal(err)
		}
		<-entered
		full := 0
		for range 8 {
			d, err := codons.StartDelegation(t.Context(), w.eddy, "Slow", task(), codons.WithRetry(codons.NoRetry()))
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			select {
			case <-d.Done():
				_, err := d.Wait()
				wantEnd(t, err, "rejected", p.CodeBusy)
				full++
			default: // it has taken the last place
				defer func() { _, _ = d.Wait() }()
			}
		}
		if full == 0 {
			t.Error("the mailbox was never full")
		}
		entered = make(chan struct{}, 8)
		wantElapsed(t, start, 0)
		if err := w.stopBlocked("Slow", block); err != nil {
			t.Error(err)
		}
		_, _ = blocked.Wait()
	})
}

// stopBlocked stops an agent whose actor is blocked, and then unblocks it.
func (w *world) stopBlocked(id p.AgentID, block chan struct{}) error {
	stopped := make(chan error, 1)
	go func() { stopped <- w.StopAgent(w.t.Context(), id) }()
	synctest.Wait()
	close(block)
	return <-stopped
}

func TestStopWhileAgentWorks(t *testing.T) {
	t.Run("worker stops", func(t *testing.T) {
		inWorld(t, func(t *testing.T, w *world) {
			cause := make(chan error, 1)
			w.spawn("Jules", &worker{perform: func(ctx context.Context, _ codons.Task) (p.InformResult, error) {
				<-ctx.Done()
				cause <- context.Cause(ctx)
				return p.InformResult{}, ctx.Err()
			}})
			d := w.start(t.Context())
			synctest.Wait()
			if err := w.StopAgent(t.Context(), "Jules"); err != nil {
				t.Fatal(err)
			}
			_, err := d.Wait()
			wantEnd(t, err, "failed", p.CodeStopped)
			if err := <-cause; !errors.Is(err, codons.ErrEnded) {
				t.Errorf("the handler's cause is %v", err)
			}
			w.settled(0)
		})
	})
	t.Run("asker stops", func(t *testing.T) {
		inWorld(t, func(t *testing.T, w *world) {
			cause := make(chan error, 1)
			w.spawn("Jules", &worker{perform: func(ctx context.Context, _ codons.Task) (p.InformResult, error) {
				<-ctx.Done()
				cause <- context.Cause(ctx)
				return p.InformResult{}, ctx.Err()
			}})
			d := w.start(t.Context())
			synctest.Wait()
			if err := w.StopAgent(t.Context(), "Eddy"); err != nil {
				t.Fatal(err)
			}
			_, err := d.Wait()
			wantEnd(t, err, "abandoned", p.CodeStopped)
			if err := <-cause; !errors.Is(err, codons.ErrCanceled) {
				t.Errorf("the handler's cause is %v", err)
			}
			if _, err := w.delegate(t.Context()); !errors.Is(err, actors.ErrStopped) {
				t.Errorf("a stopped party: %v", err)
			}
			w.settled(0)
		})
	})
	t.Run("requests queued", func(t *testing.T) { // none is begun by an agent that stops
		inWorld(t, func(t *testing.T, w *world) {
			block, entered := make(chan struct{}), make(chan struct{}, 64)
			w.spawn("Jules", &worker{consider: func(context.Context, codons.Task) codons.Decision {
				entered <- struct{}{}
				<-block
				return codons.Accept()
			}, perform: patient})
			var all []*codons.Delegated
			for range 32 {
				all = append(all, w.start(t.Context()))
			}
			<-entered
			start := time.Now()
			if err := w.stopBlocked("Jules", block); err != nil {
				t.Fatal(err)
			}
			for _, d := range all {
				if _, err := d.Wait(); !errors.Is(err, p.CodeStopped) {
					t.Errorf("got %v", err)
				}
			}
			wantElapsed(t, start, 0)
			w.settled(0)
		})
	})
}

func TestMaxTasks(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		release := make(chan struct{})
		var running, most atomic.Int64
		w.spawn("Jules", &worker{max: 3, perform: func(context.Context, codons.Task) (p.InformResult, error) {
			most.Store(max(most.Load(), running.Add(1)))
			<-release
			running.Add(-1)
			return result(p.StatusSuccess), nil
		}})
		var all []*codons.Delegated
		for range 5 {
			all = append(all, w.start(t.Context()))
		}
		synctest.Wait()
		close(release)
		busy := 0
		for _, d := range all {
			if _, err := d.Wait(); errors.Is(err, p.CodeBusy) {
				busy++
			} else if err != nil {
				t.Error(err)
			}
		}
		if busy != 2 || most.Load() != 3 {
			t.Errorf("%d were busy, %d ran at a time", busy, most.Load())
		}
		// The place is free as soon as the result is there.
		for range 200 {
			if _, err := w.delegate(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestNestedDelegation(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Jules", &worker{perform: func(ctx context.Context, t codons.Task) (p.InformResult, error) {
			if t.Description == "leaf" {
				return p.InformResult{Status: p.StatusSuccess, Summary: "leaf of " + string(t.Message.Sender())}, nil
			}
			return codons.Delegate(ctx, t.Agent, "jules", p.TaskRequest{TaskType: "x", Description: "leaf"})
		}})
		got, err := w.delegate(t.Context())
		if err != nil || got.Summary != "leaf of Jules" {
			t.Errorf("got %+v, %v", got, err)
		}
		w.settled(0)
	})
}

func TestDelegateToOneself(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		got, err := codons.Delegate(t.Context(), w.eddy, "EDDY", task(), codons.WithConversation("me"))
		if err != nil || got.Status != p.StatusSuccess {
			t.Errorf("got %+v, %v", got, err)
		}
		if got := w.monitor.count("Eddy -> EDDY: TASK_REQUEST"); got != 1 {
			t.Errorf("%d requests: %q", got, w.monitor.lines())
		}
		ctx, cancel := context.WithCancel(t.Context())
		w.spawn("Jules", &worker{perform: patient})
		jules, _ := w.Lookup("jules")
		time.AfterFunc(time.Second, cancel)
		_, err = codons.Delegate(ctx, jules, "Jules", task())
		wantEnd(t, err, "cancelled", p.CodeCanceled)
		w.settled(0)
	})
}

func TestCallbackPanics(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Jules", &worker{perform: patient})
		start := time.Now()
		_, err := w.delegate(t.Context(), codons.WithAccepted(func(p.TaskAccept) { panic("oops") }))
		if endOf(t, err).State != "abandoned" {
			t.Errorf("got %v", err)
		}
		wantElapsed(t, start, 0)
		w.settled(0) // the worker was told
	})
}

// hesitant is a dispatcher that returns late, once, when it is told to.
type hesitant struct{ now atomic.Bool }

func (h *hesitant) Schedule(fn func()) {
	go fn()
	if h.now.Swap(false) {
		time.Sleep(time.Second)
	}
}

func (*hesitant) Throughput() int { return 300 }

// TestPlaceIsFreeBeforeTheResult has the handler be held up as it says its last
// word.
func TestPlaceIsFreeBeforeTheResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hesitant{}
		w := newWorld(t, codons.Delegation{}, actors.Options{Dispatcher: h})
		w.spawn("Jules", &worker{max: 1, perform: func(context.Context, codons.Task) (p.InformResult, error) {
			time.Sleep(time.Millisecond) // all else is at rest
			h.now.Store(true)
			return result(p.StatusSuccess), nil
		}})
		for range 5 {
			if _, err := w.delegate(t.Context()); err != nil {
				t.Error(err)
			}
		}
		w.stop()
		time.Sleep(time.Second)
	})
}

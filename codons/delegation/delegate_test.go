package delegation_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/discovery"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/machine"
	p "github.com/ribosome-agents/ribosome/performatives"
)

func TestDelegateReturnsTheResult(t *testing.T) {
	for _, status := range []p.TaskStatus{p.StatusSuccess, p.StatusPartial, p.StatusFailure} {
		t.Run(string(status), func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				w.Add("Jules", &kit.Worker{
					Consider: func(context.Context, delegation.Task) delegation.Decision {
						return delegation.AcceptWith(p.TaskAccept{TaskID: "t-1"})
					},
					Perform: func(_ context.Context, t delegation.Task) (p.InformResult, error) {
						for i := range 3 {
							if err := t.Progress(float64(i*10), fmt.Sprint(i)); err != nil {
								return p.InformResult{}, err
							}
						}
						return kit.Result(status), nil
					},
				})
				var heard []string
				got, err := w.Delegate(t.Context(),
					delegation.WithAccepted(func(a p.TaskAccept) { heard = append(heard, a.TaskID) }),
					delegation.WithProgress(func(u p.StatusUpdate) { heard = append(heard, fmt.Sprint(*u.Progress, " ", u.Description)) }))
				if err != nil || !reflect.DeepEqual(got, kit.Result(status)) {
					t.Errorf("got %+v, %v", got, err)
				}
				if want := []string{"t-1", "0 0", "10 1", "20 2"}; !reflect.DeepEqual(heard, want) {
					t.Errorf("heard %q, want %q", heard, want)
				}
				w.Settled(0)
			})
		})
	}
}

func TestDelegateDecisions(t *testing.T) {
	for _, c := range []struct {
		name     string
		decision delegation.Decision
		state    string
		code     p.Code
	}{
		{"busy", delegation.Reject(p.CodeBusy, "later"), "rejected", p.CodeBusy},
		{"incapable", delegation.Reject(p.CodeIncapable, ""), "rejected", p.CodeIncapable},
		{"unauthorized", delegation.Reject(p.CodeUnauthorized, ""), "rejected", p.CodeUnauthorized},
		{"forbidden", delegation.Reject(p.CodeForbidden, ""), "rejected", p.CodeForbidden},
		{"rate_limited", delegation.Reject(p.CodeRateLimited, ""), "rejected", p.CodeRateLimited},
		{"code of the worker", delegation.Reject("lunch", ""), "rejected", "lunch"},
		{"no code", delegation.Reject("", ""), "rejected", p.CodeIncapable},
		{"zero decision", delegation.Decision{}, "rejected", p.CodeIncapable},
		{"not understood", delegation.NotUnderstood(p.CodeUnknownOntology, "what?"), "not_understood", p.CodeUnknownOntology},
	} {
		t.Run(c.name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				w.Add("Jules", &kit.Worker{Max: 1, Consider: func(context.Context, delegation.Task) delegation.Decision { return c.decision }})
				for range 2 { // the second gets the slot that the first has released
					_, err := w.Delegate(t.Context())
					kit.WantEnd(t, err, machine.State(c.state), c.code)
				}
				w.Settled(0)
			})
		})
	}
}

func TestInvalidOpenings(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{Perform: kit.UntilDone[p.InformResult, delegation.Task]})
		ctx := t.Context()
		for name, start := range map[string]func() (*delegation.Delegated, error){
			"no receiver": func() (*delegation.Delegated, error) { return delegation.Start(ctx, w.Eddy, "", kit.Task()) },
			"no task type": func() (*delegation.Delegated, error) {
				return delegation.Start(ctx, w.Eddy, "Jules", p.TaskRequest{})
			},
			"trace": func() (*delegation.Delegated, error) {
				return delegation.Start(ctx, w.Eddy, "Jules", kit.Task(), codons.WithTrace("nonsense"))
			},
			"priority": func() (*delegation.Delegated, error) {
				return delegation.Start(ctx, w.Eddy, "Jules", kit.Task(), codons.WithPriority(9))
			},
			"conversation": func() (*delegation.Delegated, error) {
				return delegation.Start(ctx, w.Eddy, "Jules", kit.Task(), codons.WithConversation("a\nb"))
			},
		} {
			var r *p.Refusal
			if d, err := start(); !errors.As(err, &r) || r.Field == "" || d != nil {
				t.Errorf("%s: got %v", name, err)
			}
		}
		if _, err := discovery.Whisper(ctx, w.Eddy, "", p.QueryCapabilities{Type: p.QuerySummary}); !errors.Is(err, p.CodeInvalidPayload) {
			t.Errorf("a whisper without a receiver: %v", err)
		}
		if sent := w.Lines(); len(sent) != 0 {
			t.Errorf("sent %q", sent)
		}
	})
}

func TestUndeliverableRequests(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		start := time.Now()
		_, err := w.Delegate(t.Context())
		kit.WantEnd(t, err, "rejected", p.CodeUnknownAgent)

		w.Add("Jules", &kit.Worker{})
		if err := w.StopAgent(t.Context(), "Jules"); err != nil {
			t.Fatal(err)
		}
		_, err = w.Delegate(t.Context())
		kit.WantEnd(t, err, "rejected", p.CodeStopped)

		block, entered := make(chan struct{}), make(chan struct{})
		_, err = w.Spawn(t.Context(), actors.Spec{ID: "Slow", Capacity: 1, New: func() actors.Agent {
			return &kit.Worker{Consider: func(context.Context, delegation.Task) delegation.Decision {
				close(entered)
				<-block
				return delegation.Reject(p.CodeIncapable, "")
			}}
		}})
		if err != nil {
			t.Fatal(err)
		}
		blocked, err := delegation.Start(t.Context(), w.Eddy, "Slow", kit.Task())
		if err != nil {
			t.Fatal(err)
		}
		<-entered
		full := 0
		for range 8 {
			d, err := delegation.Start(t.Context(), w.Eddy, "Slow", kit.Task(), codons.WithRetry(codons.NoRetry()))
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			select {
			case <-d.Done():
				_, err := d.Wait()
				kit.WantEnd(t, err, "rejected", p.CodeBusy)
				full++
			default: // it is the last message that fits in the mailbox
				defer func() { _, _ = d.Wait() }()
			}
		}
		if full == 0 {
			t.Error("the mailbox was never full")
		}
		entered = make(chan struct{}, 8)
		kit.WantElapsed(t, start, time.Duration(full-1)*time.Millisecond) // who asks an agent that refuses is slowed down
		if err := stopBlocked(w, "Slow", block); err != nil {
			t.Error(err)
		}
		_, _ = blocked.Wait()
	})
}

func TestNestedDelegation(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{Perform: func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
			if t.Description == "leaf" {
				return p.InformResult{Status: p.StatusSuccess, Summary: "leaf of " + string(t.Message.Sender())}, nil
			}
			return delegation.Delegate(ctx, t.Agent, "jules", p.TaskRequest{TaskType: "x", Description: "leaf"})
		}})
		got, err := w.Delegate(t.Context())
		if err != nil || got.Summary != "leaf of Jules" {
			t.Errorf("got %+v, %v", got, err)
		}
		w.Settled(0)
	})
}

func TestDelegateToTheSameAgent(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		got, err := delegation.Delegate(t.Context(), w.Eddy, "EDDY", kit.Task(), codons.WithConversation("me"))
		if err != nil || got.Status != p.StatusSuccess {
			t.Errorf("got %+v, %v", got, err)
		}
		if got := w.Count("Eddy -> EDDY: TASK_REQUEST"); got != 1 {
			t.Errorf("%d requests: %q", got, w.Lines())
		}
		ctx, cancel := context.WithCancel(t.Context())
		w.Add("Jules", &kit.Worker{Perform: kit.UntilDone[p.InformResult, delegation.Task]})
		jules, _ := w.Lookup("jules")
		time.AfterFunc(time.Second, cancel)
		_, err = delegation.Delegate(ctx, jules, "Jules", kit.Task())
		kit.WantEnd(t, err, "cancelled", p.CodeCanceled)
		w.Settled(0)
	})
}

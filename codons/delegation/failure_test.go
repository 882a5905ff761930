package delegation_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	goruntime "runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/internal/systemtest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

func TestPanicInConsiderTask(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Allow(systemtest.ErrorLogged)
		panics := true
		w.Add("Jules", &kit.Worker{Max: 1, Consider: func(context.Context, delegation.Task) delegation.Decision {
			if panics {
				panics = false
				panic("secret")
			}
			return delegation.Accept()
		}})
		restarts := kit.Recording(&w.Events, events.KindAgentStarted)
		failed := kit.Recording(&w.Events, lifecycle.KindJobFailed)
		_, err := w.Delegate(t.Context())
		kit.WantEnd(t, err, "failed", p.CodeInternal)
		kit.NoSecret(t, err)
		for r := range restarts.C {
			if r.Event.(events.AgentStarted).Again {
				break
			}
		}
		if all := kit.Published[lifecycle.JobFailed](t, failed); len(all) != 1 || all[0].Job != standard.JobConsider || !strings.Contains(string(all[0].Stack), "failure_test.go") {
			t.Errorf("published %+v", all)
		}
		if _, err := w.Delegate(t.Context()); err != nil {
			t.Errorf("after the restart: %v", err)
		}
	})
}

func TestFailureOfPerformTask(t *testing.T) {
	for _, c := range []struct {
		name    string
		perform func(context.Context, delegation.Task) (p.InformResult, error)
		code    p.Code
		panics  int
		errors  int
	}{
		{"panic", func(context.Context, delegation.Task) (p.InformResult, error) { panic("secret") }, p.CodeInternal, 1, 0},
		{"goexit", func(context.Context, delegation.Task) (p.InformResult, error) {
			goruntime.Goexit()
			return p.InformResult{}, nil
		}, p.CodeInternal, 1, 0},
		{"error", func(context.Context, delegation.Task) (p.InformResult, error) {
			return p.InformResult{}, errors.New("secret: /etc/passwd")
		}, p.CodeFailed, 0, 1},
		{"refusal", func(context.Context, delegation.Task) (p.InformResult, error) {
			return p.InformResult{}, fmt.Errorf("secret: %w", &p.Refusal{Code: p.CodeRateLimited, Text: "slowly"})
		}, p.CodeRateLimited, 0, 0},
		{"invalid result", func(context.Context, delegation.Task) (p.InformResult, error) {
			return p.InformResult{Status: "secret"}, nil
		}, p.CodeInternal, 0, 1},
		{"no result", func(context.Context, delegation.Task) (p.InformResult, error) { return p.InformResult{}, nil }, p.CodeInternal, 0, 1},
		{"timeout", func(context.Context, delegation.Task) (p.InformResult, error) {
			return p.InformResult{}, fmt.Errorf("secret: %w", context.DeadlineExceeded)
		}, p.CodeTimeout, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				w.Allow(systemtest.ErrorLogged)
				w.Add("Jules", &kit.Worker{Perform: c.perform, Max: 1})
				restarts := kit.Recording(&w.Events, events.KindSupervisionDecided)
				failed := kit.Recording(&w.Events, lifecycle.KindJobFailed)
				for range 2 { // the agent keeps running, and the slot was released
					_, err := w.Delegate(t.Context())
					kit.WantEnd(t, err, "failed", c.code)
					kit.NoSecret(t, err)
				}
				w.Settled(0)
				panics, errs := 0, 0
				for _, e := range kit.Published[lifecycle.JobFailed](t, failed) {
					if e.Agent != "Jules" || e.Peer != "Eddy" || e.Job != standard.JobPerform || e.Conversation == "" {
						t.Errorf("got %+v", e)
					}
					if strings.Contains(string(e.Stack), "failure_test.go") {
						panics++
					} else {
						errs++
					}
				}
				if len(restarts.C) != 0 || panics != 2*c.panics || errs != 2*c.errors {
					t.Errorf("%d supervised, %d panics, %d errors, want 0, %d and %d", len(restarts.C), panics, errs, 2*c.panics, 2*c.errors)
				}
			})
		})
	}
}

// TestErrorOfAJobIsLoggedAndPublished checks that an operator gets the text of the error and
// the initiator only its code.
func TestErrorOfAJobIsLoggedAndPublished(t *testing.T) {
	var log bytes.Buffer
	o := actors.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	kit.InWorldWith(t, codons.Times{}, o, func(t *testing.T, w *kit.World) {
		failed := w.Events.Subscribe(events.SubscribeOptions{Kinds: []events.Kind{lifecycle.KindJobFailed}})
		defer failed.Close()
		w.Add("Jules", &kit.Worker{Perform: func(context.Context, delegation.Task) (p.InformResult, error) {
			return p.InformResult{}, errors.New("the disk is full")
		}})
		_, err := w.Delegate(t.Context())
		kit.WantEnd(t, err, "failed", p.CodeFailed)
		if strings.Contains(err.Error(), "disk") {
			t.Errorf("the initiator gets %q", err)
		}
		synctest.Wait()
		if e := (<-failed.C).Event.(lifecycle.JobFailed); e.Agent != "Jules" || e.Protocol != "task-delegation" || e.Err.Error() != "the disk is full" {
			t.Errorf("got %+v", e)
		}
		got := log.String()
		for _, part := range []string{"level=WARN", `err="the disk is full"`, "agent=Jules", "peer=Eddy", "protocol=task-delegation", "job=perform", "conversation="} {
			if !strings.Contains(got, part) {
				t.Errorf("no %q in %q", part, got)
			}
		}
	})
}

// A refusal by the worker itself is logged at debug with its code. One by another agent, which the
// worker passes on, is a failure of its job.
func TestRefusalOfAJobIsNoFailure(t *testing.T) {
	var log bytes.Buffer
	o := actors.Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	kit.InWorldWith(t, codons.Times{}, o, func(t *testing.T, w *kit.World) {
		failed := kit.Recording(&w.Events, lifecycle.KindJobFailed)
		w.Add("Jules", &kit.Worker{Perform: func(context.Context, delegation.Task) (p.InformResult, error) {
			return p.InformResult{}, &p.Refusal{Code: p.CodeIncapable, Text: "not on Fridays"}
		}})
		_, err := w.Delegate(t.Context())
		kit.WantEnd(t, err, "failed", p.CodeIncapable)
		synctest.Wait()
		if got := log.String(); strings.Contains(got, "WARN") || !strings.Contains(got, "level=DEBUG msg=\"handler refused\"") || !strings.Contains(got, "code=incapable") {
			t.Errorf("logged %q", got)
		}
		w.Add("Mid", &kit.Worker{Perform: func(ctx context.Context, d delegation.Task) (p.InformResult, error) {
			return delegation.Delegate(ctx, d.Agent, "Jules", d.TaskRequest)
		}})
		_, err = delegation.Delegate(t.Context(), w.Eddy, "Mid", p.TaskRequest{TaskType: "x"})
		kit.WantEnd(t, err, "failed", p.CodeIncapable)
		synctest.Wait()
		if all := kit.Published[lifecycle.JobFailed](t, failed); len(all) != 1 || all[0].Agent != "Mid" {
			t.Errorf("published %+v", all)
		}
	})
}

// TestInvalidResultNamesTheField checks the event that is published for an invalid result.
func TestInvalidResultNamesTheField(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		failed := w.Events.Subscribe(events.SubscribeOptions{Kinds: []events.Kind{lifecycle.KindJobFailed}})
		defer failed.Close()
		w.Add("Jules", &kit.Worker{Perform: func(context.Context, delegation.Task) (p.InformResult, error) {
			return p.InformResult{Status: "perhaps"}, nil
		}})
		_, err := w.Delegate(t.Context())
		kit.WantEnd(t, err, "failed", p.CodeInternal)
		synctest.Wait()
		if e := (<-failed.C).Event.(lifecycle.JobFailed); !strings.Contains(e.Err.Error(), "task_status") {
			t.Errorf("got %v", e.Err)
		}
	})
}

func TestPanicInWithAccepted(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Allow(systemtest.ErrorLogged)
		w.Add("Jules", &kit.Worker{Perform: kit.UntilDone[p.InformResult, delegation.Task]})
		start := time.Now()
		_, err := w.Delegate(t.Context(), delegation.WithAccepted(func(p.TaskAccept) { panic("oops") }))
		if kit.EndOf(t, err).State != "abandoned" {
			t.Errorf("got %v", err)
		}
		kit.WantElapsed(t, start, 0)
		w.Settled(0) // CANCEL has ended the handler
	})
}

package discovery_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/discovery"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// deciding returns a worker with a fixed decision and a fixed error. It counts the tasks that it
// performs.
func deciding(d delegation.Decision, performed *int, err error) *kit.Worker {
	return &kit.Worker{
		Consider: func(context.Context, delegation.Task) delegation.Decision { return d },
		Perform: func(context.Context, delegation.Task) (p.InformResult, error) {
			*performed++
			return kit.Result(p.StatusSuccess), err
		},
	}
}

// agentsOf returns the agents of attempts.
func agentsOf(as []discovery.Attempt) (ids []p.AgentID) {
	for _, a := range as {
		ids = append(ids, a.Agent)
	}
	return ids
}

func TestFindAndDelegate(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		performed := 0
		w.Add("Busy", deciding(delegation.Reject(p.CodeBusy, ""), &performed, nil))
		w.Add("Lost", deciding(delegation.NotUnderstood(p.CodeUnknownOntology, ""), &performed, nil))
		w.Add("Able", deciding(delegation.Accept(), &performed, nil))
		w.Add("Spare", deciding(delegation.Accept(), &performed, nil))
		w.Add("Poet", &kit.RequestHandler{})
		progress := 0
		found, err := discovery.FindAndDelegate(t.Context(), w.Eddy, discovery.Search{
			Among: discovery.Agents{"Spare", "Poet", "Able", "Gone", "Lost", "Busy"}, Need: []string{"debugging"},
			Rank: func(a, b discovery.Candidate) int {
				best := []p.AgentID{"Busy", "Lost", "Able", "Spare"}
				return cmp.Compare(slices.Index(best, a.Agent), slices.Index(best, b.Agent))
			},
		}, kit.Task(), delegation.WithAccepted(func(p.TaskAccept) { progress++ }))
		if err != nil || found.Agent != "Able" || found.Result.Status != p.StatusSuccess || performed != 1 || progress != 1 {
			t.Errorf("got %+v, %v, %d performed, %d accepted", found, err, performed, progress)
		}
		if got := agentsOf(found.Earlier); !slices.Equal(got, []p.AgentID{"Busy", "Lost"}) {
			t.Errorf("asked before: %q", got)
		}
		kit.WantEnd(t, found.Earlier[0].Err, "rejected", p.CodeBusy)
		kit.WantEnd(t, found.Earlier[1].Err, "not_understood", p.CodeUnknownOntology)
		w.Settled(0)
	})
}

func TestNoAgentError(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		var none *discovery.NoAgentError
		search := discovery.Search{Among: discovery.Agents{"Gone"}, Need: []string{"debugging"}}
		if _, err := discovery.FindAndDelegate(t.Context(), w.Eddy, search, kit.Task()); !errors.As(err, &none) || len(none.Attempts) != 0 {
			t.Errorf("got %v", err)
		}
		performed := 0
		w.Add("Busy", deciding(delegation.Reject(p.CodeBusy, ""), &performed, nil))
		_, err := discovery.DelegateToAny(t.Context(), w.Eddy, []p.AgentID{"Busy", "Gone"}, kit.Task())
		if !errors.As(err, &none) || len(none.Attempts) != 2 || !errors.Is(err, p.CodeBusy) || !errors.Is(err, p.CodeUnknownAgent) {
			t.Errorf("got %v", err)
		}
		if _, err := discovery.DelegateToAny(t.Context(), w.Eddy, []p.AgentID{"Busy"}, p.TaskRequest{}); !errors.Is(err, p.CodeInvalidPayload) || errors.As(err, new(*discovery.NoAgentError)) {
			t.Errorf("an empty task: %v", err)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := discovery.DelegateToAny(ended, w.Eddy, []p.AgentID{"Busy"}, kit.Task()); !errors.As(err, &none) || len(none.Attempts) > 0 || !errors.Is(err, context.Canceled) {
			t.Errorf("after the end of ctx: %v", err)
		}
		w.Settled(0)
	})
}

// The first agent fails in some way; the case says whether the second agent gets the task.
func TestWhenTheNextAgentIsAsked(t *testing.T) {
	hangs := &kit.Worker{Perform: kit.UntilDone[p.InformResult, delegation.Task]}
	fails := func() *kit.Worker { return deciding(delegation.Accept(), new(int), errors.New("oh")) }
	slow := &kit.Worker{Consider: func(context.Context, delegation.Task) delegation.Decision {
		time.Sleep(4 * time.Minute)
		return delegation.Accept()
	}, Perform: kit.UntilDone[p.InformResult, delegation.Task]}
	for name, c := range map[string]struct {
		first   *kit.Worker
		opts    []codons.Option
		follows bool
		code    p.Code
	}{
		"rejects":                            {deciding(delegation.Reject(p.CodeIncapable, ""), new(int), nil), nil, true, p.CodeIncapable},
		"fails":                              {fails(), nil, false, p.CodeFailed},
		"fails, safe to repeat":              {fails(), []codons.Option{discovery.SafeToRepeat()}, true, p.CodeFailed},
		"hangs":                              {hangs, nil, false, p.CodeTimeout},
		"hangs, safe to repeat":              {hangs, []codons.Option{discovery.SafeToRepeat()}, true, p.CodeTimeout},
		"does not decide":                    {slow, nil, true, p.CodeTimeout},
		"does not decide, safe to repeat":    {slow, []codons.Option{discovery.SafeToRepeat()}, true, p.CodeTimeout},
		"reports and hangs, acceptance lost": {reporting(), nil, false, p.CodeTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				performed := 0
				w.Add("First", c.first)
				w.Add("Second", deciding(delegation.Accept(), &performed, nil))
				if name == "reports and hangs, acceptance lost" {
					w.Net.Lose(p.ActTaskAccept, -1)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
				defer cancel()
				found, err := discovery.DelegateToAny(ctx, w.Eddy, []p.AgentID{"First", "Second"}, kit.Task(), c.opts...)
				first := found.Earlier
				var none *discovery.NoAgentError
				if errors.As(err, &none) {
					first = none.Attempts
				}
				if (err == nil) != c.follows || c.follows != (performed == 1) || len(first) != 1 || !errors.Is(first[0].Err, c.code) {
					t.Errorf("got %+v, %v, performed %d times", found, err, performed)
				}
				time.Sleep(time.Hour)
				w.Settled(0)
			})
		})
	}
}

// reporting returns a worker that reports progress once, and then works until it is stopped.
func reporting() *kit.Worker {
	return &kit.Worker{Perform: func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
		if err := t.Progress(1, "begun"); err != nil {
			return p.InformResult{}, err
		}
		return kit.UntilDone[p.InformResult, delegation.Task](ctx, t)
	}}
}

func TestDelegateToAnyIsCancelled(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		performed, cause := 0, make(chan error, 1)
		w.Add("First", &kit.Worker{Perform: func(ctx context.Context, _ delegation.Task) (p.InformResult, error) {
			<-ctx.Done()
			cause <- context.Cause(ctx)
			return p.InformResult{}, ctx.Err()
		}})
		w.Add("Second", deciding(delegation.Accept(), &performed, nil))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := discovery.DelegateToAny(ctx, w.Eddy, []p.AgentID{"First", "Second"}, kit.Task(), discovery.SafeToRepeat())
			ended <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) || performed != 0 {
			t.Errorf("got %v, performed %d times", err, performed)
		}
		if err := <-cause; !errors.Is(err, codons.ErrCanceled) {
			t.Errorf("the handler's cause is %v", err)
		}
		w.Settled(0)
	})
}

// The agent Silent never answers.
func TestFindDoesNotWaitForASilentAgent(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Net.Intercept(func(m *p.Message) bool { return m.Receiver() == "Silent" })
		w.Add("Silent", &kit.Worker{})
		w.Add("Jules", &kit.Worker{})
		start := time.Now()
		found, err := discovery.FindAndDelegate(t.Context(), w.Eddy, discovery.Search{Among: discovery.Agents{"Silent", "Jules"}}, kit.Task())
		if err != nil || found.Agent != "Jules" {
			t.Errorf("got %+v, %v", found, err)
		}
		kit.WantElapsed(t, start, discovery.DefaultAskTime)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		found, err = discovery.DelegateToAny(ctx, w.Eddy, []p.AgentID{"Silent", "Jules"}, kit.Task())
		if err != nil || found.Agent != "Jules" || !errors.Is(found.Earlier[0].Err, p.CodeTimeout) {
			t.Errorf("got %+v, %v", found, err)
		}
		w.Settled(0)
	})
}

// There are more agents than open queries, and one never answers.
func TestFindAmongMoreAgentsThanOpenQueries(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Net.Intercept(func(m *p.Message) bool { return m.Receiver() == "Silent" })
		w.Add("Silent", &kit.Worker{})
		many := discovery.Agents{"Silent"}
		for i := range 512 {
			many = append(many, p.AgentID(fmt.Sprint("Poet ", i)))
			w.Add(many[i+1], &kit.RequestHandler{})
		}
		w.Add("Jules", &kit.Worker{})
		search := discovery.Search{Among: append(many, "Jules"), Need: []string{"debugging"}}
		found, err := discovery.FindAndDelegate(t.Context(), w.Eddy, search, kit.Task())
		if err != nil || found.Agent != "Jules" {
			t.Errorf("got %+v, %v", found, err)
		}
		w.Settled(0)
	})
}

// So many agents never answer that the time ends before all are asked. When the timers of 512
// conversations are due at one instant of a bubble of synctest, the race detector itself crashes at
// times (Go 1.26, SIGSEGV in its StackDepot; with the race detector one run of fifty, with the
// engine's dispatcher one of ten).
func TestFindEndsBeforeAllAreAsked(t *testing.T) {
	racetest.Skip(t)
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Net.Intercept(func(m *p.Message) bool { return m.Receiver() == "Silent" })
		w.Add("Silent", &kit.Worker{})
		w.Add("Jules", &kit.Worker{})
		many := append(discovery.Agents{"Jules"}, slices.Repeat(discovery.Agents{"Silent"}, 600)...)
		found, err := discovery.FindAndDelegate(t.Context(), w.Eddy, discovery.Search{Among: many}, kit.Task())
		if err != nil || found.Agent != "Jules" {
			t.Errorf("got %+v, %v", found, err)
		}
		w.Settled(0)
	})
}

// TestDelegateToAnyWithRefusedCopy has a full mailbox refuse a repetition of the request to an
// agent that decides. No other agent gets the task.
func TestDelegateToAnyWithRefusedCopy(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		performed := 0
		for _, id := range []p.AgentID{"First", "Second"} {
			w.Add(id, &kit.Worker{
				Consider: func(context.Context, delegation.Task) delegation.Decision {
					time.Sleep(time.Second)
					return delegation.Accept()
				},
				Perform: func(context.Context, delegation.Task) (p.InformResult, error) {
					performed++
					return kit.Result(p.StatusSuccess), nil
				},
			})
		}
		w.RefuseRepeats(p.ActTaskRequest)
		found, err := discovery.DelegateToAny(t.Context(), w.Eddy, []p.AgentID{"First", "Second"}, kit.Task(),
			codons.WithRetry(codons.Retry{First: 300 * time.Millisecond}))
		if err != nil || found.Agent != "First" || len(found.Earlier) != 0 {
			t.Errorf("got %+v, %v", found, err)
		}
		time.Sleep(time.Minute)
		w.Settled(0)
		if performed != 1 {
			t.Errorf("performed %d times", performed)
		}
	})
}

// TestRecordOfFinding reads the record of a run from JSON and rebuilds it: it has the agents that
// were asked.
func TestRecordOfFinding(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		records := kit.Recording(&w.Events, codons.KindRecorded)
		w.Add("Busy", deciding(delegation.Reject(p.CodeBusy, ""), new(int), nil))
		w.Add("Able", deciding(delegation.Accept(), new(int), nil))
		if _, err := discovery.DelegateToAny(t.Context(), w.Eddy, []p.AgentID{"Busy", "Able", "Spare"}, kit.Task()); err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, r := range kit.Published[codons.Recorded](t, records) {
			if r.Record.Protocol != discovery.FindCodon.Name() {
				continue
			}
			n++
			raw, err := json.Marshal(r.Record)
			if err != nil {
				t.Fatal(err)
			}
			c, record, err := codons.ReadRecord(raw, discovery.FindCodon)
			if err != nil {
				t.Fatal(err)
			}
			v, _, err := codons.Rebuild(c, record)
			if err != nil || v.State() != standard.StateCompleted || !slices.Equal(v.Data().([]p.AgentID), []p.AgentID{"Busy", "Able"}) {
				t.Errorf("got %v, %v", v, err)
			}
		}
		if n != 1 {
			t.Errorf("%d records", n)
		}
	})
}

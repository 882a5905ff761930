package scatter_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/scatter"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// stopLog records the workers that were cancelled.
type stopLog struct {
	mu    sync.Mutex
	names []string
}

func (l *stopLog) add(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.names = append(l.names, name)
}

// sorted returns the recorded names in order.
func (l *stopLog) sorted() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(slices.Values(l.names))
}

// lasting returns a worker whose task takes d. When it is cancelled, it takes another second and
// is recorded in stopped.
func lasting(d time.Duration, stopped *stopLog, name string) *kit.Worker {
	return &kit.Worker{Perform: func(ctx context.Context, _ delegation.Task) (p.InformResult, error) {
		select {
		case <-time.After(d):
			return p.InformResult{Status: p.StatusSuccess, Summary: name}, nil
		case <-ctx.Done():
			time.Sleep(time.Second)
			stopped.add(name)
			return p.InformResult{}, context.Cause(ctx)
		}
	}}
}

// addWorkers adds workers A, B and C, which take one to three minutes, R, which rejects after ten
// seconds, F, which fails after half a minute, and Q, which asks for input after ten seconds and,
// when it gets none, takes another second and is recorded as stopped.
func addWorkers(w *kit.World) *stopLog {
	stopped := &stopLog{}
	for i, name := range []string{"A", "B", "C"} {
		w.Add(p.AgentID(name), lasting(time.Duration(i+1)*time.Minute, stopped, name))
	}
	w.Add("R", &kit.Worker{Consider: func(context.Context, delegation.Task) delegation.Decision {
		time.Sleep(10 * time.Second) // until the others have begun
		return delegation.Reject(p.CodeBusy, "")
	}})
	w.Add("Q", &kit.Worker{Perform: func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
		time.Sleep(10 * time.Second) // until the others have begun
		_, err := t.NeedInputFor(ctx, p.InformResult{
			Status: p.StatusPartial, Summary: "Q", Details: p.ContentOf(map[string]string{"request_for_user": "which?"}),
		})
		time.Sleep(time.Second)
		stopped.add("Q")
		return p.InformResult{}, err
	}})
	w.Add("F", &kit.Worker{Perform: func(context.Context, delegation.Task) (p.InformResult, error) {
		time.Sleep(30 * time.Second)
		return p.InformResult{}, errors.New("oh")
	}})
	return stopped
}

// answered returns the names of the agents that answered.
func answered(as []scatter.Answer) (names []string) {
	for _, a := range as {
		if a.Err == nil {
			names = append(names, string(a.Agent))
		}
	}
	return names
}

func TestScatter(t *testing.T) {
	longest := func(a scatter.Answer) float64 { return float64(a.Result.Summary[0]) }
	for name, c := range map[string]struct {
		to      string
		gather  scatter.Gather
		want    string // the agents that answered
		best    int
		stopped string // the agents that were cancelled
		after   time.Duration
		code    p.Code // of the failure
	}{
		"all":                    {"A B C", scatter.AllOf(), "A B C", 0, "", 3 * time.Minute, ""},
		"all, and one rejects":   {"A B R", scatter.AllOf(), "", 0, "A B", 11 * time.Second, p.CodeBusy},
		"all, and one fails":     {"A F", scatter.AllOf(), "", 0, "A", 31 * time.Second, p.CodeFailed},
		"one is missing":         {"X A", scatter.FirstOf(), "A", 1, "", time.Minute, ""},
		"first":                  {"C R A B", scatter.FirstOf(), "A", 2, "B C", time.Minute + time.Second, ""},
		"first of none":          {"R F R", scatter.FirstOf(), "", 0, "", 30 * time.Second, p.CodeFailed},
		"first is partial":       {"A Q", scatter.FirstOf(), "Q", 1, "A Q", 11 * time.Second, ""},
		"quorum":                 {"C F B A", scatter.Quorum(2), "B A", 2, "C", 2*time.Minute + time.Second, ""},
		"quorum out of reach":    {"C F R A", scatter.Quorum(3), "", 0, "A C", 31 * time.Second, p.CodeCanceled},
		"quorum of all":          {"A B", scatter.Quorum(2), "A B", 0, "", 2 * time.Minute, ""},
		"best":                   {"A C B R F", scatter.BestOf(longest), "A C B", 1, "", 3 * time.Minute, ""},
		"best of none":           {"R F", scatter.BestOf(longest), "", 0, "", 30 * time.Second, p.CodeBusy},
		"quorum of fewer than 1": {"A", scatter.Quorum(0), "A", 0, "", time.Minute, ""},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				stopped := addWorkers(w)
				var to []p.AgentID
				for _, id := range strings.Fields(c.to) {
					to = append(to, p.AgentID(id))
				}
				start := time.Now()
				got, err := scatter.Scatter(t.Context(), w.Eddy, to, kit.Task(), c.gather)
				kit.WantElapsed(t, start, c.after)
				if c.code != "" {
					if lack := (*scatter.QuorumError)(nil); !errors.As(err, &lack) || len(lack.Answers) != len(to) || !errors.Is(err, c.code) {
						t.Errorf("got %+v, %v", got, err)
					}
				} else if err != nil || got.Best != c.best || strings.Join(answered(got.Answers), " ") != c.want {
					t.Errorf("got %+v, %v", got, err)
				}
				if s := strings.Join(stopped.sorted(), " "); s != c.stopped {
					t.Errorf("stopped before the end: %q, want %q", s, c.stopped)
				}
				w.Settled(0)
			})
		})
	}
}

// TestScatterToManyAgents asks 150 agents: the first ones move while the last ones are added, which
// the race detector watches, here and on the engine's dispatcher (make race-engine).
func TestScatterToManyAgents(t *testing.T) {
	const agents = 150
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		var to []p.AgentID
		for i := range agents {
			to = append(to, p.AgentID(fmt.Sprint("agent ", i)))
			w.Add(to[i], &kit.Worker{})
		}
		got, err := scatter.Scatter(t.Context(), w.Eddy, to, kit.Task(), scatter.AllOf())
		if n := len(answered(got.Answers)); err != nil || n != agents {
			t.Errorf("%d answered: %v", n, err)
		}
		w.Settled(0)
	})
}

// TestScatterCancelled cancels ctx during a scatter, and before it.
func TestScatterCancelled(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		stopped := addWorkers(w)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := scatter.Scatter(ctx, w.Eddy, []p.AgentID{"A", "B"}, kit.Task(), scatter.FirstOf())
			ended <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) || len(stopped.sorted()) != 2 {
			t.Errorf("got %v, stopped %q", err, stopped.sorted())
		}
		if _, err := scatter.Scatter(ctx, w.Eddy, []p.AgentID{"A", "B"}, kit.Task(), scatter.FirstOf()); !errors.Is(err, context.Canceled) {
			t.Errorf("begun after the end of ctx: %v", err)
		}
		w.Settled(0)
	})
}

// TestInvalidScatter has calls that begin no conversation.
func TestInvalidScatter(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		addWorkers(w)
		var lack *scatter.QuorumError
		if _, err := scatter.Scatter(t.Context(), w.Eddy, nil, kit.Task(), scatter.AllOf()); !errors.As(err, &lack) {
			t.Errorf("no agents: %v", err)
		}
		if _, err := scatter.Scatter(t.Context(), w.Eddy, []p.AgentID{"A"}, kit.Task(), scatter.Quorum(2)); !errors.As(err, &lack) {
			t.Errorf("two of one: %v", err)
		}
		if _, err := scatter.Scatter(t.Context(), w.Eddy, []p.AgentID{"A"}, p.TaskRequest{}, scatter.AllOf()); !errors.Is(err, p.CodeInvalidPayload) {
			t.Errorf("no task: %v", err)
		}
		if len(w.Lines()) != 0 {
			t.Errorf("sent: %q", w.Lines())
		}
		w.Settled(0)
	})
}

// TestAskingAgentStops stops the agent that scatters.
func TestAskingAgentStops(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		stopped := addWorkers(w)
		ended := make(chan error, 1)
		go func() {
			_, err := scatter.Scatter(t.Context(), w.Eddy, []p.AgentID{"A", "B", "C"}, kit.Task(), scatter.Quorum(2))
			ended <- err
		}()
		synctest.Wait()
		_ = w.StopAgent(t.Context(), "Eddy")
		if err := <-ended; !errors.Is(err, p.CodeStopped) {
			t.Errorf("got %v", err)
		}
		time.Sleep(time.Minute)
		if got := stopped.sorted(); len(got) != 3 {
			t.Errorf("stopped: %q", got)
		}
		w.Settled(0)
	})
}

// TestBudgetIsShared gives each agent an equal part of the budget of the handler that scatters.
func TestBudgetIsShared(t *testing.T) {
	for name, c := range map[string]struct {
		opts []codons.Option
		want string // the budget of each
		code p.Code
	}{
		"equal parts":                  {nil, "calls 2, depth 31, tokens 30", ""},
		"a part named beyond the rest": {[]codons.Option{codons.WithBudget(codons.Budget{codons.Tokens: 31})}, "", p.CodeBudget},
		"a resource named":             {[]codons.Option{codons.WithBudget(codons.Budget{codons.Calls: 1})}, "calls 1, depth 31, tokens 30", ""},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				to := []p.AgentID{"A", "B", "C"}
				for _, id := range to {
					w.Add(id, &kit.Worker{Perform: func(ctx context.Context, _ delegation.Task) (p.InformResult, error) {
						left := codons.BudgetLeft(ctx)
						time.Sleep(time.Second) // so that no unused part returns before all have begun
						return p.InformResult{Status: p.StatusSuccess, Summary: left.String()}, codons.Spend(ctx, codons.Budget{codons.Tokens: left[codons.Tokens]})
					}})
				}
				var got scatter.Scattered
				w.Add("Middle", &kit.Worker{Perform: func(ctx context.Context, t delegation.Task) (_ p.InformResult, err error) {
					got, err = scatter.Scatter(ctx, t.Agent, to, t.TaskRequest, scatter.AllOf(), c.opts...)
					return kit.Result(p.StatusSuccess), err
				}})
				_, err := w.DelegateTo("Middle", codons.Budget{codons.Tokens: 92, codons.Calls: 9})
				if c.code != "" {
					kit.WantEnd(t, err, "failed", c.code)
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				for _, a := range got.Answers {
					if a.Result.Summary != c.want {
						t.Errorf("%s had %q, want %q", a.Agent, a.Result.Summary, c.want)
					}
				}
				w.Settled(0)
			})
		})
	}
}

// TestOverdrawnBudget scatters with no budget left. The agents begin all the same, with an empty
// budget.
func TestOverdrawnBudget(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Waster", &kit.Worker{Perform: kit.Spends(codons.Budget{codons.Tokens: 200})})
		w.Add("A", &kit.Worker{})
		w.Add("Middle", &kit.Worker{Perform: func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
			_, _ = delegation.Delegate(ctx, t.Agent, "Waster", t.TaskRequest)
			_, err := scatter.Scatter(ctx, t.Agent, []p.AgentID{"A", "A"}, t.TaskRequest, scatter.AllOf())
			return kit.Result(p.StatusSuccess), err
		}})
		if _, err := w.DelegateTo("Middle", codons.Budget{codons.Tokens: 100}); err != nil {
			t.Error(err)
		}
	})
}

// TestUnreadableAnswer does not count: the scatter waits for the others.
func TestUnreadableAnswer(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		addWorkers(w)
		a := w.Peer("P")
		go func() {
			m := a.Expect(p.ActTaskRequest)
			a.Send(p.Envelope{
				Receiver: "Eddy", Performative: p.ActInformResult, ConversationID: m.ConversationID(), InReplyTo: m.ReplyWith(),
				Payload: p.Raw(`{"task_status":7}`),
			})
		}()
		got, err := scatter.Scatter(t.Context(), w.Eddy, []p.AgentID{"P", "A"}, kit.Task(), scatter.FirstOf())
		if err != nil || got.Best != 1 {
			t.Fatalf("got %+v, %v", got, err)
		}
		kit.WantEnd(t, got.Answers[0].Err, "completed", p.CodeInvalidPayload)
		w.Settled(0)
	})
}

// TestScoreThatIsNoNumber is lower than all numbers.
func TestScoreThatIsNoNumber(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		addWorkers(w)
		score := func(a scatter.Answer) float64 {
			if a.Agent == "A" {
				return math.NaN()
			}
			return -1
		}
		got, err := scatter.Scatter(t.Context(), w.Eddy, []p.AgentID{"A", "B"}, kit.Task(), scatter.BestOf(score))
		if err != nil || got.Best != 1 {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

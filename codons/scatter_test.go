package codons_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// lasting is a worker that takes a while, and says so, unless it is stopped.
func lasting(d time.Duration, stopped *deeds, name string) *worker {
	return &worker{perform: func(ctx context.Context, _ codons.Task) (p.InformResult, error) {
		select {
		case <-time.After(d):
			return p.InformResult{Status: p.StatusSuccess, Summary: name}, nil
		case <-ctx.Done():
			time.Sleep(time.Second)
			stopped.do(name)
			return p.InformResult{}, context.Cause(ctx)
		}
	}}
}

// villageOf has workers A, B and C, who take one to three minutes, R who rejects after ten
// seconds, and F who fails after half a minute.
func villageOf(w *world) *deeds {
	stopped := &deeds{}
	for i, name := range []string{"A", "B", "C"} {
		w.spawn(p.AgentID(name), lasting(time.Duration(i+1)*time.Minute, stopped, name))
	}
	w.spawn("R", &worker{consider: func(context.Context, codons.Task) codons.Decision {
		time.Sleep(10 * time.Second) // until the others are at work
		return codons.Reject(p.CodeBusy, "")
	}})
	w.spawn("F", &worker{perform: func(context.Context, codons.Task) (p.InformResult, error) {
		time.Sleep(30 * time.Second)
		return p.InformResult{}, errors.New("oh")
	}})
	return stopped
}

// sorted are the deeds in the order of their names.
func (d *deeds) sorted() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(slices.Values(d.done))
}

// answered names who gave an answer.
func answered(as []codons.Answer) (names []string) {
	for _, a := range as {
		if a.Err == nil {
			names = append(names, string(a.Agent))
		}
	}
	return names
}

func TestScatter(t *testing.T) {
	longest := func(a codons.Answer) float64 { return float64(a.Result.Summary[0]) }
	for name, c := range map[string]struct {
		to      string
		gather  codons.Gather
		want    string // who answered
		best    int
		stopped string // who was cancelled
		after   time.Duration
		code    p.Code // of the failure
	}{
		"all":                    {"A B C", codons.AllOf(), "A B C", 0, "", 3 * time.Minute, ""},
		"all, and one rejects":   {"A B R", codons.AllOf(), "", 0, "A B", 11 * time.Second, p.CodeBusy},
		"all, and one fails":     {"A F", codons.AllOf(), "", 0, "A", 31 * time.Second, p.CodeFailed},
		"one is not there":       {"X A", codons.FirstOf(), "A", 1, "", time.Minute, ""},
		"first":                  {"C R A B", codons.FirstOf(), "A", 2, "B C", time.Minute + time.Second, ""},
		"first of none":          {"R F R", codons.FirstOf(), "", 0, "", 30 * time.Second, p.CodeFailed},
		"quorum":                 {"C F B A", codons.Quorum(2), "B A", 2, "C", 2*time.Minute + time.Second, ""},
		"quorum out of reach":    {"C F R A", codons.Quorum(3), "", 0, "A C", 31 * time.Second, p.CodeCanceled},
		"quorum of all":          {"A B", codons.Quorum(2), "A B", 0, "", 2 * time.Minute, ""},
		"best":                   {"A C B R F", codons.BestOf(longest), "A C B", 1, "", 3 * time.Minute, ""},
		"best of none":           {"R F", codons.BestOf(longest), "", 0, "", 30 * time.Second, p.CodeBusy},
		"quorum of fewer than 1": {"A", codons.Quorum(0), "A", 0, "", time.Minute, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				stopped := villageOf(w)
				var to []p.AgentID
				for _, id := range strings.Fields(c.to) {
					to = append(to, p.AgentID(id))
				}
				start := time.Now()
				got, err := codons.Scatter(t.Context(), w.eddy, to, task(), c.gather)
				wantElapsed(t, start, c.after)
				if c.code != "" {
					if lack := (*codons.QuorumError)(nil); !errors.As(err, &lack) || len(lack.Answers) != len(to) || !errors.Is(err, c.code) {
						t.Errorf("got %+v, %v", got, err)
					}
				} else if err != nil || got.Best != c.best || strings.Join(answered(got.Answers), " ") != c.want {
					t.Errorf("got %+v, %v", got, err)
				}
				if s := strings.Join(stopped.sorted(), " "); s != c.stopped {
					t.Errorf("stopped before the end: %q, want %q", s, c.stopped)
				}
				w.settled(0)
			})
		})
	}
}

func TestScatterIsEndedFromOutside(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		stopped := villageOf(w)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := codons.Scatter(ctx, w.eddy, []p.AgentID{"A", "B"}, task(), codons.FirstOf())
			ended <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) || len(stopped.sorted()) != 2 {
			t.Errorf("got %v, stopped %q", err, stopped.sorted())
		}
		if _, err := codons.Scatter(ctx, w.eddy, []p.AgentID{"A", "B"}, task(), codons.FirstOf()); !errors.Is(err, context.Canceled) {
			t.Errorf("begun with a context that has ended: %v", err)
		}
		w.settled(0)
	})
}

func TestScatterThatCannotBe(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		villageOf(w)
		var lack *codons.QuorumError
		if _, err := codons.Scatter(t.Context(), w.eddy, nil, task(), codons.AllOf()); !errors.As(err, &lack) {
			t.Errorf("to nobody: %v", err)
		}
		if _, err := codons.Scatter(t.Context(), w.eddy, []p.AgentID{"A"}, task(), codons.Quorum(2)); !errors.As(err, &lack) {
			t.Errorf("two of one: %v", err)
		}
		if _, err := codons.Scatter(t.Context(), w.eddy, []p.AgentID{"A"}, p.TaskRequest{}, codons.AllOf()); !errors.Is(err, p.CodeInvalidPayload) {
			t.Errorf("no task: %v", err)
		}
		if len(w.monitor.lines()) != 0 {
			t.Errorf("said: %q", w.monitor.lines())
		}
		w.settled(0)
	})
}

// TestScatterStopsWithItsParty has the asker's agent stop in the middle.
func TestScatterStopsWithItsParty(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		stopped := villageOf(w)
		ended := make(chan error, 1)
		go func() {
			_, err := codons.Scatter(t.Context(), w.eddy, []p.AgentID{"A", "B", "C"}, task(), codons.Quorum(2))
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
		w.settled(0)
	})
}

// TestScatterSharesTheBudget of the handler that asks: each has an equal part.
func TestScatterSharesTheBudget(t *testing.T) {
	for name, c := range map[string]struct {
		opts []codons.DelegateOption
		want string // what each has
		code p.Code
	}{
		"equal parts":   {nil, "calls 2, depth 31, tokens 30", ""},
		"parts of ours": {[]codons.DelegateOption{codons.WithBudget(codons.Budget{codons.Tokens: 31})}, "", p.CodeBudget},
		"one named":     {[]codons.DelegateOption{codons.WithBudget(codons.Budget{codons.Calls: 1})}, "calls 1, depth 31, tokens 30", ""},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				to := []p.AgentID{"A", "B", "C"}
				for _, id := range to {
					w.spawn(id, &worker{perform: func(ctx context.Context, _ codons.Task) (p.InformResult, error) {
						left := codons.Left(ctx)
						time.Sleep(time.Second) // so that none gives back what another could have
						return p.InformResult{Status: p.StatusSuccess, Summary: left.String()}, codons.Spend(ctx, codons.Budget{codons.Tokens: left[codons.Tokens]})
					}})
				}
				var got codons.Scattered
				w.spawn("Middle", &worker{perform: func(ctx context.Context, t codons.Task) (_ p.InformResult, err error) {
					got, err = codons.Scatter(ctx, t.Agent, to, t.TaskRequest, codons.AllOf(), c.opts...)
					return result(p.StatusSuccess), err
				}})
				_, err := w.delegateTo("Middle", codons.Budget{codons.Tokens: 92, codons.Calls: 9})
				if c.code != "" {
					wantEnd(t, err, "failed", c.code)
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
				w.settled(0)
			})
		})
	}
}

// TestScatterOfAnOverdrawnBudget begins, and leaves it to each what it does with nothing.
func TestScatterOfAnOverdrawnBudget(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Waster", &worker{perform: spends(codons.Budget{codons.Tokens: 200})})
		w.spawn("A", &worker{})
		w.spawn("Middle", &worker{perform: func(ctx context.Context, t codons.Task) (p.InformResult, error) {
			_, _ = codons.Delegate(ctx, t.Agent, "Waster", t.TaskRequest)
			_, err := codons.Scatter(ctx, t.Agent, []p.AgentID{"A", "A"}, t.TaskRequest, codons.AllOf())
			return result(p.StatusSuccess), err
		}})
		if _, err := w.delegateTo("Middle", codons.Budget{codons.Tokens: 100}); err != nil {
			t.Error(err)
		}
	})
}

// TestScatterDoesNotCountNonsense as an answer: it goes on with the others.
func TestScatterDoesNotCountNonsense(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		villageOf(w)
		a := w.puppet("P")
		go func() {
			m := a.next(p.ActTaskRequest)
			a.say(p.Envelope{
				Receiver: "Eddy", Performative: p.ActInformResult, ConversationID: m.ConversationID(), InReplyTo: m.ReplyWith(),
				Payload: p.Raw(`{"task_status":7}`),
			})
		}()
		got, err := codons.Scatter(t.Context(), w.eddy, []p.AgentID{"P", "A"}, task(), codons.FirstOf())
		if err != nil || got.Best != 1 {
			t.Fatalf("got %+v, %v", got, err)
		}
		wantEnd(t, got.Answers[0].Err, "completed", p.CodeInvalidPayload)
		w.settled(0)
	})
}

func TestBestIsANumber(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		villageOf(w)
		score := func(a codons.Answer) float64 {
			if a.Agent == "A" {
				return math.NaN()
			}
			return -1
		}
		got, err := codons.Scatter(t.Context(), w.eddy, []p.AgentID{"A", "B"}, task(), codons.BestOf(score))
		if err != nil || got.Best != 1 {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

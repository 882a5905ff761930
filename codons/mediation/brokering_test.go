package mediation_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/mediation"
	"github.com/ribosome-agents/ribosome/codons/request"
	"github.com/ribosome-agents/ribosome/internal/systemtest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// rejecting returns a worker that rejects every task as busy.
func rejecting() *kit.Worker {
	return &kit.Worker{Consider: func(context.Context, delegation.Task) delegation.Decision { return delegation.Reject(p.CodeBusy, "") }}
}

// summaries returns a line for each reply, sorted.
func summaries(t *testing.T, replies []mediation.ProxyReply) []string {
	t.Helper()
	var all []string
	for _, r := range replies {
		line := string(r.Agent) + ": "
		if result, err := r.Result(); err == nil {
			line += result.Summary
		} else {
			line += err.Error()
		}
		all = append(all, line)
	}
	slices.Sort(all)
	return all
}

// transcript returns the messages of each pair of agents, pair by pair: the order between pairs is
// not determined.
func transcript(w *kit.World, agents ...string) []string {
	var lines []string
	for i, a := range agents {
		for _, b := range agents[i+1:] {
			for _, l := range w.Lines() {
				if strings.HasPrefix(l, a+" -> "+b+":") || strings.HasPrefix(l, b+" -> "+a+":") {
					lines = append(lines, l)
				}
			}
		}
	}
	return lines
}

func TestBrokerAsksOne(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Busy", rejecting())
		w.Add("Jules", &kit.Worker{Perform: func(_ context.Context, t delegation.Task) (p.InformResult, error) {
			return kit.Result(p.StatusSuccess), t.Progress(50, "half of it")
		}})
		w.Add("Never", succeeding("must not be asked"))
		w.Add("Poet", &kit.RequestHandler{})
		w.Add("Broker", brokerOf("Eddy", "Broker", "Poet", "Busy", "Jules", "Never"))
		var news []string
		replies, err := mediation.AskThrough(t.Context(), w.Eddy, "Broker", debugging(mediation.WantOne), mediation.WithNews(func(n mediation.ProxyNews) {
			if n.Reply == nil {
				for _, id := range n.Asked {
					news = append(news, string(id))
				}
				return
			}
			news = append(news, string(n.Reply.Agent)+" "+n.Reply.Performative.String())
		}))
		if err != nil {
			t.Fatal(err)
		}
		wantLines(t, summaries(t, replies), "Busy: Busy: the agent is busy (busy)", "Jules: success")
		wantLines(t, news, "Busy", "Jules", "Never", "Busy TASK_REJECT", "Jules TASK_ACCEPT", "Jules STATUS_UPDATE", "Jules INFORM_RESULT")
		w.Settled(0)
	})
}

func TestBrokerTranscript(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", succeeding("done"))
		w.Add("Broker", brokerOf("Jules"))
		if _, err := mediation.AskThrough(t.Context(), w.Eddy, "Broker", debugging("")); err != nil {
			t.Fatal(err)
		}
		kit.Golden(t, "brokering", transcript(w, "Eddy", "Broker", "Jules"))
	})
}

func TestBrokerAsksAll(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Allow(systemtest.ErrorLogged)
		w.Add("Ada", succeeding("done by Ada"))
		w.Add("Busy", rejecting())
		w.Add("Bad", &kit.Worker{Perform: func(context.Context, delegation.Task) (p.InformResult, error) { panic("oh") }})
		w.Add("Slow", &kit.Worker{Perform: kit.UntilDone[p.InformResult, delegation.Task]})
		w.Add("Broker", brokerOf("Ada", "Busy", "Bad", "Slow", "Nobody"))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		replies, err := mediation.AskThrough(ctx, w.Eddy, "Broker", debugging(mediation.WantAll))
		if err != nil {
			t.Fatal(err)
		}
		wantLines(t, summaries(t, replies), "Ada: done by Ada", "Bad: Bad: the handler panicked (internal_error)",
			"Busy: Busy: the agent is busy (busy)", "Slow: Slow: the deadline passed before the work was done (timeout)")
		w.Settled(0)
	})
}

// There are more agents than open conversations and waiting news.
func TestBrokerAsksMany(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		var known []p.AgentID
		for i := range 100 {
			id := p.AgentID(fmt.Sprintf("Worker %d", i))
			w.Add(id, succeeding("done"))
			known = append(known, id)
		}
		w.Add("Broker", brokerOf(known...))
		replies, err := mediation.AskThrough(t.Context(), w.Eddy, "Broker", debugging(mediation.WantAll))
		if err != nil || len(replies) != len(known) {
			t.Errorf("%d replies, %v", len(replies), err)
		}
		w.Settled(0)
	})
}

// With WantAll each agent has an equal share of the budget, with WantOne all that is left.
func TestBrokerSharesTheBudget(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		left := &kit.Worker{Perform: func(ctx context.Context, _ delegation.Task) (p.InformResult, error) {
			had := codons.BudgetLeft(ctx)
			delete(had, codons.Depth)
			return p.InformResult{Status: p.StatusSuccess, Summary: had.String()}, codons.Spend(ctx, had)
		}}
		w.Add("Ada", left)
		w.Add("Jules", left)
		w.Add("Broker", &mediation.Broker{})
		q := mediation.Proxy{Agents: []p.AgentID{"Ada", "Jules"}, Task: kit.Task(), Want: mediation.WantAll}
		replies, err := mediation.AskThrough(t.Context(), w.Eddy, "Broker", q, codons.WithBudget(codons.Budget{codons.Tokens: 100, codons.Calls: 11}))
		if err != nil {
			t.Fatal(err)
		}
		wantLines(t, summaries(t, replies), "Ada: calls 4, tokens 50", "Jules: calls 4, tokens 50")
		q.Want = mediation.WantOne
		replies, err = mediation.AskThrough(t.Context(), w.Eddy, "Broker", q, codons.WithBudget(codons.Budget{codons.Tokens: 100, codons.Calls: 11}))
		if err != nil {
			t.Fatal(err)
		}
		wantLines(t, summaries(t, replies), "Ada: calls 10, tokens 100")
		w.Settled(0)
	})
}

func TestBrokerPassesRequestsOn(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Shop", &kit.RequestHandler{Handle: func(_ context.Context, r request.Requested) (any, error) {
			o, err := p.PayloadAs[kit.Order](r.Message)
			return map[string]any{"for": o.Item}, err
		}})
		w.Add("Closed", &kit.RequestHandler{Handle: func(context.Context, request.Requested) (any, error) { return nil, &p.Refusal{Code: p.CodeForbidden} }})
		w.Add("Broker", &mediation.Broker{})
		for _, content := range []p.Content{p.ContentOf(kit.Order{Item: "tea"}), p.ContentOf(p.Raw(`{"item":"tea"}`))} {
			replies, err := mediation.AskThrough(t.Context(), w.Eddy, "Broker", mediation.Proxy{
				Agents: []p.AgentID{"Closed", "Shop"}, Request: content,
			})
			if err != nil || len(replies) != 2 || !errors.Is(replies[0].Err(), p.CodeForbidden) || replies[1].Err() != nil {
				t.Fatalf("got %+v, %v", replies, err)
			}
			if got, err := p.Decode[map[string]string](replies[1].Content); err != nil || got["for"] != "tea" {
				t.Errorf("got %+v, %v", got, err)
			}
		}
		w.Settled(0)
	})
}

func TestBrokerRefusesOrFails(t *testing.T) {
	admit := func(err error) *mediation.Broker {
		b := brokerOf("Jules")
		b.Admit = func(context.Context, mediation.Proxied) error { return err }
		return b
	}
	lost := &mediation.Broker{Agents: func(context.Context) ([]p.AgentID, error) { return nil, errors.New("secret") }}
	broken := &mediation.Broker{Agents: func(context.Context) ([]p.AgentID, error) { panic("oh") }}
	for name, c := range map[string]struct {
		broker actors.Agent
		want   string
		state  string
		code   p.Code
	}{
		"no broker":       {&kit.Worker{}, "debugging", "refused", p.CodeIncapable},
		"refused":         {admit(&p.Refusal{Code: p.CodeForbidden}), "debugging", "refused", p.CodeForbidden},
		"not understood":  {admit(&p.Refusal{Code: p.CodeInvalidPayload}), "debugging", "not_understood", p.CodeInvalidPayload},
		"no match":        {brokerOf("Jules", "Busy"), "poetry", "failed", p.CodeNoMatch},
		"no agents":       {brokerOf(), "debugging", "failed", p.CodeNoMatch},
		"only both sides": {brokerOf("Eddy", "Broker"), "debugging", "failed", p.CodeNoMatch},
		"all reject":      {brokerOf("Busy"), "debugging", "failed", p.CodeNoMatch},
		"no directory":    {lost, "debugging", "failed", p.CodeFailed},
		"panic":           {broken, "debugging", "failed", p.CodeInternal},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				w.Allow(systemtest.ErrorLogged)
				w.Add("Jules", &kit.Worker{})
				w.Add("Busy", rejecting())
				w.Add("Broker", c.broker)
				_, err := mediation.AskThrough(t.Context(), w.Eddy, "Broker", mediation.Proxy{Capabilities: []string{c.want}, Task: kit.Task()})
				kit.WantEnd(t, err, machine.State(c.state), c.code)
				w.Settled(0)
			})
		})
	}
}

func TestProxyIsValidated(t *testing.T) {
	good := debugging(mediation.WantAll)
	for field, spoil := range map[string]func(*mediation.Proxy){
		"capabilities": func(q *mediation.Proxy) { q.Capabilities = nil },
		"match_type":   func(q *mediation.Proxy) { q.Match = "some" },
		"want":         func(q *mediation.Proxy) { q.Want = "many" },
		"task":         func(q *mediation.Proxy) { q.Request = p.ContentOf(kit.Order{Item: "tea"}) },
	} {
		bad := good
		spoil(&bad)
		var r *p.Refusal
		if err := bad.Validate(); !errors.As(err, &r) || r.Field != field || r.Code != p.CodeInvalidPayload {
			t.Errorf("%s: %v", field, err)
		}
	}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		if _, err := mediation.AskThrough(t.Context(), w.Eddy, "Broker", mediation.Proxy{}); !errors.Is(err, p.CodeInvalidPayload) {
			t.Errorf("got %v", err)
		}
		toJules := good
		toJules.Receiver = "Jules"
		if _, err := mediation.AskThrough(t.Context(), w.Eddy, "Broker", toJules); !errors.Is(err, p.CodeInvalidPayload) {
			t.Errorf("got %v", err)
		}
	})
}

// The receipt comes when all conversations of the broker have ended.
func TestBrokerIsCancelled(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		left := 2
		stubborn := &kit.Worker{Perform: func(ctx context.Context, _ delegation.Task) (p.InformResult, error) {
			<-ctx.Done()
			time.Sleep(time.Duration(left) * time.Second)
			left--
			return p.InformResult{}, context.Cause(ctx)
		}}
		w.Add("Ada", stubborn)
		w.Add("Jules", &kit.Worker{Perform: kit.UntilDone[p.InformResult, delegation.Task]})
		w.Add("Broker", brokerOf("Ada", "Jules"))
		b, err := mediation.StartAskThrough(t.Context(), w.Eddy, "Broker", debugging(mediation.WantAll))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		start := time.Now()
		b.Cancel()
		_, err = b.Wait()
		kit.WantEnd(t, err, "cancelled", p.CodeCanceled)
		kit.WantElapsed(t, start, 2*time.Second)
		if n := w.Count("Broker -> Ada: CANCEL"); n != 1 {
			t.Errorf("%d CANCELs: %q", n, w.Lines())
		}
		w.Settled(0)
	})
}

// The broker is cancelled while it looks for agents.
func TestBrokerIsCancelledBeforeItAsks(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{})
		w.Add("Broker", &mediation.Broker{Agents: func(ctx context.Context) ([]p.AgentID, error) {
			<-ctx.Done()
			return []p.AgentID{"Jules"}, nil
		}})
		ctx, cancel := context.WithCancel(t.Context())
		b, err := mediation.StartAskThrough(ctx, w.Eddy, "Broker", debugging(""))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		cancel()
		_, err = b.Wait()
		kit.WantEnd(t, err, "cancelled", p.CodeCanceled)
		if n := w.Count("Broker -> Jules: TASK_REQUEST"); n != 0 {
			t.Error("the broker asked an agent after CANCEL")
		}
		w.Settled(0)
	})
}

func TestBrokerCompletesInSpiteOfCancel(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", succeeding("done"))
		w.Add("Broker", brokerOf("Jules"))
		w.Net.Lose(p.ActInform, 1)
		b, err := mediation.StartAskThrough(t.Context(), w.Eddy, "Broker", debugging(""))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		b.Cancel()
		replies, err := b.Wait()
		if err != nil {
			t.Fatal(err)
		}
		wantLines(t, summaries(t, replies), "Jules: done")
		w.Settled(0)
	})
}

func TestBrokeringSurvivesLosses(t *testing.T) {
	for act, times := range map[p.Performative]int{p.ActProxy: 2, p.ActAgree: 1, p.ActStatusUpdate: 2, p.ActInform: 2, p.ActTaskRequest: 2, p.ActInformResult: 2} {
		kit.InWorld(t, func(t *testing.T, w *kit.World) {
			w.Add("Jules", succeeding("done"))
			w.Add("Broker", brokerOf("Jules"))
			w.Net.Lose(act, times)
			replies, err := mediation.AskThrough(t.Context(), w.Eddy, "Broker", debugging(""))
			if err != nil {
				t.Fatalf("%s: %v", act, err)
			}
			wantLines(t, summaries(t, replies), "Jules: done")
			w.Settled(0)
		})
	}
}

// The broker, or the initiator, stops while a worker works.
func TestStopDuringBrokering(t *testing.T) {
	for id, want := range map[p.AgentID]p.Code{"Broker": p.CodeStopped, "Eddy": p.CodeStopped} {
		kit.InWorld(t, func(t *testing.T, w *kit.World) {
			var cause error
			w.Add("Jules", &kit.Worker{Perform: func(ctx context.Context, _ delegation.Task) (p.InformResult, error) {
				<-ctx.Done()
				cause = context.Cause(ctx)
				return p.InformResult{}, cause
			}})
			w.Add("Broker", brokerOf("Jules"))
			b, err := mediation.StartAskThrough(t.Context(), w.Eddy, "Broker", debugging(""))
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if err := w.StopAgent(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			if _, err = b.Wait(); !errors.Is(err, want) {
				t.Errorf("%s stops: %v", id, err)
			}
			w.Settled(0)
			if !errors.Is(cause, codons.ErrCanceled) {
				t.Errorf("%s stops: the worker's cause is %v", id, cause)
			}
		})
	}
}

// The PROXY has a raw payload and names no protocol.
func TestBrokerOfRawProxy(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", succeeding("done"))
		w.Add("Broker", brokerOf("Jules"))
		a := w.Peer("Outside")
		a.Send(p.Envelope{
			Performative: p.ActProxy, Receiver: "Broker",
			Payload: p.Raw(`{"capabilities":["debugging"],"task":{"task_type":"debug_code"}}`),
		})
		a.Expect(p.ActAgree)
		for range 3 {
			a.Expect(p.ActStatusUpdate)
		}
		last := a.Expect(p.ActInform)
		got, err := p.PayloadAs[mediation.ProxyReplies](last)
		if err != nil {
			t.Fatal(err)
		}
		wantLines(t, summaries(t, got.Replies), "Jules: done")
		a.Send(p.Envelope{Performative: p.ActProxy, Receiver: "Broker", Payload: p.Raw(`{"task":{}}`)})
		a.Expect(p.ActNotUnderstood)
		a.Silent()
	})
}

// One agent does not answer the query for capabilities.
func TestPatienceOfTheBroker(t *testing.T) {
	for _, c := range []struct {
		within, want time.Duration
	}{{time.Minute, mediation.DefaultPatience}, {4 * time.Second, 900 * time.Millisecond}} {
		kit.InWorld(t, func(t *testing.T, w *kit.World) {
			w.Add("Jules", succeeding("done"))
			w.Add("Silent", succeeding("must not be asked"))
			w.Add("Broker", brokerOf("Silent", "Jules"))
			w.Net.Intercept(func(m *p.Message) bool { return m.Performative() == p.ActQueryCapabilities && m.Receiver() == "Silent" })
			start := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), c.within)
			defer cancel()
			replies, err := mediation.AskThrough(ctx, w.Eddy, "Broker", debugging(""))
			if err != nil {
				t.Fatal(err)
			}
			kit.WantElapsed(t, start, c.want)
			wantLines(t, summaries(t, replies), "Jules: done")
		})
	}
}

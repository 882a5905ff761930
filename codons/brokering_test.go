package codons_test

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
	p "github.com/ribosome-agents/ribosome/performatives"
)

// knows is a broker that knows those agents.
func knows(ids ...p.AgentID) *codons.Broker {
	return &codons.Broker{Agents: func(context.Context) ([]p.AgentID, error) { return ids, nil }}
}

// debuggers is a PROXY for agents that debug.
func debuggers(want codons.Want) codons.Proxy {
	return codons.Proxy{Capabilities: []string{"debugging"}, Want: want, Task: task()}
}

// doing is a worker that returns what it is asked.
func doing(summary string) *worker {
	return &worker{perform: func(context.Context, codons.Task) (p.InformResult, error) {
		return p.InformResult{Status: p.StatusSuccess, Summary: summary}, nil
	}}
}

// rejecting is a worker that takes nothing on.
func rejecting() *worker {
	return &worker{consider: func(context.Context, codons.Task) codons.Decision { return codons.Reject(p.CodeBusy, "") }}
}

// summaries are who answered what, sorted.
func summaries(t *testing.T, replies []codons.ProxyReply) []string {
	t.Helper()
	var all []string
	for _, r := range replies {
		said := string(r.Agent) + ": "
		if result, err := r.Result(); err == nil {
			said += result.Summary
		} else {
			said += err.Error()
		}
		all = append(all, said)
	}
	slices.Sort(all)
	return all
}

// talks are what was said in each pair of those agents: the order among pairs is
// nobody's.
func (w *world) talks(agents ...string) []string {
	var lines []string
	for i, a := range agents {
		for _, b := range agents[i+1:] {
			for _, l := range w.monitor.lines() {
				if strings.HasPrefix(l, a+" -> "+b+":") || strings.HasPrefix(l, b+" -> "+a+":") {
					lines = append(lines, l)
				}
			}
		}
	}
	return lines
}

func wantLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestBrokerAsksOne(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Busy", rejecting())
		w.spawn("Jules", &worker{perform: func(_ context.Context, t codons.Task) (p.InformResult, error) {
			return result(p.StatusSuccess), t.Progress(50, "half of it")
		}})
		w.spawn("Never", doing("must not be asked"))
		w.spawn("Poet", &shop{})
		w.spawn("Broker", knows("Eddy", "Broker", "Poet", "Busy", "Jules", "Never"))
		var news []string
		replies, err := codons.AskThrough(t.Context(), w.eddy, "Broker", debuggers(codons.WantOne), codons.WithNews(func(n codons.ProxyNews) {
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
		w.settled(0)
	})
}

func TestBrokerTranscript(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Jules", doing("done"))
		w.spawn("Broker", knows("Jules"))
		if _, err := codons.AskThrough(t.Context(), w.eddy, "Broker", debuggers("")); err != nil {
			t.Fatal(err)
		}
		golden(t, "brokering", w.talks("Eddy", "Broker", "Jules"))
	})
}

func TestBrokerAsksAll(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Ada", doing("done by Ada"))
		w.spawn("Busy", rejecting())
		w.spawn("Bad", &worker{perform: func(context.Context, codons.Task) (p.InformResult, error) { panic("oh") }})
		w.spawn("Slow", &worker{perform: patient})
		w.spawn("Broker", knows("Ada", "Busy", "Bad", "Slow", "Nobody"))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		replies, err := codons.AskThrough(ctx, w.eddy, "Broker", debuggers(codons.WantAll))
		if err != nil {
			t.Fatal(err)
		}
		wantLines(t, summaries(t, replies), "Ada: done by Ada", "Bad: Bad: the handler panicked (internal_error)",
			"Busy: Busy: the agent is busy (busy)", "Slow: Slow: the deadline passed before the work was done (timeout)")
		w.settled(0)
	})
}

// TestBrokerAsksMany has more to pass on than may wait for it.
func TestBrokerAsksMany(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var known []p.AgentID
		for i := range 100 {
			id := p.AgentID(fmt.Sprintf("Worker %d", i))
			w.spawn(id, doing("done"))
			known = append(known, id)
		}
		w.spawn("Broker", knows(known...))
		replies, err := codons.AskThrough(t.Context(), w.eddy, "Broker", debuggers(codons.WantAll))
		if err != nil || len(replies) != len(known) {
			t.Errorf("%d replies, %v", len(replies), err)
		}
		w.settled(0)
	})
}

// TestBrokerSharesTheBudget among all that it asks.
func TestBrokerSharesTheBudget(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		left := &worker{perform: func(ctx context.Context, _ codons.Task) (p.InformResult, error) {
			had := codons.Left(ctx)
			delete(had, codons.Depth)
			return p.InformResult{Status: p.StatusSuccess, Summary: had.String()}, codons.Spend(ctx, had)
		}}
		w.spawn("Ada", left)
		w.spawn("Jules", left)
		w.spawn("Broker", &codons.Broker{})
		q := codons.Proxy{Agents: []p.AgentID{"Ada", "Jules"}, Task: task(), Want: codons.WantAll}
		replies, err := codons.AskThrough(t.Context(), w.eddy, "Broker", q, codons.WithBudget(codons.Budget{codons.Tokens: 100, codons.Calls: 11}))
		if err != nil {
			t.Fatal(err)
		}
		wantLines(t, summaries(t, replies), "Ada: calls 4, tokens 50", "Jules: calls 4, tokens 50")
		q.Want = codons.WantOne
		replies, err = codons.AskThrough(t.Context(), w.eddy, "Broker", q, codons.WithBudget(codons.Budget{codons.Tokens: 100, codons.Calls: 11}))
		if err != nil {
			t.Fatal(err)
		}
		wantLines(t, summaries(t, replies), "Ada: calls 10, tokens 100")
		w.settled(0)
	})
}

func TestBrokerPassesRequestsOn(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Shop", &shop{func(_ context.Context, r codons.Requested) (any, error) {
			o, err := p.PayloadAs[order](r.Message)
			return map[string]any{"for": o.Item}, err
		}})
		w.spawn("Closed", &shop{func(context.Context, codons.Requested) (any, error) { return nil, &p.Refusal{Code: p.CodeForbidden} }})
		w.spawn("Broker", &codons.Broker{})
		for _, content := range []p.Content{p.ContentOf(order{"tea"}), p.ContentOf(p.Raw(`{"item":"tea"}`))} {
			replies, err := codons.AskThrough(t.Context(), w.eddy, "Broker", codons.Proxy{
				Agents: []p.AgentID{"Closed", "Shop"}, Request: content,
			})
			if err != nil || len(replies) != 2 || !errors.Is(replies[0].Err(), p.CodeForbidden) || replies[1].Err() != nil {
				t.Fatalf("got %+v, %v", replies, err)
			}
			if got, err := p.Decode[map[string]string](replies[1].Content); err != nil || got["for"] != "tea" {
				t.Errorf("got %+v, %v", got, err)
			}
		}
		w.settled(0)
	})
}

func TestBrokerTurnsDown(t *testing.T) {
	admit := func(err error) *codons.Broker {
		b := knows("Jules")
		b.Admit = func(context.Context, codons.Proxied) error { return err }
		return b
	}
	lost := &codons.Broker{Agents: func(context.Context) ([]p.AgentID, error) { return nil, errors.New("secret") }}
	broken := &codons.Broker{Agents: func(context.Context) ([]p.AgentID, error) { panic("oh") }}
	for name, c := range map[string]struct {
		broker actors.Agent
		want   string
		state  string
		code   p.Code
	}{
		"no broker":          {&worker{}, "debugging", "refused", p.CodeIncapable},
		"refused":            {admit(&p.Refusal{Code: p.CodeForbidden}), "debugging", "refused", p.CodeForbidden},
		"not understood":     {admit(&p.Refusal{Code: p.CodeInvalidPayload}), "debugging", "not_understood", p.CodeInvalidPayload},
		"no match":           {knows("Jules", "Busy"), "poetry", "failed", p.CodeNoMatch},
		"knows nobody":       {knows(), "debugging", "failed", p.CodeNoMatch},
		"knows only who ask": {knows("Eddy", "Broker"), "debugging", "failed", p.CodeNoMatch},
		"nobody takes it on": {knows("Busy"), "debugging", "failed", p.CodeNoMatch},
		"no directory":       {lost, "debugging", "failed", p.CodeFailed},
		"panic":              {broken, "debugging", "failed", p.CodeInternal},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.spawn("Jules", &worker{})
				w.spawn("Busy", rejecting())
				w.spawn("Broker", c.broker)
				_, err := codons.AskThrough(t.Context(), w.eddy, "Broker", codons.Proxy{Capabilities: []string{c.want}, Task: task()})
				wantEnd(t, err, machineState(c.state), c.code)
				w.settled(0)
			})
		})
	}
}

func TestProxyIsValidated(t *testing.T) {
	good := debuggers(codons.WantAll)
	for field, spoil := range map[string]func(*codons.Proxy){
		"capabilities": func(q *codons.Proxy) { q.Capabilities = nil },
		"match_type":   func(q *codons.Proxy) { q.Match = "some" },
		"want":         func(q *codons.Proxy) { q.Want = "many" },
		"task":         func(q *codons.Proxy) { q.Request = p.ContentOf(order{"tea"}) },
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
	inWorld(t, func(t *testing.T, w *world) {
		if _, err := codons.AskThrough(t.Context(), w.eddy, "Broker", codons.Proxy{}); !errors.Is(err, p.CodeInvalidPayload) {
			t.Errorf("got %v", err)
		}
		toJules := good
		toJules.Receiver = "Jules"
		if _, err := codons.AskThrough(t.Context(), w.eddy, "Broker", toJules); !errors.Is(err, p.CodeInvalidPayload) {
			t.Errorf("got %v", err)
		}
	})
}

// TestBrokerIsCancelled has the receipt come when all that was asked has ended.
func TestBrokerIsCancelled(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		left := 2
		stubborn := &worker{perform: func(ctx context.Context, _ codons.Task) (p.InformResult, error) {
			<-ctx.Done()
			time.Sleep(time.Duration(left) * time.Second)
			left--
			return p.InformResult{}, context.Cause(ctx)
		}}
		w.spawn("Ada", stubborn)
		w.spawn("Jules", &worker{perform: patient})
		w.spawn("Broker", knows("Ada", "Jules"))
		b, err := codons.StartAskThrough(t.Context(), w.eddy, "Broker", debuggers(codons.WantAll))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		start := time.Now()
		b.Cancel()
		_, err = b.Wait()
		wantEnd(t, err, "cancelled", p.CodeCanceled)
		wantElapsed(t, start, 2*time.Second)
		if n := w.monitor.count("Broker -> Ada: CANCEL"); n != 1 {
			t.Errorf("%d CANCELs: %q", n, w.monitor.lines())
		}
		w.settled(0)
	})
}

// TestBrokerIsCancelledBeforeItAsks cancels while it still looks for agents.
func TestBrokerIsCancelledBeforeItAsks(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Jules", &worker{})
		w.spawn("Broker", &codons.Broker{Agents: func(ctx context.Context) ([]p.AgentID, error) {
			<-ctx.Done()
			return []p.AgentID{"Jules"}, nil
		}})
		ctx, cancel := context.WithCancel(t.Context())
		b, err := codons.StartAskThrough(ctx, w.eddy, "Broker", debuggers(""))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		cancel()
		_, err = b.Wait()
		wantEnd(t, err, "cancelled", p.CodeCanceled)
		if n := w.monitor.count("Broker -> Jules: TASK_REQUEST"); n != 0 {
			t.Error("it asked on")
		}
		w.settled(0)
	})
}

func TestBrokerCompletesInSpiteOfCancel(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Jules", doing("done"))
		w.spawn("Broker", knows("Jules"))
		w.net.lose(p.ActInform, 1)
		b, err := codons.StartAskThrough(t.Context(), w.eddy, "Broker", debuggers(""))
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
		w.settled(0)
	})
}

func TestBrokeringSurvivesLosses(t *testing.T) {
	for _, act := range []p.Performative{p.ActProxy, p.ActAgree, p.ActStatusUpdate, p.ActInform, p.ActTaskRequest, p.ActInformResult} {
		inWorld(t, func(t *testing.T, w *world) {
			w.spawn("Jules", doing("done"))
			w.spawn("Broker", knows("Jules"))
			w.net.lose(act, 2)
			replies, err := codons.AskThrough(t.Context(), w.eddy, "Broker", debuggers(""))
			if err != nil {
				t.Fatalf("%s: %v", act, err)
			}
			wantLines(t, summaries(t, replies), "Jules: done")
			w.settled(0)
		})
	}
}

// TestBrokerStops stops it, and who works for it, in the middle.
func TestBrokerStops(t *testing.T) {
	for who, want := range map[p.AgentID]p.Code{"Broker": p.CodeStopped, "Eddy": p.CodeStopped} {
		inWorld(t, func(t *testing.T, w *world) {
			var cause error
			w.spawn("Jules", &worker{perform: func(ctx context.Context, _ codons.Task) (p.InformResult, error) {
				<-ctx.Done()
				cause = context.Cause(ctx)
				return p.InformResult{}, cause
			}})
			w.spawn("Broker", knows("Jules"))
			b, err := codons.StartAskThrough(t.Context(), w.eddy, "Broker", debuggers(""))
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if err := w.StopAgent(t.Context(), who); err != nil {
				t.Fatal(err)
			}
			if _, err = b.Wait(); !errors.Is(err, want) {
				t.Errorf("%s stops: %v", who, err)
			}
			w.settled(0)
			if !errors.Is(cause, codons.ErrCanceled) {
				t.Errorf("%s stops: the worker's cause is %v", who, cause)
			}
		})
	}
}

// TestBrokerOfRawProxy answers a PROXY from outside that names no protocol.
func TestBrokerOfRawProxy(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Jules", doing("done"))
		w.spawn("Broker", knows("Jules"))
		a := w.puppet("Outside")
		a.say(p.Envelope{
			Performative: p.ActProxy, Receiver: "Broker",
			Payload: p.Raw(`{"capabilities":["debugging"],"task":{"task_type":"debug_code"}}`),
		})
		a.next(p.ActAgree)
		for range 3 {
			a.next(p.ActStatusUpdate)
		}
		last := a.next(p.ActInform)
		got, err := p.PayloadAs[codons.ProxyReplies](last)
		if err != nil {
			t.Fatal(err)
		}
		wantLines(t, summaries(t, got.Replies), "Jules: done")
		a.say(p.Envelope{Performative: p.ActProxy, Receiver: "Broker", Payload: p.Raw(`{"task":{}}`)})
		a.next(p.ActNotUnderstood)
		a.silence()
	})
}

// TestBrokerIsPatientForAWhile does not wait for one that does not say what it can
// do.
func TestBrokerIsPatientForAWhile(t *testing.T) {
	for _, c := range []struct {
		within, want time.Duration
	}{{time.Minute, codons.DefaultPatience}, {4 * time.Second, 900 * time.Millisecond}} {
		inWorld(t, func(t *testing.T, w *world) {
			w.spawn("Jules", doing("done"))
			w.spawn("Deaf", doing("must not be asked"))
			w.spawn("Broker", knows("Deaf", "Jules"))
			w.net.intercept(func(m *p.Message) bool { return m.Performative() == p.ActQueryCapabilities && m.Receiver() == "Deaf" })
			start := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), c.within)
			defer cancel()
			replies, err := codons.AskThrough(ctx, w.eddy, "Broker", debuggers(""))
			if err != nil {
				t.Fatal(err)
			}
			wantElapsed(t, start, c.want)
			wantLines(t, summaries(t, replies), "Jules: done")
		})
	}
}

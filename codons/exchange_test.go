package codons_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/internal/systemtest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// forKinds runs a test for each codon of the exchange family, in a world of its own.
func forKinds(t *testing.T, test func(t *testing.T, w *kit.World, k exchangeKind)) {
	t.Helper()
	for _, k := range kinds() {
		t.Run(k.Name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) { test(t, w, k) })
		})
	}
}

func TestExchangeIsAnswered(t *testing.T) {
	forKinds(t, func(t *testing.T, w *kit.World, k exchangeKind) {
		w.Add("Shop", k.Agent(agreeing))
		k.WantGood(t, k.Begin(t.Context(), t, w))
		kit.Golden(t, k.Name, w.Lines())
		w.Settled(0)
	})
}

func TestExchangeIsRefused(t *testing.T) {
	refusal := &p.Refusal{Code: p.CodeForbidden, Text: "members only"}
	nonsense := &p.Refusal{Code: p.CodeInvalidPayload, Text: "what is that?"}
	for name, c := range map[string]struct {
		handle handlerFunc
		code   p.Code
		agree  bool
	}{
		"refused":        {func(context.Context, func() error) error { return refusal }, p.CodeForbidden, false},
		"not understood": {func(context.Context, func() error) error { return nonsense }, p.CodeInvalidPayload, false},
		"failed":         {func(context.Context, func() error) error { return errors.New("secret") }, p.CodeFailed, false},
		"panicked":       {func(context.Context, func() error) error { panic("oh") }, p.CodeInternal, false},
		"refused after agree": {func(_ context.Context, agree func() error) error {
			return errors.Join(agree(), refusal)
		}, p.CodeForbidden, true},
		"not understood after agree": {func(_ context.Context, agree func() error) error {
			return errors.Join(agree(), nonsense)
		}, p.CodeInvalidPayload, true},
	} {
		t.Run(name, func(t *testing.T) {
			forKinds(t, func(t *testing.T, w *kit.World, k exchangeKind) {
				if c.code == p.CodeInternal {
					w.Allow(systemtest.ErrorLogged)
				}
				w.Add("Shop", k.Agent(c.handle))
				_, err := k.Begin(t.Context(), t, w).Wait()
				kit.WantEnd(t, err, k.End(c.agree, c.code), c.code)
				w.Settled(0)
			})
		})
	}
}

func TestExchangeWithoutResponder(t *testing.T) {
	forKinds(t, func(t *testing.T, w *kit.World, k exchangeKind) {
		w.Add("Shop", kit.Plain{})
		_, err := k.Begin(t.Context(), t, w).Wait()
		if k.Name == "handshake" { // everybody does
			return
		}
		turnedDown := machine.State("refused")
		if k.Name == "propose" || k.Name == "approval" { // the runtime turns a PROPOSE down with REJECT_PROPOSAL
			turnedDown = "rejected"
		}
		code := p.CodeIncapable
		switch k.Name {
		case "query-ref":
			code = p.CodeUnknownReference
		case "query-if":
			code = p.CodeCannotDecide
		}
		kit.WantEnd(t, err, turnedDown, code)
		nobody, err := k.Start(t.Context(), w.Eddy, "Nobody")
		if err != nil {
			t.Fatal(err)
		}
		_, err = nobody.Wait()
		kit.WantEnd(t, err, turnedDown, p.CodeUnknownAgent)
		w.Settled(0)
	})
}

func TestExchangeIsCancelled(t *testing.T) {
	for name, h := range map[string]handlerFunc{"before agree": untilEnd, "after agree": agreedUntilEnd} {
		t.Run(name, func(t *testing.T) {
			forKinds(t, func(t *testing.T, w *kit.World, k exchangeKind) {
				returned := false
				w.Add("Shop", k.Agent(func(ctx context.Context, agree func() error) error {
					err := h(ctx, agree)
					if !errors.Is(err, codons.ErrCanceled) {
						t.Errorf("the handler's context ended by %v", err)
					}
					time.Sleep(time.Second)
					returned = true
					return nil // the answer comes too late
				}))
				u := k.Begin(t.Context(), t, w)
				synctest.Wait()
				start := time.Now()
				u.Cancel()
				_, err := u.Wait()
				kit.WantEnd(t, err, "cancelled", p.CodeCanceled)
				kit.WantElapsed(t, start, time.Second)
				if !returned {
					t.Error("the receipt came before the handler had returned")
				}
				w.Settled(0)
			})
		})
	}
}

// TestExchangeHandlerIgnoresCancel sends CANCEL to a handler that does not return.
func TestExchangeHandlerIgnoresCancel(t *testing.T) {
	forKinds(t, func(t *testing.T, w *kit.World, k exchangeKind) {
		end := make(chan struct{})
		w.Add("Shop", k.Agent(func(context.Context, func() error) error { <-end; return nil }))
		u := k.Begin(t.Context(), t, w)
		synctest.Wait()
		u.Cancel()
		_, err := u.Wait()
		kit.WantEnd(t, err, "failed", p.CodeStillRunning)
		w.Settled(1)
		close(end)
		w.Settled(0)
	})
}

// TestExchangeCompletesDespiteCancel has the answer win the race.
func TestExchangeCompletesDespiteCancel(t *testing.T) {
	forKinds(t, func(t *testing.T, w *kit.World, k exchangeKind) {
		w.Add("Shop", k.Agent(atOnce))
		w.Net.Lose(k.Answer, 1)
		u := k.Begin(t.Context(), t, w)
		synctest.Wait()
		u.Cancel()
		k.WantGood(t, u)
		w.Settled(0)
	})
}

func TestExchangeSurvivesLosses(t *testing.T) {
	forKinds(t, func(t *testing.T, w *kit.World, k exchangeKind) {
		calls := 0
		w.Add("Shop", k.Agent(func(ctx context.Context, agree func() error) error {
			calls++
			return agree()
		}))
		for _, act := range []p.Performative{k.Opening, p.ActAgree, k.Answer} {
			w.Net.Lose(act, 2)
			k.WantGood(t, k.Begin(t.Context(), t, w, codons.WithRetry(codons.Retry{First: time.Second, Jitter: -1})))
		}
		if calls != 3 {
			t.Errorf("the handler ran %d times for 3 conversations", calls)
		}
		w.Settled(0)
	})
}

// TestExchangeReceiptIsLost checks that CANCEL is sent again until its answer arrives.
func TestExchangeReceiptIsLost(t *testing.T) {
	for _, act := range []p.Performative{p.ActCancel, p.ActInform} {
		forKinds(t, func(t *testing.T, w *kit.World, k exchangeKind) {
			w.Add("Shop", k.Agent(untilEnd))
			w.Net.Lose(act, 1)
			u := k.Begin(t.Context(), t, w)
			synctest.Wait()
			u.Cancel()
			_, err := u.Wait()
			kit.WantEnd(t, err, "cancelled", p.CodeCanceled)
			w.Settled(0)
		})
	}
}

func TestExchangeWithDuplicates(t *testing.T) {
	forKinds(t, func(t *testing.T, w *kit.World, k exchangeKind) {
		calls := 0
		w.Add("Shop", k.Agent(func(_ context.Context, agree func() error) error {
			calls++
			return agree()
		}))
		w.Net.Intercept(func(m *p.Message) bool {
			for range 2 {
				if err := w.Deliver(m.Receiver(), m); err != nil {
					t.Error(err)
				}
			}
			return true
		})
		k.WantGood(t, k.Begin(t.Context(), t, w))
		w.Settled(0)
		if calls != 1 {
			t.Errorf("the handler ran %d times", calls)
		}
	})
}

func TestExchangeIsBounded(t *testing.T) {
	forKinds(t, func(t *testing.T, w *kit.World, k exchangeKind) {
		var late []*kit.Ongoing
		agent, limit := k.Agent(untilEnd), codons.DefaultMaxTasks
		if l, ok := agent.(codons.TaskLimiter); ok {
			limit = l.MaxTasks()
		}
		w.Add("Shop", agent)
		ctx, cancel := context.WithCancel(t.Context())
		for range limit {
			late = append(late, k.Begin(ctx, t, w))
		}
		synctest.Wait()
		_, err := k.Begin(t.Context(), t, w).Wait()
		kit.WantEnd(t, err, "refused", p.CodeBusy)
		_, err = k.Begin(t.Context(), t, w, codons.WithPriority(p.Urgent)).Wait()
		kit.WantEnd(t, err, "refused", p.CodeBusy)
		cancel()
		for _, u := range late {
			_, err := u.Wait()
			kit.WantEnd(t, err, "cancelled", p.CodeCanceled)
		}
		w.Settled(0)
	})
}

func TestExchangeResponderStops(t *testing.T) {
	for name, h := range map[string]handlerFunc{"before agree": untilEnd, "after agree": agreedUntilEnd} {
		t.Run(name, func(t *testing.T) {
			forKinds(t, func(t *testing.T, w *kit.World, k exchangeKind) {
				w.Add("Shop", k.Agent(h))
				u := k.Begin(t.Context(), t, w)
				synctest.Wait()
				if err := w.StopAgent(t.Context(), "Shop"); err != nil {
					t.Fatal(err)
				}
				_, err := u.Wait()
				kit.WantEnd(t, err, "failed", p.CodeStopped)
				w.Settled(0)
			})
		})
	}
}

func TestExchangeInitiatorStops(t *testing.T) {
	forKinds(t, func(t *testing.T, w *kit.World, k exchangeKind) {
		var cause error
		w.Add("Shop", k.Agent(func(ctx context.Context, _ func() error) error {
			cause = untilEnd(ctx, nil)
			return cause
		}))
		u := k.Begin(t.Context(), t, w)
		synctest.Wait()
		if err := w.StopAgent(t.Context(), "Eddy"); err != nil {
			t.Fatal(err)
		}
		_, err := u.Wait()
		kit.WantEnd(t, err, "abandoned", p.CodeStopped)
		w.Settled(0)
		if !errors.Is(cause, codons.ErrCanceled) {
			t.Errorf("the handler's context ended by %v", cause)
		}
	})
}

func TestExchangeDeadline(t *testing.T) {
	for name, h := range map[string]handlerFunc{"before agree": untilEnd, "after agree": agreedUntilEnd} {
		t.Run(name, func(t *testing.T) {
			forKinds(t, func(t *testing.T, w *kit.World, k exchangeKind) {
				var cause error
				w.Add("Shop", k.Agent(func(ctx context.Context, agree func() error) error {
					cause = h(ctx, agree)
					return cause
				}))
				start := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				_, err := k.Begin(ctx, t, w).Wait()
				if k.Early {
					kit.WantEnd(t, err, "cancelled", p.CodeCanceled)
					kit.WantElapsed(t, start, 59*time.Second)
					w.Settled(0)
					return
				}
				if !errors.Is(err, p.CodeTimeout) { // from whichever side noticed first
					t.Errorf("got %v", err)
				}
				kit.WantElapsed(t, start, time.Minute)
				w.Settled(0)
				if !errors.Is(cause, codons.ErrDeadline) {
					t.Errorf("the handler's context ended by %v", cause)
				}
			})
		})
	}
}

// TestExchangeWithoutDeadline checks that the times of the agent apply to a request without a
// ReplyBy.
func TestExchangeWithoutDeadline(t *testing.T) {
	for _, k := range kinds() {
		t.Run(k.Name, func(t *testing.T) {
			kit.InWorldWith(t, codons.Times{Deadline: time.Minute}, actors.Options{}, func(t *testing.T, w *kit.World) {
				w.Add("Shop", k.Agent(agreedUntilEnd))
				a := w.Peer("peer")
				e := k.Opener(t, w)
				e.ReplyBy, e.ReplyWith = time.Time{}, ""
				start := time.Now()
				a.Send(e)
				for m := range a.Got {
					if m.Performative() == p.ActAgree {
						continue
					}
					if r := m.AsRefusal(); r == nil || r.Code != p.CodeTimeout {
						t.Errorf("got %s %+v", m.Performative(), m.Payload())
					}
					break
				}
				kit.WantElapsed(t, start, time.Minute)
				w.Settled(0)
			})
		})
	}
}

// TestExchangeCancelOvertakes has CANCEL overtake its request.
func TestExchangeCancelOvertakes(t *testing.T) {
	forKinds(t, func(t *testing.T, w *kit.World, k exchangeKind) {
		calls := 0
		w.Add("Shop", k.Agent(func(context.Context, func() error) error { calls++; return nil }))
		var held *p.Message
		w.Net.Intercept(func(m *p.Message) bool {
			if m.Performative() == k.Opening && held == nil {
				held = m
				return true
			}
			return false
		})
		u := k.Begin(t.Context(), t, w, codons.WithRetry(codons.NoRetry()))
		synctest.Wait()
		u.Cancel()
		_, err := u.Wait()
		kit.WantEnd(t, err, "cancelled", p.CodeCanceled)
		if err := w.Deliver("Shop", held); err != nil {
			t.Fatal(err)
		}
		w.Settled(0)
		if calls != 0 {
			t.Error("what was withdrawn was done")
		}
	})
}

package codons_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// forKinds runs a test for each codon of the exchange family, in a world of its own.
func forKinds(t *testing.T, test func(t *testing.T, w *world, k kind)) {
	t.Helper()
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) { test(t, w, k) })
		})
	}
}

// begin starts a conversation of Eddy's with Shop.
func (k kind) begin(ctx context.Context, t *testing.T, w *world, opts ...codons.Option) *ongoing {
	t.Helper()
	u, err := k.start(ctx, w.eddy, "Shop", opts...)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// wantGood expects the good answer.
func (k kind) wantGood(t *testing.T, u *ongoing) {
	t.Helper()
	got, err := u.wait()
	if err != nil {
		t.Error(err)
	} else if diff := cmp.Diff(k.good, got); diff != "" {
		t.Errorf("another answer (-want +got):\n%s", diff)
	}
}

func TestExchangeIsAnswered(t *testing.T) {
	forKinds(t, func(t *testing.T, w *world, k kind) {
		w.spawn("Shop", k.agent(agreeing))
		k.wantGood(t, k.begin(t.Context(), t, w))
		golden(t, k.name, w.monitor.lines())
		w.settled(0)
	})
}

func TestExchangeIsTurnedDown(t *testing.T) {
	refusal := &p.Refusal{Code: p.CodeForbidden, Text: "members only"}
	nonsense := &p.Refusal{Code: p.CodeInvalidPayload, Text: "what is that?"}
	for name, c := range map[string]struct {
		handle handle
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
			forKinds(t, func(t *testing.T, w *world, k kind) {
				w.spawn("Shop", k.agent(c.handle))
				_, err := k.begin(t.Context(), t, w).wait()
				wantEnd(t, err, k.end(c.agree, c.code), c.code)
				w.settled(0)
			})
		})
	}
}

// end is how a conversation ends in which the handler gives that code, perhaps after
// it has agreed.
func (k kind) end(agree bool, code p.Code) machine.State {
	switch carrier := code.Traits().Carrier; {
	case carrier == p.ActFailure, k.agreed, k.agrees && agree:
		return "failed"
	case carrier == p.ActNotUnderstood:
		return "not_understood"
	}
	return "refused"
}

func TestExchangeWithNobodyWhoAnswersIt(t *testing.T) {
	forKinds(t, func(t *testing.T, w *world, k kind) {
		w.spawn("Shop", plain{})
		_, err := k.begin(t.Context(), t, w).wait()
		if k.name == "handshake" { // everybody does
			return
		}
		turnedDown := machine.State("refused")
		if k.name == "propose" || k.name == "approval" { // the runtime turns a PROPOSE down with REJECT_PROPOSAL
			turnedDown = "rejected"
		}
		wantEnd(t, err, turnedDown, p.CodeIncapable)
		nobody, err := k.start(t.Context(), w.eddy, "Nobody")
		if err != nil {
			t.Fatal(err)
		}
		_, err = nobody.wait()
		wantEnd(t, err, turnedDown, p.CodeUnknownAgent)
		w.settled(0)
	})
}

func TestExchangeIsCancelled(t *testing.T) {
	for name, h := range map[string]handle{"before agree": untilEnd, "after agree": agreedUntilEnd} {
		t.Run(name, func(t *testing.T) {
			forKinds(t, func(t *testing.T, w *world, k kind) {
				returned := false
				w.spawn("Shop", k.agent(func(ctx context.Context, agree func() error) error {
					err := h(ctx, agree)
					if !errors.Is(err, codons.ErrCanceled) {
						t.Errorf("the handler's context ended by %v", err)
					}
					time.Sleep(time.Second)
					returned = true
					return nil // the answer comes too late
				}))
				u := k.begin(t.Context(), t, w)
				synctest.Wait()
				start := time.Now()
				u.cancel()
				_, err := u.wait()
				wantEnd(t, err, "cancelled", p.CodeCanceled)
				wantElapsed(t, start, time.Second)
				if !returned {
					t.Error("the receipt came before the handler had returned")
				}
				w.settled(0)
			})
		})
	}
}

// TestExchangeHandlerDoesNotStop has the CANCEL find a handler that goes on.
func TestExchangeHandlerDoesNotStop(t *testing.T) {
	forKinds(t, func(t *testing.T, w *world, k kind) {
		end := make(chan struct{})
		w.spawn("Shop", k.agent(func(context.Context, func() error) error { <-end; return nil }))
		u := k.begin(t.Context(), t, w)
		synctest.Wait()
		u.cancel()
		_, err := u.wait()
		wantEnd(t, err, "failed", p.CodeStillRunning)
		w.settled(1)
		close(end)
		w.settled(0)
	})
}

// TestExchangeCompletesInSpiteOfCancel has the answer win the race.
func TestExchangeCompletesInSpiteOfCancel(t *testing.T) {
	forKinds(t, func(t *testing.T, w *world, k kind) {
		w.spawn("Shop", k.agent(atOnce))
		w.net.lose(k.answer, 1)
		u := k.begin(t.Context(), t, w)
		synctest.Wait()
		u.cancel()
		k.wantGood(t, u)
		w.settled(0)
	})
}

func TestExchangeSurvivesLosses(t *testing.T) {
	forKinds(t, func(t *testing.T, w *world, k kind) {
		calls := 0
		w.spawn("Shop", k.agent(func(ctx context.Context, agree func() error) error {
			calls++
			return agree()
		}))
		for _, act := range []p.Performative{k.opening, p.ActAgree, k.answer} {
			w.net.lose(act, 2)
			k.wantGood(t, k.begin(t.Context(), t, w, codons.WithRetry(codons.Retry{First: time.Second, Jitter: -1})))
		}
		if calls != 3 {
			t.Errorf("the handler ran %d times for 3 conversations", calls)
		}
		w.settled(0)
	})
}

// TestExchangeReceiptIsLost has CANCEL sent again until its answer arrives.
func TestExchangeReceiptIsLost(t *testing.T) {
	for _, act := range []p.Performative{p.ActCancel, p.ActInform} {
		forKinds(t, func(t *testing.T, w *world, k kind) {
			w.spawn("Shop", k.agent(untilEnd))
			w.net.lose(act, 1)
			u := k.begin(t.Context(), t, w)
			synctest.Wait()
			u.cancel()
			_, err := u.wait()
			wantEnd(t, err, "cancelled", p.CodeCanceled)
			w.settled(0)
		})
	}
}

func TestExchangeOverANetworkThatDuplicates(t *testing.T) {
	forKinds(t, func(t *testing.T, w *world, k kind) {
		calls := 0
		w.spawn("Shop", k.agent(func(_ context.Context, agree func() error) error {
			calls++
			return agree()
		}))
		w.net.intercept(func(m *p.Message) bool {
			for range 2 {
				if err := w.Deliver(m.Receiver(), m); err != nil {
					t.Error(err)
				}
			}
			return true
		})
		k.wantGood(t, k.begin(t.Context(), t, w))
		w.settled(0)
		if calls != 1 {
			t.Errorf("the handler ran %d times", calls)
		}
	})
}

func TestExchangeIsBounded(t *testing.T) {
	forKinds(t, func(t *testing.T, w *world, k kind) {
		var late []*ongoing
		agent, limit := k.agent(untilEnd), codons.DefaultMaxTasks
		if l, ok := agent.(codons.Limited); ok {
			limit = l.MaxTasks()
		}
		w.spawn("Shop", agent)
		ctx, cancel := context.WithCancel(t.Context())
		for range limit {
			late = append(late, k.begin(ctx, t, w))
		}
		synctest.Wait()
		_, err := k.begin(t.Context(), t, w).wait()
		wantEnd(t, err, "refused", p.CodeBusy)
		cancel()
		for _, u := range late {
			_, err := u.wait()
			wantEnd(t, err, "cancelled", p.CodeCanceled)
		}
		w.settled(0)
	})
}

func TestExchangeWhoseAnsweringAgentStops(t *testing.T) {
	for name, h := range map[string]handle{"before agree": untilEnd, "after agree": agreedUntilEnd} {
		t.Run(name, func(t *testing.T) {
			forKinds(t, func(t *testing.T, w *world, k kind) {
				w.spawn("Shop", k.agent(h))
				u := k.begin(t.Context(), t, w)
				synctest.Wait()
				if err := w.StopAgent(t.Context(), "Shop"); err != nil {
					t.Fatal(err)
				}
				_, err := u.wait()
				wantEnd(t, err, "failed", p.CodeStopped)
				w.settled(0)
			})
		})
	}
}

func TestExchangeWhoseAskerStops(t *testing.T) {
	forKinds(t, func(t *testing.T, w *world, k kind) {
		var cause error
		w.spawn("Shop", k.agent(func(ctx context.Context, _ func() error) error {
			cause = untilEnd(ctx, nil)
			return cause
		}))
		u := k.begin(t.Context(), t, w)
		synctest.Wait()
		if err := w.StopAgent(t.Context(), "Eddy"); err != nil {
			t.Fatal(err)
		}
		_, err := u.wait()
		wantEnd(t, err, "abandoned", p.CodeStopped)
		w.settled(0)
		if !errors.Is(cause, codons.ErrCanceled) {
			t.Errorf("the handler's context ended by %v", cause)
		}
	})
}

func TestExchangeDeadline(t *testing.T) {
	for name, h := range map[string]handle{"before agree": untilEnd, "after agree": agreedUntilEnd} {
		t.Run(name, func(t *testing.T) {
			forKinds(t, func(t *testing.T, w *world, k kind) {
				var cause error
				w.spawn("Shop", k.agent(func(ctx context.Context, agree func() error) error {
					cause = h(ctx, agree)
					return cause
				}))
				start := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				_, err := k.begin(ctx, t, w).wait()
				if k.early {
					wantEnd(t, err, "cancelled", p.CodeCanceled)
					wantElapsed(t, start, 59*time.Second)
					w.settled(0)
					return
				}
				if !errors.Is(err, p.CodeTimeout) { // from whichever side noticed first
					t.Errorf("got %v", err)
				}
				wantElapsed(t, start, time.Minute)
				w.settled(0)
				if !errors.Is(cause, codons.ErrDeadline) {
					t.Errorf("the handler's context ended by %v", cause)
				}
			})
		})
	}
}

// TestExchangeWithoutADeadline has a peer that names none: the agent's own applies.
func TestExchangeWithoutADeadline(t *testing.T) {
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			inWorldOf(t, codons.Delegation{Deadline: time.Minute}, func(t *testing.T, w *world) {
				w.spawn("Shop", k.agent(agreedUntilEnd))
				a := w.puppet("puppet")
				e := k.opener(t, w)
				e.ReplyBy, e.ReplyWith = time.Time{}, ""
				start := time.Now()
				a.say(e)
				for m := range a.got {
					if m.Performative() == p.ActAgree {
						continue
					}
					if r := m.AsRefusal(); r == nil || r.Code != p.CodeTimeout {
						t.Errorf("got %s %+v", m.Performative(), m.Payload())
					}
					break
				}
				wantElapsed(t, start, time.Minute)
				w.settled(0)
			})
		})
	}
}

// opener is the opening act of the codon, for a puppet to say.
func (k kind) opener(t *testing.T, w *world) p.Envelope {
	t.Helper()
	var opening *p.Message
	w.net.intercept(func(m *p.Message) bool {
		if m.Performative() != k.opening {
			return false
		}
		opening = m
		return true
	})
	u := k.begin(t.Context(), t, w, codons.WithGrace(0))
	synctest.Wait()
	w.net.intercept(nil)
	u.cancel()
	_, _ = u.wait()
	e := opening.Envelope()
	return p.Envelope{Receiver: "Shop", Performative: k.opening, Protocol: e.Protocol, Payload: e.Payload}
}

// TestExchangeThatWasWithdrawnFirst has CANCEL overtake what it withdraws.
func TestExchangeThatWasWithdrawnFirst(t *testing.T) {
	forKinds(t, func(t *testing.T, w *world, k kind) {
		calls := 0
		w.spawn("Shop", k.agent(func(context.Context, func() error) error { calls++; return nil }))
		var held *p.Message
		w.net.intercept(func(m *p.Message) bool {
			if m.Performative() == k.opening && held == nil {
				held = m
				return true
			}
			return false
		})
		u := k.begin(t.Context(), t, w, codons.WithRetry(codons.NoRetry()))
		synctest.Wait()
		u.cancel()
		_, err := u.wait()
		wantEnd(t, err, "cancelled", p.CodeCanceled)
		if err := w.Deliver("Shop", held); err != nil {
			t.Fatal(err)
		}
		w.settled(0)
		if calls != 0 {
			t.Error("what was withdrawn was done")
		}
	})
}

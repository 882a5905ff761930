package request_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/request"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// whenHandler answers request-when by functions. Without them it agrees, the condition holds at
// once, and the answer is a [kit.Bill].
type whenHandler struct {
	kit.Plain
	consider func(context.Context, request.RequestedWhen) error
	await    func(context.Context, request.RequestedWhen) error
	perform  func(context.Context, request.RequestedWhen) (any, error)
}

func (h *whenHandler) ConsiderWhen(ctx context.Context, r request.RequestedWhen) error {
	if h.consider == nil {
		return nil
	}
	return h.consider(ctx, r)
}

func (h *whenHandler) AwaitCondition(ctx context.Context, r request.RequestedWhen) error {
	if h.await == nil {
		return nil
	}
	return h.await(ctx, r)
}

func (h *whenHandler) PerformWhen(ctx context.Context, r request.RequestedWhen) (any, error) {
	if h.perform == nil {
		return kit.Bill{Price: 3}, nil
	}
	return h.perform(ctx, r)
}

// sowing is a request with a condition.
var sowing = request.When{Condition: p.ContentOf("it rains"), Action: p.ContentOf(kit.Order{Item: "seeds"})}

func TestWhenWaitsForTheCondition(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		rain := make(chan struct{})
		w.Add("Gardener", &whenHandler{
			await: func(_ context.Context, r request.RequestedWhen) error {
				if c, _ := p.Decode[string](r.Condition); c != "it rains" {
					t.Errorf("got the condition %q", c)
				}
				<-rain
				return nil
			},
			perform: func(_ context.Context, r request.RequestedWhen) (any, error) {
				o, err := p.Decode[kit.Order](r.Action)
				return kit.Bill{Price: len(o.Item)}, err
			},
		})
		agreed := false
		pending, err := request.StartWhen[kit.Bill](t.Context(), w.Eddy, "Gardener", sowing, codons.WithAgreed(func() { agreed = true }))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !agreed {
			t.Error("no AGREE before the condition is true")
		}
		close(rain)
		got, err := pending.Wait()
		if err != nil || got.Price != 5 {
			t.Errorf("got %+v, %v", got, err)
		}
		w.Settled(0)
	})
}

// TestWhenAlwaysAgrees has a condition that is true from the start, and contents with a member
// missing.
func TestWhenAlwaysAgrees(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Gardener", &whenHandler{})
		a := w.Peer("peer")
		a.Send(p.Envelope{Receiver: "Gardener", Performative: p.ActRequestWhen, Payload: p.Raw(`{"condition":true,"action":"dig"}`)})
		a.Expect(p.ActAgree)
		a.Expect(p.ActInform)
		for _, text := range []string{`{}`, `{"condition":true}`, `{"action":"dig"}`} {
			a.Send(p.Envelope{Receiver: "Gardener", Performative: p.ActRequestWhen, Payload: p.Raw(text)})
			if r := a.Expect(p.ActNotUnderstood).AsRefusal(); r.Code != p.CodeInvalidPayload {
				t.Errorf("%s: got %v", text, r)
			}
		}
		if _, err := request.AskWhen[kit.Bill](t.Context(), w.Eddy, "Gardener", request.When{Action: p.ContentOf("dig")}); !errors.Is(err, p.CodeInvalidPayload) {
			t.Errorf("without a condition: %v", err)
		}
	})
}

// TestWhenDoesNothingTooLate has the condition become true as the request ends.
func TestWhenDoesNothingTooLate(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Gardener", &whenHandler{
			await: func(ctx context.Context, _ request.RequestedWhen) error { <-ctx.Done(); return nil },
			perform: func(context.Context, request.RequestedWhen) (any, error) {
				t.Error("the action was done after the end of the request")
				return nil, nil //nolint:nilnil // no content
			},
		})
		pending, err := request.StartWhen[kit.Bill](t.Context(), w.Eddy, "Gardener", sowing)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		pending.Cancel()
		_, err = pending.Wait()
		kit.WantEnd(t, err, "cancelled", p.CodeCanceled)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = request.AskWhen[kit.Bill](ctx, w.Eddy, "Gardener", sowing)
		if !errors.Is(err, p.CodeTimeout) {
			t.Errorf("got %v", err)
		}
		w.Settled(0)
	})
}

// TestWhenFailsAfterAgree has each step after AGREE fail.
func TestWhenFailsAfterAgree(t *testing.T) {
	refusal := &p.Refusal{Code: p.CodeForbidden, Text: "not here"}
	for _, g := range []*whenHandler{
		{await: func(context.Context, request.RequestedWhen) error { return refusal }},
		{perform: func(context.Context, request.RequestedWhen) (any, error) { return nil, refusal }},
	} {
		kit.InWorld(t, func(t *testing.T, w *kit.World) {
			w.Add("Gardener", g)
			_, err := request.AskWhen[kit.Bill](t.Context(), w.Eddy, "Gardener", sowing)
			kit.WantEnd(t, err, "failed", p.CodeForbidden)
			w.Settled(0)
		})
	}
}

// TestWhenReleasesTheSlot cancels each request before the agent agrees to it. Without a release
// the agent would run out of slots.
func TestWhenReleasesTheSlot(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		g := &whenHandler{consider: func(ctx context.Context, _ request.RequestedWhen) error { <-ctx.Done(); return nil }}
		w.Add("Gardener", g)
		for range 2 * g.MaxTasks() {
			pending, err := request.StartWhen[kit.Bill](t.Context(), w.Eddy, "Gardener", sowing)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			pending.Cancel()
			_, err = pending.Wait()
			kit.WantEnd(t, err, "cancelled", p.CodeCanceled)
		}
		w.Settled(0)
	})
}

// TestWhenHasOneDeadline checks that the decision and the wait have the same deadline when the
// request names none.
func TestWhenHasOneDeadline(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		var first, second time.Time
		w.Add("Gardener", &whenHandler{
			consider: func(ctx context.Context, _ request.RequestedWhen) error {
				first, _ = ctx.Deadline()
				time.Sleep(time.Minute)
				return nil
			},
			await: func(ctx context.Context, _ request.RequestedWhen) error {
				second, _ = ctx.Deadline()
				return nil
			},
		})
		a := w.Peer("peer")
		a.Send(p.Envelope{Receiver: "Gardener", Performative: p.ActRequestWhen, Payload: p.Raw(`{"condition":true,"action":"dig"}`)})
		a.Expect(p.ActAgree)
		a.Expect(p.ActInform)
		if first.IsZero() || !first.Equal(second) {
			t.Errorf("the deadline is %v in the decision and %v in the wait", first, second)
		}
	})
}

package codons_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// sprinkler does things when the weather is right.
type sprinkler struct {
	plain
	consider func(context.Context, codons.RequestedWhen) error
	await    func(context.Context, codons.RequestedWhen) error
	perform  func(context.Context, codons.RequestedWhen) (any, error)
}

func (g *sprinkler) ConsiderWhen(ctx context.Context, r codons.RequestedWhen) error {
	if g.consider == nil {
		return nil
	}
	return g.consider(ctx, r)
}

func (g *sprinkler) AwaitCondition(ctx context.Context, r codons.RequestedWhen) error {
	if g.await == nil {
		return nil
	}
	return g.await(ctx, r)
}

func (g *sprinkler) PerformWhen(ctx context.Context, r codons.RequestedWhen) (any, error) {
	if g.perform == nil {
		return bill{3}, nil
	}
	return g.perform(ctx, r)
}

func sowing() codons.When {
	return codons.When{Condition: p.ContentOf("it rains"), Action: p.ContentOf(order{"seeds"})}
}

// kindRequestWhen decides while the shared tests' handler runs: before AGREE.
func kindRequestWhen() kind {
	return kind{
		name: "request-when", opening: p.ActRequestWhen, answer: p.ActInform, good: bill{3},
		agent: func(h handle) actors.Agent {
			return &sprinkler{consider: func(ctx context.Context, _ codons.RequestedWhen) error {
				return h(ctx, func() error { return nil })
			}}
		},
		start: func(ctx context.Context, party codons.Party, to p.AgentID, opts ...codons.Option) (*ongoing, error) {
			return started(codons.StartRequestWhen[bill](ctx, party, to, sowing(), opts...))
		},
	}
}

// kindAgreedWhen waits for the condition while it runs: after AGREE.
func kindAgreedWhen() kind {
	k := kindRequestWhen()
	k.name, k.agrees, k.agreed = "request-when agreed", true, true
	k.agent = func(h handle) actors.Agent {
		return &sprinkler{await: func(ctx context.Context, _ codons.RequestedWhen) error {
			return h(ctx, func() error { return nil })
		}}
	}
	return k
}

func TestRequestWhenWaitsForTheCondition(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		rain := make(chan struct{})
		w.spawn("Gardener", &sprinkler{
			await: func(_ context.Context, r codons.RequestedWhen) error {
				if c, _ := p.Decode[string](r.Condition); c != "it rains" {
					t.Errorf("waits for %q", c)
				}
				<-rain
				return nil
			},
			perform: func(_ context.Context, r codons.RequestedWhen) (any, error) {
				o, err := p.Decode[order](r.Action)
				return bill{len(o.Item)}, err
			},
		})
		agreed := false
		pending, err := codons.StartRequestWhen[bill](t.Context(), w.eddy, "Gardener", sowing(), codons.WithAgreed(func() { agreed = true }))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !agreed {
			t.Error("the sprinkler has not agreed while it waits")
		}
		close(rain)
		got, err := pending.Wait()
		if err != nil || got.Price != 5 {
			t.Errorf("got %+v, %v", got, err)
		}
		w.settled(0)
	})
}

// TestRequestWhenIsAlwaysAgreedTo has the condition be true at once, and AGREE said
// all the same.
func TestRequestWhenIsAlwaysAgreedTo(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Gardener", &sprinkler{})
		a := w.puppet("puppet")
		a.say(p.Envelope{Receiver: "Gardener", Performative: p.ActRequestWhen, Payload: p.Raw(`{"condition":true,"action":"dig"}`)})
		a.next(p.ActAgree)
		a.next(p.ActInform)
		for _, text := range []string{`{}`, `{"condition":true}`, `{"action":"dig"}`} {
			a.say(p.Envelope{Receiver: "Gardener", Performative: p.ActRequestWhen, Payload: p.Raw(text)})
			if r := a.next(p.ActNotUnderstood).AsRefusal(); r.Code != p.CodeInvalidPayload {
				t.Errorf("%s: got %v", text, r)
			}
		}
		if _, err := codons.RequestWhen[bill](t.Context(), w.eddy, "Gardener", codons.When{Action: p.ContentOf("dig")}); !isCode(err, p.CodeInvalidPayload) {
			t.Errorf("without a condition: %v", err)
		}
	})
}

// TestRequestWhenNothingIsDoneTooLate has the condition come true as the request ends.
func TestRequestWhenNothingIsDoneTooLate(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Gardener", &sprinkler{
			await: func(ctx context.Context, _ codons.RequestedWhen) error { <-ctx.Done(); return nil },
			perform: func(context.Context, codons.RequestedWhen) (any, error) {
				t.Error("it was done although nobody wanted it any more")
				return nil, nil //nolint:nilnil // no content
			},
		})
		pending, err := codons.StartRequestWhen[bill](t.Context(), w.eddy, "Gardener", sowing())
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		pending.Cancel()
		_, err = pending.Wait()
		wantEnd(t, err, "cancelled", p.CodeCanceled)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = codons.RequestWhen[bill](ctx, w.eddy, "Gardener", sowing())
		if !errors.Is(err, p.CodeTimeout) {
			t.Errorf("got %v", err)
		}
		w.settled(0)
	})
}

// TestRequestWhenFailsAfterAgree has each step after AGREE fail.
func TestRequestWhenFailsAfterAgree(t *testing.T) {
	refusal := &p.Refusal{Code: p.CodeForbidden, Text: "not here"}
	for _, g := range []*sprinkler{
		{await: func(context.Context, codons.RequestedWhen) error { return refusal }},
		{perform: func(context.Context, codons.RequestedWhen) (any, error) { return nil, refusal }},
	} {
		inWorld(t, func(t *testing.T, w *world) {
			w.spawn("Gardener", g)
			_, err := codons.RequestWhen[bill](t.Context(), w.eddy, "Gardener", sowing())
			wantEnd(t, err, "failed", p.CodeForbidden)
			w.settled(0)
		})
	}
}

// TestRequestWhenGivesItsPlaceBack has the agent agree to more than it has room for,
// each time when it is too late.
func TestRequestWhenGivesItsPlaceBack(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		g := &sprinkler{consider: func(ctx context.Context, _ codons.RequestedWhen) error { <-ctx.Done(); return nil }}
		w.spawn("Gardener", g)
		for range 2 * g.MaxTasks() {
			pending, err := codons.StartRequestWhen[bill](t.Context(), w.eddy, "Gardener", sowing())
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			pending.Cancel()
			_, err = pending.Wait()
			wantEnd(t, err, "cancelled", p.CodeCanceled)
		}
		w.settled(0)
	})
}

// TestRequestWhenHasOneDeadline for deciding and waiting, also where it is the agent's.
func TestRequestWhenHasOneDeadline(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var first, second time.Time
		w.spawn("Gardener", &sprinkler{
			consider: func(ctx context.Context, _ codons.RequestedWhen) error {
				first, _ = ctx.Deadline()
				time.Sleep(time.Minute)
				return nil
			},
			await: func(ctx context.Context, _ codons.RequestedWhen) error {
				second, _ = ctx.Deadline()
				return nil
			},
		})
		a := w.puppet("puppet")
		a.say(p.Envelope{Receiver: "Gardener", Performative: p.ActRequestWhen, Payload: p.Raw(`{"condition":true,"action":"dig"}`)})
		a.next(p.ActAgree)
		a.next(p.ActInform)
		if first.IsZero() || !first.Equal(second) {
			t.Errorf("until %v, and then until %v", first, second)
		}
	})
}

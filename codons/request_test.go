package codons_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// order and bill are what an agent of these tests is asked, and answers.
type (
	order struct {
		Item string `json:"item"`
	}
	bill struct {
		Price int `json:"price"`
	}
)

// shop answers requests by a function.
type shop struct {
	handle func(context.Context, codons.Requested) (any, error)
}

func (*shop) Describe() p.Capabilities { return p.Capabilities{} }

func (s *shop) HandleRequest(ctx context.Context, r codons.Requested) (any, error) {
	return s.handle(ctx, r)
}

func TestRequestIsAnswered(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Shop", &shop{func(_ context.Context, r codons.Requested) (any, error) {
			if o, err := p.PayloadAs[order](r.Message); err != nil || o.Item != "tea" {
				t.Errorf("asked for %+v, %v", o, err)
			}
			if err := r.Agree(); err != nil {
				t.Error(err)
			}
			return bill{3}, r.Agree() // once more says nothing
		}})
		got, err := codons.Request[bill](t.Context(), w.eddy, "Shop", order{"tea"})
		if err != nil || got.Price != 3 {
			t.Errorf("got %+v, %v", got, err)
		}
		golden(t, "request", w.monitor.lines())
		w.settled(0)
	})
}

func TestRequestIsTurnedDown(t *testing.T) {
	refusal := &p.Refusal{Code: p.CodeForbidden, Text: "members only"}
	nonsense := &p.Refusal{Code: p.CodeInvalidPayload, Text: "no item"}
	for name, c := range map[string]struct {
		handle func(context.Context, codons.Requested) (any, error)
		state  string
		code   p.Code
	}{
		"refused":        {func(context.Context, codons.Requested) (any, error) { return nil, refusal }, "refused", p.CodeForbidden},
		"not understood": {func(context.Context, codons.Requested) (any, error) { return nil, nonsense }, "not_understood", p.CodeInvalidPayload},
		"failed":         {func(context.Context, codons.Requested) (any, error) { return nil, errors.New("secret") }, "failed", p.CodeFailed},
		"panicked":       {func(context.Context, codons.Requested) (any, error) { panic("oh") }, "failed", p.CodeInternal},
		"no payload":     {func(context.Context, codons.Requested) (any, error) { return 3, nil }, "failed", p.CodeInternal},
		"refused after agree": {func(_ context.Context, r codons.Requested) (any, error) {
			return nil, errors.Join(r.Agree(), refusal)
		}, "failed", p.CodeForbidden},
		"not understood after agree": {func(_ context.Context, r codons.Requested) (any, error) {
			return nil, errors.Join(r.Agree(), nonsense)
		}, "failed", p.CodeInvalidPayload},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.spawn("Shop", &shop{c.handle})
				_, err := codons.Request[bill](t.Context(), w.eddy, "Shop", order{"tea"})
				wantEnd(t, err, machineState(c.state), c.code)
				w.settled(0)
			})
		})
	}
}

func TestRequestOfNobodyWhoAnswersIt(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Jules", &worker{})
		_, err := codons.Request[bill](t.Context(), w.eddy, "Jules", order{"tea"})
		wantEnd(t, err, "refused", p.CodeIncapable)
		if _, err := codons.Request[bill](t.Context(), w.eddy, "Jules", 3); !errors.Is(err, p.CodeInvalidPayload) {
			t.Errorf("a number for a content: %v", err)
		}
	})
}

func TestRequestIsCancelled(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		returned := false
		w.spawn("Shop", &shop{func(ctx context.Context, _ codons.Requested) (any, error) {
			<-ctx.Done()
			time.Sleep(time.Second)
			returned = true
			return nil, context.Cause(ctx)
		}})
		pending, err := codons.StartRequest[bill](t.Context(), w.eddy, "Shop", order{"tea"})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		start := time.Now()
		pending.Cancel()
		_, err = pending.Wait()
		wantEnd(t, err, "cancelled", p.CodeCanceled)
		wantElapsed(t, start, time.Second)
		if !returned {
			t.Error("the receipt came before the handler had returned")
		}
		w.settled(0)
	})
}

// TestRequestCompletesInSpiteOfCancel has the answer win the race.
func TestRequestCompletesInSpiteOfCancel(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		answered := make(chan struct{})
		w.spawn("Shop", &shop{func(context.Context, codons.Requested) (any, error) {
			<-answered
			return bill{3}, nil
		}})
		pending, err := codons.StartRequest[bill](t.Context(), w.eddy, "Shop", order{"tea"})
		if err != nil {
			t.Fatal(err)
		}
		w.net.lose(p.ActInform, 1)
		close(answered)
		synctest.Wait()
		pending.Cancel()
		got, err := pending.Wait()
		if err != nil || got.Price != 3 {
			t.Errorf("got %+v, %v", got, err)
		}
		w.settled(0)
	})
}

func TestRequestSurvivesLosses(t *testing.T) {
	for _, act := range []p.Performative{p.ActRequest, p.ActAgree, p.ActInform} {
		inWorld(t, func(t *testing.T, w *world) {
			calls := 0
			w.spawn("Shop", &shop{func(_ context.Context, r codons.Requested) (any, error) {
				calls++
				return bill{3}, r.Agree()
			}})
			w.net.lose(act, 2)
			got, err := codons.Request[bill](t.Context(), w.eddy, "Shop", order{"tea"}, codons.WithRetry(codons.Retry{First: time.Second}))
			if err != nil || got.Price != 3 || calls != 1 {
				t.Errorf("%s: got %+v, %v after %d calls", act, got, err, calls)
			}
		})
	}
}

func TestRequestsBeyondTheLimitAreBusy(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Shop", &closed{shop{func(ctx context.Context, _ codons.Requested) (any, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}}})
		ctx, cancel := context.WithCancel(t.Context())
		first, err := codons.StartRequest[bill](ctx, w.eddy, "Shop", order{"tea"})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		_, err = codons.Request[bill](t.Context(), w.eddy, "Shop", order{"tea"})
		wantEnd(t, err, "refused", p.CodeBusy)
		cancel()
		_, err = first.Wait()
		wantEnd(t, err, "cancelled", p.CodeCanceled)
		w.settled(0)
	})
}

// closed is a shop with room for one customer.
type closed struct{ shop }

func (*closed) MaxTasks() int { return 1 }

// TestAgreesOften says once what the handler says all the time.
func TestAgreesOften(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Shop", &shop{func(_ context.Context, r codons.Requested) (any, error) {
			for range 100 {
				if err := r.Agree(); err != nil {
					return nil, err
				}
			}
			return bill{1}, nil
		}})
		agreed := 0
		_, err := codons.Request[bill](t.Context(), w.eddy, "Shop", order{"tea"}, codons.WithAgreed(func() { agreed++ }))
		if err != nil || agreed != 1 {
			t.Errorf("agreed %d times, %v", agreed, err)
		}
		w.settled(0)
	})
}

// TestRequestIsRepeatedBeforeItsDeadline although the patience with a peer that has
// agreed is longer than what is left.
func TestRequestIsRepeatedBeforeItsDeadline(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Shop", &shop{func(_ context.Context, r codons.Requested) (any, error) { return bill{3}, r.Agree() }})
		w.net.lose(p.ActInform, 1)
		ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
		defer cancel()
		if got, err := codons.Request[bill](ctx, w.eddy, "Shop", order{"tea"}); err != nil || got.Price != 3 {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

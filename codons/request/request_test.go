package request_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/request"
	"github.com/ribosome-agents/ribosome/internal/systemtest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

func TestRequestIsAnswered(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Shop", &kit.RequestHandler{Handle: func(_ context.Context, r request.Requested) (any, error) {
			if o, err := p.PayloadAs[kit.Order](r.Message); err != nil || o.Item != "tea" {
				t.Errorf("got the request %+v, %v", o, err)
			}
			if err := r.Agree(); err != nil {
				t.Error(err)
			}
			return kit.Bill{Price: 3}, r.Agree() // a second AGREE is not sent
		}})
		got, err := request.Request[kit.Bill](t.Context(), w.Eddy, "Shop", kit.Order{Item: "tea"})
		if err != nil || got.Price != 3 {
			t.Errorf("got %+v, %v", got, err)
		}
		kit.Golden(t, "request", w.Lines())
		w.Settled(0)
	})
}

func TestRequestIsTurnedDown(t *testing.T) {
	refusal := &p.Refusal{Code: p.CodeForbidden, Text: "members only"}
	nonsense := &p.Refusal{Code: p.CodeInvalidPayload, Text: "no item"}
	for name, c := range map[string]struct {
		handle func(context.Context, request.Requested) (any, error)
		state  string
		code   p.Code
	}{
		"refused":        {func(context.Context, request.Requested) (any, error) { return nil, refusal }, "refused", p.CodeForbidden},
		"not understood": {func(context.Context, request.Requested) (any, error) { return nil, nonsense }, "not_understood", p.CodeInvalidPayload},
		"failed":         {func(context.Context, request.Requested) (any, error) { return nil, errors.New("secret") }, "failed", p.CodeFailed},
		"panicked":       {func(context.Context, request.Requested) (any, error) { panic("oh") }, "failed", p.CodeInternal},
		"invalid answer": {func(context.Context, request.Requested) (any, error) { return 3, nil }, "failed", p.CodeInternal},
		"refused after agree": {func(_ context.Context, r request.Requested) (any, error) {
			return nil, errors.Join(r.Agree(), refusal)
		}, "failed", p.CodeForbidden},
		"not understood after agree": {func(_ context.Context, r request.Requested) (any, error) {
			return nil, errors.Join(r.Agree(), nonsense)
		}, "failed", p.CodeInvalidPayload},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				w.Allow(systemtest.ErrorLogged)
				w.Add("Shop", &kit.RequestHandler{Handle: c.handle})
				_, err := request.Request[kit.Bill](t.Context(), w.Eddy, "Shop", kit.Order{Item: "tea"})
				kit.WantEnd(t, err, machine.State(c.state), c.code)
				w.Settled(0)
			})
		})
	}
}

func TestRequestToAnAgentWithoutTheRole(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{})
		_, err := request.Request[kit.Bill](t.Context(), w.Eddy, "Jules", kit.Order{Item: "tea"})
		kit.WantEnd(t, err, "refused", p.CodeIncapable)
		if _, err := request.Request[kit.Bill](t.Context(), w.Eddy, "Jules", 3); !errors.Is(err, p.CodeInvalidPayload) {
			t.Errorf("a number as the content: %v", err)
		}
	})
}

func TestRequestIsCancelled(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		returned := false
		w.Add("Shop", &kit.RequestHandler{Handle: func(ctx context.Context, _ request.Requested) (any, error) {
			<-ctx.Done()
			time.Sleep(time.Second)
			returned = true
			return nil, context.Cause(ctx)
		}})
		pending, err := request.Start[kit.Bill](t.Context(), w.Eddy, "Shop", kit.Order{Item: "tea"})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		start := time.Now()
		pending.Cancel()
		_, err = pending.Wait()
		kit.WantEnd(t, err, "cancelled", p.CodeCanceled)
		kit.WantElapsed(t, start, time.Second)
		if !returned {
			t.Error("the receipt came before the handler had returned")
		}
		w.Settled(0)
	})
}

// TestRequestIsAnsweredDespiteCancel loses the answer: the responder sends it again as the
// reply to CANCEL.
func TestRequestIsAnsweredDespiteCancel(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		answered := make(chan struct{})
		w.Add("Shop", &kit.RequestHandler{Handle: func(context.Context, request.Requested) (any, error) {
			<-answered
			return kit.Bill{Price: 3}, nil
		}})
		pending, err := request.Start[kit.Bill](t.Context(), w.Eddy, "Shop", kit.Order{Item: "tea"})
		if err != nil {
			t.Fatal(err)
		}
		w.Net.Lose(p.ActInform, 1)
		close(answered)
		synctest.Wait()
		pending.Cancel()
		got, err := pending.Wait()
		if err != nil || got.Price != 3 {
			t.Errorf("got %+v, %v", got, err)
		}
		w.Settled(0)
	})
}

func TestRequestSurvivesLostMessages(t *testing.T) {
	for act, times := range map[p.Performative]int{p.ActRequest: 2, p.ActAgree: 1, p.ActInform: 2} {
		kit.InWorld(t, func(t *testing.T, w *kit.World) {
			calls := 0
			w.Add("Shop", &kit.RequestHandler{Handle: func(_ context.Context, r request.Requested) (any, error) {
				calls++
				return kit.Bill{Price: 3}, r.Agree()
			}})
			w.Net.Lose(act, times)
			got, err := request.Request[kit.Bill](t.Context(), w.Eddy, "Shop", kit.Order{Item: "tea"}, codons.WithRetry(codons.Retry{First: time.Second}))
			if err != nil || got.Price != 3 || calls != 1 {
				t.Errorf("%s: got %+v, %v after %d calls", act, got, err, calls)
			}
		})
	}
}

func TestRequestsBeyondTheLimitAreRefused(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Shop", &limitedShop{kit.RequestHandler{Handle: func(ctx context.Context, _ request.Requested) (any, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}}})
		ctx, cancel := context.WithCancel(t.Context())
		first, err := request.Start[kit.Bill](ctx, w.Eddy, "Shop", kit.Order{Item: "tea"})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		_, err = request.Request[kit.Bill](t.Context(), w.Eddy, "Shop", kit.Order{Item: "tea"})
		kit.WantEnd(t, err, "refused", p.CodeBusy)
		cancel()
		_, err = first.Wait()
		kit.WantEnd(t, err, "cancelled", p.CodeCanceled)
		w.Settled(0)
	})
}

// limitedShop handles one request at a time.
type limitedShop struct{ kit.RequestHandler }

func (*limitedShop) MaxTasks() int { return 1 }

// TestAgreeIsSentOnce has a handler agree a hundred times.
func TestAgreeIsSentOnce(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Shop", &kit.RequestHandler{Handle: func(_ context.Context, r request.Requested) (any, error) {
			for range 100 {
				if err := r.Agree(); err != nil {
					return nil, err
				}
			}
			return kit.Bill{Price: 1}, nil
		}})
		agreed := 0
		_, err := request.Request[kit.Bill](t.Context(), w.Eddy, "Shop", kit.Order{Item: "tea"}, codons.WithAgreed(func() { agreed++ }))
		if err != nil || agreed != 1 {
			t.Errorf("agreed %d times, %v", agreed, err)
		}
		w.Settled(0)
	})
}

// TestRequestIsRepeatedBeforeItsDeadline has less time left after the agreement than the
// ordinary retry takes.
func TestRequestIsRepeatedBeforeItsDeadline(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Shop", &kit.RequestHandler{Handle: func(_ context.Context, r request.Requested) (any, error) { return kit.Bill{Price: 3}, r.Agree() }})
		w.Net.Lose(p.ActInform, 1)
		ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
		defer cancel()
		if got, err := request.Request[kit.Bill](ctx, w.Eddy, "Shop", kit.Order{Item: "tea"}); err != nil || got.Price != 3 {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

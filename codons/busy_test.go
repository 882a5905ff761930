package codons_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/request"
	"github.com/ribosome-agents/ribosome/codons/standard"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// hint is when the agents of these tests say to come again.
const hint = 2 * time.Second

var (
	patient = codons.WithRetry(codons.Retry{First: -1, Busy: true})
	tooBusy = &p.Refusal{Code: p.CodeBusy, RetryAfter: hint}
)

// considered returns a worker that is busy for its first tasks, and notes the times of all.
func considered(busy int, times *[]time.Time) *kit.Worker {
	return &kit.Worker{Consider: func(context.Context, delegation.Task) delegation.Decision {
		if *times = append(*times, time.Now()); len(*times) > busy {
			return delegation.Accept()
		}
		return delegation.Decision{Name: standard.CommandReject, Data: p.TaskReject{ReasonCode: p.CodeBusy, RetryAfter: hint}}
	}}
}

// wantWaits checks that each time is the hint and at most half of it more after the one before.
func wantWaits(t *testing.T, times []time.Time, n int) (waits []time.Duration) {
	t.Helper()
	for i := 1; i < len(times); i++ {
		wait := times[i].Sub(times[i-1])
		if waits = append(waits, wait); wait < hint || wait > hint+hint/2 {
			t.Errorf("try %d came %v after the one before", i+1, wait)
		}
	}
	if len(times) != n {
		t.Errorf("%d tries, want %d", len(times), n)
	}
	return waits
}

// TestBusyPeerIsAskedAgain has a worker refuse tasks as busy. The caller comes again when the
// worker has said, with some jitter.
func TestBusyPeerIsAskedAgain(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		var times []time.Time
		w.Add("Jules", considered(3, &times))
		if _, err := w.Delegate(t.Context(), patient); err != nil {
			t.Error(err)
		}
		if waits := wantWaits(t, times, 4); waits[0] == waits[1] && waits[1] == waits[2] {
			t.Errorf("the waits have no jitter: %v", waits)
		}
		w.Settled(0)
	})
}

// TestBusyPeerIsAskedOnce returns the refusal with the hint where no other conversation may begin.
func TestBusyPeerIsAskedOnce(t *testing.T) {
	for name, c := range map[string]struct {
		opt   codons.Option
		time  time.Duration
		after func(context.CancelFunc) // the first refusal
		took  time.Duration
	}{
		"by default":                    {codons.WithRetry(codons.Retry{}), time.Minute, nil, 0},
		"where the wait does not fit":   {patient, hint, nil, 0},
		"when the caller leaves":        {patient, time.Minute, func(leave context.CancelFunc) { time.AfterFunc(time.Second, leave) }, time.Second},
		"after other retries than Busy": {codons.WithRetry(codons.Retry{First: time.Millisecond}), time.Minute, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				ctx, cancel := context.WithTimeout(t.Context(), c.time)
				defer cancel()
				var times []time.Time
				worker := considered(1, &times)
				consider := worker.Consider
				worker.Consider = func(ctx context.Context, task delegation.Task) delegation.Decision {
					if c.after != nil {
						c.after(cancel)
					}
					return consider(ctx, task)
				}
				w.Add("Jules", worker)
				start := time.Now()
				_, err := w.Delegate(ctx, c.opt)
				kit.WantEnd(t, err, "rejected", p.CodeBusy)
				kit.WantElapsed(t, start, c.took)
				var end *codons.EndError
				if !errors.As(err, &end) || end.Refusal.RetryAfter != hint || p.RefusalOf(err).RetryAfter != hint {
					t.Errorf("the error has the hint %+v", p.RefusalOf(err))
				}
				wantWaits(t, times, 1)
				w.Settled(0)
			})
		})
	}
}

// TestBusyOnTheWay has the runtime refuse the opening act, and the handler of a request that has
// agreed.
func TestBusyOnTheWay(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		var times []time.Time
		w.Add("Shop", &kit.RequestHandler{Handle: func(_ context.Context, r request.Requested) (any, error) {
			if times = append(times, time.Now()); len(times) < 4 {
				return nil, errors.Join(r.Agree(), tooBusy)
			}
			return kit.Bill{Price: 3}, nil
		}})
		w.Net.Intercept(func(m *p.Message) bool {
			if m.Performative() != p.ActRequest || len(times) >= 2 {
				return false
			}
			times = append(times, time.Now())
			w.Work(func() { w.RefuseCopy(m.Receiver(), m, tooBusy) })
			return true
		})
		got, err := request.Request[kit.Bill](t.Context(), w.Eddy, "Shop", kit.Order{Item: "tea"}, patient)
		if err != nil || got.Price != 3 {
			t.Errorf("got %+v, %v", got, err)
		}
		wantWaits(t, times, 4)
		w.Settled(0)
	})
}

// TestBusyCopyPutsOffTheRetry has the runtime refuse a copy of a request that the worker considers.
// The next copy is not sent before the hint.
func TestBusyCopyPutsOffTheRetry(t *testing.T) {
	for name, c := range map[string]struct {
		hint        time.Duration
		least, most time.Duration // from the refused copy to the next one; zero where there is none
	}{
		"without a hint":    {0, 600 * time.Millisecond, 600 * time.Millisecond},
		"with a hint":       {hint, hint, hint + hint/2},
		"past the deadline": {time.Hour, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				w.Add("Jules", &kit.Worker{Consider: func(ctx context.Context, _ delegation.Task) delegation.Decision {
					<-ctx.Done()
					time.Sleep(time.Second) // at the deadline itself, its answer might still be in time
					return delegation.Accept()
				}})
				var times []time.Time
				w.Net.Intercept(func(m *p.Message) bool {
					if m.Performative() != p.ActTaskRequest {
						return false
					}
					if times = append(times, time.Now()); len(times) != 2 {
						return false
					}
					w.Work(func() { w.RefuseCopy(m.Receiver(), m, &p.Refusal{Code: p.CodeBusy, RetryAfter: c.hint}) })
					return true
				})
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				_, err := w.Delegate(ctx, codons.WithRetry(codons.Retry{First: 300 * time.Millisecond, Jitter: -1}))
				if !errors.Is(err, p.CodeTimeout) && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v", err)
				}
				next := time.Duration(0)
				if len(times) > 2 {
					next = times[2].Sub(times[1])
				}
				if next < c.least || next > c.most {
					t.Errorf("the next copy came after %v, want %v to %v", next, c.least, c.most)
				}
			})
		})
	}
}

// TestWaitAfter compares the waits after errors with those without.
func TestWaitAfter(t *testing.T) {
	r := codons.Retry{First: time.Second, Jitter: -1}
	for _, err := range []error{nil, errors.New("oh"), &p.Refusal{Code: p.CodeBusy}, &p.Refusal{Code: p.CodeRejected, RetryAfter: time.Hour}, &p.Refusal{Code: p.CodeBusy, RetryAfter: -1}} {
		if got := r.WaitAfter(err, "m", 1); got != time.Second {
			t.Errorf("after %v: %v", err, got)
		}
	}
	var waits []time.Duration
	for n := 1; n <= 3; n++ {
		wait := r.WaitAfter(tooBusy, "m", n)
		if wait < max(hint, r.Wait("m", n)) || wait > max(hint+hint/2, r.Wait("m", n)) || wait != r.WaitAfter(tooBusy, "m", n) {
			t.Errorf("retry %d after %v", n, wait)
		}
		waits = append(waits, wait)
	}
	if slices.Max(waits) == slices.Min(waits) {
		t.Errorf("no jitter: %v", waits)
	}
	if got := codons.NoRetry().WaitAfter(tooBusy, "m", 1); got != codons.Never {
		t.Errorf("without retries: %v", got)
	}
}

// congested is the destination of an agent that takes nothing soon.
type congested struct{ taken int }

func (*congested) Load() *actors.Load  { return nil }
func (*congested) Wait() time.Duration { return time.Hour }

func (c *congested) Deliver(*p.Message) error {
	c.taken++
	return p.Refused(p.CodeUnknownAgent, "")
}

// TestWorkIsNotForeseen asks an agent that is behind with its messages. A caller is refused before
// anything is sent. A handler, whose work was taken on, asks it all the same.
func TestWorkIsNotForeseen(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		far := new(congested)
		r, err := w.Register("Far", far)
		if err != nil {
			t.Fatal(err)
		}
		_, err = delegation.Delegate(t.Context(), w.Eddy, "Far", kit.Task())
		if !errors.Is(err, p.CodeBusy) || far.taken != 0 {
			t.Errorf("a caller sends %d messages: %v", far.taken, err)
		}
		w.Add("Jules", &kit.Worker{Perform: func(ctx context.Context, task delegation.Task) (p.InformResult, error) {
			_, err = delegation.Delegate(ctx, task.Agent, "Far", task.TaskRequest)
			return kit.Result(p.StatusSuccess), nil
		}})
		if _, err := w.Delegate(t.Context()); err != nil {
			t.Error(err)
		}
		if errors.Is(err, p.CodeBusy) || far.taken == 0 {
			t.Errorf("a handler sends %d messages: %v", far.taken, err)
		}
		r.Remove()
	})
}

package codons_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	p "github.com/ribosome-agents/ribosome/performatives"
)

func TestLostRequestIsSentAgain(t *testing.T) {
	for _, act := range []p.Performative{p.ActTaskRequest, p.ActTaskReject} {
		kit.InWorld(t, func(t *testing.T, w *kit.World) {
			asked := 0
			w.Add("Jules", &kit.Worker{Consider: func(context.Context, delegation.Task) delegation.Decision {
				asked++
				return delegation.Reject(p.CodeIncapable, "")
			}})
			w.Net.Lose(act, 3)
			start := time.Now()
			_, err := w.Delegate(t.Context(), codons.WithRetry(codons.Retry{First: time.Second, Jitter: -1}))
			kit.WantEnd(t, err, "rejected", p.CodeIncapable)
			kit.WantElapsed(t, start, 7*time.Second) // 1 + 2 + 4
			if asked != 1 {
				t.Errorf("the task was considered %d times", asked)
			}
			w.Settled(0)
		})
	}
}

// TestAnswerPutsOffTheRetry has a worker accept, or report, just before the request is due again:
// an answer starts the time to the next retry anew, and that time is longer.
func TestAnswerPutsOffTheRetry(t *testing.T) {
	for _, lost := range []p.Performative{p.ActStatusUpdate, p.ActTaskAccept} { // the other one is the answer
		t.Run(lost.String()+" is lost", func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				w.Add("Jules", &kit.Worker{Consider: func(context.Context, delegation.Task) delegation.Decision {
					time.Sleep(900 * time.Millisecond)
					return delegation.Accept()
				}, Perform: func(ctx context.Context, task delegation.Task) (p.InformResult, error) {
					if err := task.Progress(1, "begun"); err != nil {
						return p.InformResult{}, err
					}
					return kit.UntilDone[p.InformResult](ctx, task)
				}})
				start := time.Now()
				var asked []time.Duration
				w.Net.Intercept(func(m *p.Message) bool {
					if m.Performative() == p.ActTaskRequest {
						asked = append(asked, time.Since(start))
					}
					return m.Performative() == lost
				})
				d := w.Start(t.Context(), codons.WithRetry(codons.Retry{First: time.Second, Jitter: -1}))
				time.Sleep(10 * time.Second)
				d.Cancel()
				<-d.Done()
				if want := []time.Duration{0, 6900 * time.Millisecond}; !slices.Equal(asked, want) {
					t.Errorf("it was asked after %v, want %v", asked, want)
				}
			})
		})
	}
}

func TestNoRetry(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{})
		w.Net.Lose(p.ActTaskRequest, 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, err := w.Delegate(ctx, codons.WithRetry(codons.NoRetry()))
		kit.WantEnd(t, err, "timed_out", p.CodeTimeout)
		if n := len(w.Lines()); n != 1 {
			t.Errorf("said %q", w.Lines())
		}
	})
}

// TestRetryToFullMailbox has a slow agent whose mailbox is full.
func TestRetryToFullMailbox(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{})
		full := atomic.Bool{}
		w.Net.Intercept(func(*p.Message) bool { return full.Load() })
		full.Store(true)
		d := w.Start(t.Context(), codons.WithRetry(codons.Retry{First: time.Second, Jitter: -1}))
		synctest.Wait()
		full.Store(false)
		room := w.FillMailboxes()
		time.Sleep(1500 * time.Millisecond)
		room()
		if _, err := d.Wait(); err != nil {
			t.Errorf("a busy mailbox ended the task: %v", err)
		}
	})
}

// TestRetryBeforeTheDeadline checks that a message is sent again before the deadline, although the
// wait would be longer.
func TestRetryBeforeTheDeadline(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{})
		start := time.Now()
		var asked []time.Duration
		w.Net.Intercept(func(m *p.Message) bool {
			if m.Performative() == p.ActTaskRequest {
				asked = append(asked, time.Since(start))
			}
			return true
		})
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_, err := w.Delegate(ctx, codons.WithRetry(codons.Retry{First: time.Second, Jitter: -1}))
		kit.WantEnd(t, err, "timed_out", p.CodeTimeout)
		if want := []time.Duration{0, 1, 3, 7}; len(asked) <= len(want) || asked[len(asked)-1] < 18*time.Second {
			t.Errorf("it was asked after %v, want further retries until the deadline after 20s", asked)
		}
	})
}

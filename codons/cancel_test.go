package codons_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/discovery"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	p "github.com/ribosome-agents/ribosome/performatives"
)

func TestCancelDuringWork(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		returned := atomic.Bool{}
		w.Add("Jules", &kit.Worker{Max: 1, Perform: func(ctx context.Context, _ delegation.Task) (p.InformResult, error) {
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), codons.ErrCanceled) {
				t.Errorf("the handler's cause is %v", context.Cause(ctx))
			}
			time.Sleep(time.Second) // it tidies up
			returned.Store(true)
			return kit.Result(p.StatusSuccess), nil
		}})
		ctx, cancel := context.WithCancelCause(t.Context())
		home := errors.New("the user went home")
		time.AfterFunc(time.Second, func() { cancel(home) })
		start := time.Now()
		_, err := w.Delegate(ctx)
		kit.WantElapsed(t, start, 2*time.Second)
		kit.WantEnd(t, err, "cancelled", p.CodeCanceled)
		if !errors.Is(err, context.Canceled) || !errors.Is(err, home) {
			t.Errorf("%v has not the cause", err)
		}
		if !returned.Load() {
			t.Error("the receipt came before the handler had returned")
		}
		d := w.Start(t.Context())
		synctest.Wait()
		d.Cancel()
		_, err = d.Wait()
		kit.WantEnd(t, err, "cancelled", p.CodeCanceled) // the place was given back
	})
}

func TestCancelTwice(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{Perform: kit.UntilDone[p.InformResult, delegation.Task]})
		d := w.Start(t.Context())
		synctest.Wait()
		d.Cancel()
		d.Cancel()
		_, err := d.Wait()
		kit.WantEnd(t, err, "cancelled", p.CodeCanceled)
		d.Cancel()
		synctest.Wait()
		if n := w.Count("Eddy -> Jules: CANCEL"); n != 1 {
			t.Errorf("%d CANCELs", n)
		}
	})
}

func TestCancelBeforeStart(t *testing.T) {
	for name, ctx := range map[string]func(context.Context) (context.Context, context.CancelFunc){
		"cancelled": func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return ctx, cancel
		},
		"expired": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithDeadline(ctx, time.Now().Add(-time.Second))
		},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				w.Add("Jules", &kit.Worker{})
				ctx, cancel := ctx(t.Context())
				defer cancel()
				_, err := w.Delegate(ctx)
				if !errors.Is(err, ctx.Err()) || kit.EndOf(t, err).State != "abandoned" {
					t.Errorf("got %v", err)
				}
				if _, err := discovery.Whisper(ctx, w.Eddy, "Jules", kit.Summary); !errors.Is(err, ctx.Err()) {
					t.Errorf("whisper: %v", err)
				}
				w.Settled(0)
				if said := w.Lines(); len(said) != 0 {
					t.Errorf("said %q", said)
				}
			})
		})
	}
}

// TestCancelAtOnce cancels before, while and after the conversation of the initiator starts.
func TestCancelAtOnce(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{Perform: kit.UntilDone[p.InformResult, delegation.Task], Max: 1})
		for range 200 {
			ctx, cancel := context.WithCancel(t.Context())
			d := w.Start(ctx)
			cancel()
			if _, err := d.Wait(); !errors.Is(err, context.Canceled) || !errors.Is(err, p.CodeCanceled) {
				t.Fatalf("got %v", err)
			}
			w.Settled(0)
		}
	})
}

func TestCancelWhileConsidering(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		block, entered := make(chan struct{}), make(chan struct{}, 8)
		first := true
		w.Add("Jules", &kit.Worker{Max: 1, Consider: func(context.Context, delegation.Task) delegation.Decision {
			if first {
				first = false
				entered <- struct{}{}
				<-block
			}
			return delegation.Accept()
		}})
		d := w.Start(t.Context())
		<-entered
		d.Cancel()
		synctest.Wait()
		close(block)
		if _, err := d.Wait(); err != nil {
			kit.WantEnd(t, err, "cancelled", p.CodeCanceled)
		}
		w.Settled(0)
		if _, err := w.Delegate(t.Context()); err != nil {
			t.Errorf("the place was not given back: %v", err)
		}
	})
}

// TestCancelOvertakesItsRequest queues both behind a backlog.
func TestCancelOvertakesItsRequest(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		block, entered := make(chan struct{}), make(chan struct{})
		considered := 0
		w.Add("Jules", &kit.Worker{Max: 1, Consider: func(context.Context, delegation.Task) delegation.Decision {
			if considered++; considered == 1 {
				close(entered)
				<-block
				return delegation.Reject(p.CodeIncapable, "")
			}
			return delegation.Accept()
		}})
		backlog := w.Start(t.Context())
		<-entered
		d := w.Start(t.Context())
		synctest.Wait()
		d.Cancel()
		synctest.Wait()
		close(block)
		_, err := d.Wait()
		kit.WantEnd(t, err, "cancelled", p.CodeCanceled)
		_, _ = backlog.Wait()
		w.Settled(0)
		if n := w.Count("Jules -> Eddy: INFORM (again)"); n != 1 || considered != 1 {
			t.Errorf("%d receipts for the late request, %d tasks considered: %q", n, considered, w.Lines())
		}
		if _, err := w.Delegate(t.Context()); err != nil {
			t.Errorf("a place is missing: %v", err)
		}
	})
}

// TestCancelOvertakesInTheConversation has CANCEL overtake in the mailbox of a conversation that is
// already accepted.
func TestCancelOvertakesInTheConversation(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{Max: 1, Perform: kit.UntilDone[p.InformResult, delegation.Task]})
		for range 300 {
			d := w.Start(t.Context())
			d.Cancel()
			if _, err := d.Wait(); !errors.Is(err, p.CodeCanceled) {
				t.Fatalf("got %v", err)
			}
		}
		w.Settled(0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := w.Delegate(ctx); errors.Is(err, p.CodeBusy) {
			t.Error("a place is missing")
		}
	})
}

func TestCancelRacesCompletion(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{Perform: func(ctx context.Context, _ delegation.Task) (p.InformResult, error) {
			time.Sleep(time.Second)
			return kit.Result(p.StatusSuccess), nil
		}})
		ends := map[bool]int{}
		for range 100 {
			d := w.Start(t.Context())
			time.AfterFunc(time.Second, d.Cancel)
			got, err := d.Wait()
			if err == nil && got.Status != p.StatusSuccess {
				t.Fatalf("got %+v", got)
			}
			if err != nil {
				kit.WantEnd(t, err, "cancelled", p.CodeCanceled)
			}
			ends[err == nil]++
		}
		t.Log(ends)
		w.Settled(0)
	})
}

func TestHandlerIgnoresCancel(t *testing.T) {
	kit.InWorldWith(t, codons.Times{Grace: time.Second}, actors.Options{}, func(t *testing.T, w *kit.World) {
		release := make(chan struct{})
		w.Add("Jules", &kit.Worker{Max: 1, Perform: func(context.Context, delegation.Task) (p.InformResult, error) {
			<-release
			return kit.Result(p.StatusSuccess), nil
		}})
		abandoned := kit.Recording(&w.Events, events.KindJobAbandoned)
		d := w.Start(t.Context())
		synctest.Wait()
		start := time.Now()
		d.Cancel()
		_, err := d.Wait()
		kit.WantEnd(t, err, "failed", p.CodeStillRunning)
		kit.WantElapsed(t, start, time.Second)
		w.Settled(1)
		if len(abandoned.C) != 1 {
			t.Errorf("%d abandoned", len(abandoned.C))
		}
		if _, err := w.Delegate(t.Context()); !errors.Is(err, p.CodeBusy) {
			t.Errorf("got %v", err)
		}
		close(release)
		w.Settled(0)
	})
}

// TestDefaultGraces checks that the FAILURE of a stuck handler arrives before the initiator gives
// up.
func TestDefaultGraces(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		release := make(chan struct{})
		defer close(release)
		w.Add("Jules", &kit.Worker{Perform: func(context.Context, delegation.Task) (p.InformResult, error) {
			<-release
			return kit.Result(p.StatusSuccess), nil
		}})
		d := w.Start(t.Context())
		synctest.Wait()
		d.Cancel()
		_, err := d.Wait()
		kit.WantEnd(t, err, "failed", p.CodeStillRunning)
	})
}

func TestInitiatorGrace(t *testing.T) {
	for _, grace := range []time.Duration{-time.Second, 0, 3 * time.Second} {
		kit.InWorld(t, func(t *testing.T, w *kit.World) {
			w.Add("Jules", &kit.Worker{Perform: func(ctx context.Context, _ delegation.Task) (p.InformResult, error) {
				<-ctx.Done()
				time.Sleep(4 * time.Second)
				return p.InformResult{}, ctx.Err()
			}})
			d := w.Start(t.Context(), codons.WithGrace(grace))
			synctest.Wait()
			start := time.Now()
			d.Cancel()
			_, err := d.Wait()
			kit.WantElapsed(t, start, max(grace, 0))
			kit.WantEnd(t, err, "timed_out", p.CodeTimeout)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%v is not Canceled", err)
			}
		})
	}
}

func TestLostCancelIsSentAgain(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{Perform: kit.UntilDone[p.InformResult, delegation.Task]})
		w.Net.Lose(p.ActCancel, 1)
		d := w.Start(t.Context())
		synctest.Wait()
		d.Cancel()
		_, err := d.Wait()
		kit.WantEnd(t, err, "cancelled", p.CodeCanceled)
	})
}

func TestLostReceiptIsSentAgain(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{Perform: kit.UntilDone[p.InformResult, delegation.Task]})
		w.Net.Lose(p.ActInform, 1)
		d := w.Start(t.Context())
		synctest.Wait()
		d.Cancel()
		_, err := d.Wait()
		kit.WantEnd(t, err, "cancelled", p.CodeCanceled)
	})
}

// TestRetriesCountPerMessage checks that the first retry of a CANCEL comes soon after any number of
// retries of its request.
func TestRetriesCountPerMessage(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{Perform: kit.UntilDone[p.InformResult, delegation.Task]})
		w.Net.Lose(p.ActTaskRequest, 3)
		accepted := make(chan struct{})
		d := w.Start(t.Context(), codons.WithRetry(codons.Retry{First: time.Second, Jitter: -1}), delegation.WithAccepted(func(p.TaskAccept) { close(accepted) }))
		<-accepted
		w.Net.Lose(p.ActCancel, 1)
		d.Cancel()
		_, err := d.Wait()
		kit.WantEnd(t, err, "cancelled", p.CodeCanceled)
	})
}

// TestCancelToFullMailbox checks that a CANCEL which was refused as busy is sent again.
func TestCancelToFullMailbox(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{Perform: kit.UntilDone[p.InformResult, delegation.Task]})
		d := w.Start(t.Context())
		synctest.Wait()
		room := w.FillMailboxes()
		d.Cancel()
		synctest.Wait()
		room()
		_, err := d.Wait()
		kit.WantEnd(t, err, "cancelled", p.CodeCanceled)
		w.Settled(0)
	})
}

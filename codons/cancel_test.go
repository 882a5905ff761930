package codons_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

var errCause = errors.New("the user went home")

func TestCancelDuringWork(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		returned := atomic.Bool{}
		w.spawn("Jules", &worker{max: 1, perform: func(ctx context.Context, _ codons.Task) (p.InformResult, error) {
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), codons.ErrCanceled) {
				t.Errorf("the handler's cause is %v", context.Cause(ctx))
			}
			time.Sleep(time.Second) // it tidies up
			returned.Store(true)
			return result(p.StatusSuccess), nil
		}})
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errCause) })
		start := time.Now()
		_, err := w.delegate(ctx)
		wantElapsed(t, start, 2*time.Second)
		wantEnd(t, err, "cancelled", p.CodeCanceled)
		if !errors.Is(err, context.Canceled) || !errors.Is(err, errCause) {
			t.Errorf("%v has not the cause", err)
		}
		if !returned.Load() {
			t.Error("the receipt came before the handler had returned")
		}
		d := w.start(t.Context())
		synctest.Wait()
		d.Cancel()
		_, err = d.Wait()
		wantEnd(t, err, "cancelled", p.CodeCanceled) // the place was given back
	})
}

func TestCancelTwice(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Jules", &worker{perform: patient})
		d := w.start(t.Context())
		synctest.Wait()
		d.Cancel()
		d.Cancel()
		_, err := d.Wait()
		wantEnd(t, err, "cancelled", p.CodeCanceled)
		d.Cancel()
		synctest.Wait()
		if n := w.monitor.count("Eddy -> Jules: CANCEL"); n != 1 {
			t.Errorf("%d CANCELs", n)
		}
	})
}

func TestCancelBeforehand(t *testing.T) {
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
			inWorld(t, func(t *testing.T, w *world) {
				w.spawn("Jules", &worker{})
				ctx, cancel := ctx(t.Context())
				defer cancel()
				_, err := w.delegate(ctx)
				if !errors.Is(err, ctx.Err()) || endOf(t, err).State != "abandoned" {
					t.Errorf("got %v", err)
				}
				if _, err := codons.Whisper(ctx, w.eddy, "Jules", summary); !errors.Is(err, ctx.Err()) {
					t.Errorf("whisper: %v", err)
				}
				w.settled(0)
				if said := w.monitor.lines(); len(said) != 0 {
					t.Errorf("said %q", said)
				}
			})
		})
	}
}

// TestCancelAtOnce cancels before, while and after the asker's conversation
// starts.
func TestCancelAtOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Jules", &worker{perform: patient, max: 1})
		for range 200 {
			ctx, cancel := context.WithCancel(t.Context())
			d := w.start(ctx)
			cancel()
			if _, err := d.Wait(); !errors.Is(err, context.Canceled) || !errors.Is(err, p.CodeCanceled) {
				t.Fatalf("got %v", err)
			}
			w.settled(0)
		}
	})
}

func TestCancelWhileConsidering(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		block, entered := make(chan struct{}), make(chan struct{}, 8)
		first := true
		w.spawn("Jules", &worker{max: 1, consider: func(context.Context, codons.Task) codons.Decision {
			if first {
				first = false
				entered <- struct{}{}
				<-block
			}
			return codons.Accept()
		}})
		d := w.start(t.Context())
		<-entered
		d.Cancel()
		synctest.Wait()
		close(block)
		if _, err := d.Wait(); err != nil {
			wantEnd(t, err, "cancelled", p.CodeCanceled)
		}
		w.settled(0)
		if _, err := w.delegate(t.Context()); err != nil {
			t.Errorf("the place was not given back: %v", err)
		}
	})
}

// TestCancelOvertakesItsRequest queues both behind a backlog.
func TestCancelOvertakesItsRequest(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		block, entered := make(chan struct{}), make(chan struct{})
		considered := 0
		w.spawn("Jules", &worker{max: 1, consider: func(context.Context, codons.Task) codons.Decision {
			if considered++; considered == 1 {
				close(entered)
				<-block
				return codons.Reject(p.CodeIncapable, "")
			}
			return codons.Accept()
		}})
		backlog := w.start(t.Context())
		<-entered
		d := w.start(t.Context())
		synctest.Wait()
		d.Cancel()
		synctest.Wait()
		close(block)
		_, err := d.Wait()
		wantEnd(t, err, "cancelled", p.CodeCanceled)
		_, _ = backlog.Wait()
		w.settled(0)
		if n := w.monitor.count("Jules -> Eddy: INFORM (again)"); n != 1 || considered != 1 {
			t.Errorf("%d receipts for the late request, %d tasks considered: %q", n, considered, w.monitor.lines())
		}
		if _, err := w.delegate(t.Context()); err != nil {
			t.Errorf("a place is missing: %v", err)
		}
	})
}

// TestCancelOvertakesInTheConversation has both wait in the mailbox of the
// worker's conversation, which the agent has accepted the task for already.
func TestCancelOvertakesInTheConversation(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Jules", &worker{max: 1, perform: patient})
		for range 300 {
			d := w.start(t.Context())
			d.Cancel()
			if _, err := d.Wait(); !errors.Is(err, p.CodeCanceled) {
				t.Fatalf("got %v", err)
			}
		}
		w.settled(0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := w.delegate(ctx); errors.Is(err, p.CodeBusy) {
			t.Error("a place is missing")
		}
	})
}

func TestCancelRacesCompletion(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Jules", &worker{perform: func(ctx context.Context, _ codons.Task) (p.InformResult, error) {
			time.Sleep(time.Second)
			return result(p.StatusSuccess), nil
		}})
		ends := map[bool]int{}
		for range 100 {
			d := w.start(t.Context())
			time.AfterFunc(time.Second, d.Cancel)
			got, err := d.Wait()
			if err == nil && got.Status != p.StatusSuccess {
				t.Fatalf("got %+v", got)
			}
			if err != nil {
				wantEnd(t, err, "cancelled", p.CodeCanceled)
			}
			ends[err == nil]++
		}
		t.Log(ends)
		w.settled(0)
	})
}

func TestCancelIsIgnored(t *testing.T) {
	inWorldOf(t, codons.Delegation{Grace: time.Second}, func(t *testing.T, w *world) {
		release := make(chan struct{})
		w.spawn("Jules", &worker{max: 1, perform: func(context.Context, codons.Task) (p.InformResult, error) {
			<-release
			return result(p.StatusSuccess), nil
		}})
		abandoned := actors.Subscribe[actors.WorkAbandoned](&w.Events, 8)
		d := w.start(t.Context())
		synctest.Wait()
		start := time.Now()
		d.Cancel()
		_, err := d.Wait()
		wantEnd(t, err, "failed", p.CodeStillRunning)
		wantElapsed(t, start, time.Second)
		w.settled(1)
		if len(abandoned.C) != 1 {
			t.Errorf("%d abandoned", len(abandoned.C))
		}
		if _, err := w.delegate(t.Context()); !errors.Is(err, p.CodeBusy) {
			t.Errorf("got %v", err)
		}
		close(release)
		w.settled(0)
	})
}

// TestDefaultGraces has the worker's word that its handler still runs arrive
// before the asker gives up.
func TestDefaultGraces(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		release := make(chan struct{})
		defer close(release)
		w.spawn("Jules", &worker{perform: func(context.Context, codons.Task) (p.InformResult, error) {
			<-release
			return result(p.StatusSuccess), nil
		}})
		d := w.start(t.Context())
		synctest.Wait()
		d.Cancel()
		_, err := d.Wait()
		wantEnd(t, err, "failed", p.CodeStillRunning)
	})
}

func TestGraceOfTheAsker(t *testing.T) {
	for _, grace := range []time.Duration{-time.Second, 0, 3 * time.Second} {
		inWorld(t, func(t *testing.T, w *world) {
			w.spawn("Jules", &worker{perform: func(ctx context.Context, _ codons.Task) (p.InformResult, error) {
				<-ctx.Done()
				time.Sleep(4 * time.Second)
				return p.InformResult{}, ctx.Err()
			}})
			d := w.start(t.Context(), codons.WithGrace(grace))
			synctest.Wait()
			start := time.Now()
			d.Cancel()
			_, err := d.Wait()
			wantElapsed(t, start, max(grace, 0))
			wantEnd(t, err, "timed_out", p.CodeTimeout)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%v is not Canceled", err)
			}
		})
	}
}

func TestLostCancelIsSentAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Jules", &worker{perform: patient})
		w.net.lose(p.ActCancel, 1)
		d := w.start(t.Context())
		synctest.Wait()
		d.Cancel()
		_, err := d.Wait()
		wantEnd(t, err, "cancelled", p.CodeCanceled)
	})
}

func TestLostReceiptIsSentAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Jules", &worker{perform: patient})
		w.net.lose(p.ActInform, 1)
		d := w.start(t.Context())
		synctest.Wait()
		d.Cancel()
		_, err := d.Wait()
		wantEnd(t, err, "cancelled", p.CodeCanceled)
	})
}

// TestRetriesAreCountedOfEachMessage has the CANCEL be sent again soon, however
// often its request was.
func TestRetriesAreCountedOfEachMessage(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Jules", &worker{perform: patient})
		w.net.lose(p.ActTaskRequest, 3)
		accepted := make(chan struct{})
		d := w.start(t.Context(), codons.WithRetry(codons.Retry{First: time.Second, Jitter: -1}), codons.WithAccepted(func(p.TaskAccept) { close(accepted) }))
		<-accepted
		w.net.lose(p.ActCancel, 1)
		d.Cancel()
		_, err := d.Wait()
		wantEnd(t, err, "cancelled", p.CodeCanceled)
	})
}

// TestACancelThatFindsNoRoom comes again: the work must not go on because the
// worker's mailbox was full for a moment.
func TestACancelThatFindsNoRoom(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Jules", &worker{perform: patient})
		d := w.start(t.Context())
		synctest.Wait()
		w.net.busy.Store(true)
		d.Cancel()
		synctest.Wait()
		w.net.busy.Store(false)
		_, err := d.Wait()
		wantEnd(t, err, "cancelled", p.CodeCanceled)
		w.settled(0)
	})
}

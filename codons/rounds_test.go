package codons_test

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// curious asks for more n times. Its result tells what it was given.
func curious(n int) func(context.Context, codons.Task) (p.InformResult, error) {
	return func(_ context.Context, t codons.Task) (p.InformResult, error) {
		if len(t.Previous) < n {
			return asking(fmt.Sprint("round ", len(t.Previous))), nil
		}
		summary := t.Description
		for _, r := range t.Previous {
			summary += ", " + r.RequestForUser()
		}
		return p.InformResult{Status: p.StatusSuccess, Summary: summary}, nil
	}
}

func TestRounds(t *testing.T) {
	for _, rounds := range []int{1, 2, 100} {
		inWorld(t, func(t *testing.T, w *world) {
			w.spawn("Jules", &worker{perform: curious(rounds), max: 1})
			asked := 0
			got, err := w.delegate(t.Context(), codons.WithInput(func(_ context.Context, r p.InformResult) (p.TaskRequest, bool) {
				if want := fmt.Sprint("round ", asked); r.RequestForUser() != want {
					t.Errorf("asked %q, want %q", r.RequestForUser(), want)
				}
				asked++
				return p.TaskRequest{TaskType: "debug_code", Description: fmt.Sprint("input ", asked)}, true
			}))
			want := fmt.Sprint("input ", rounds)
			for i := range rounds {
				want += fmt.Sprint(", round ", i)
			}
			if err != nil || got.Summary != want || asked != rounds {
				t.Errorf("%d asked, got %+v, %v", asked, got, err)
			}
			w.settled(0)
		})
	}
}

func TestRoundIsNotAnswered(t *testing.T) {
	for name, opts := range map[string][]codons.DelegateOption{
		"declined": {codons.WithInput(func(context.Context, p.InformResult) (p.TaskRequest, bool) { return p.TaskRequest{}, false })},
		"no input": nil,
		"invalid":  {codons.WithInput(func(context.Context, p.InformResult) (p.TaskRequest, bool) { return p.TaskRequest{}, true })},
		"panic":    {codons.WithInput(func(context.Context, p.InformResult) (p.TaskRequest, bool) { panic("oops") })},
		"goexit": {codons.WithInput(func(context.Context, p.InformResult) (p.TaskRequest, bool) {
			goruntime.Goexit()
			return p.TaskRequest{}, true
		})},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.spawn("Jules", &worker{perform: curious(1)})
				start := time.Now()
				got, err := w.delegate(t.Context(), opts...)
				if err != nil || got.RequestForUser() != "round 0" {
					t.Errorf("got %+v, %v", got, err)
				}
				wantElapsed(t, start, 0)
				w.settled(0) // the worker does not wait until its deadline
			})
		})
	}
}

// TestSlowInput ends the conversation while the caller thinks.
func TestSlowInput(t *testing.T) {
	for name, end := range map[string]func(*world, *codons.Delegated){
		"deadline": func(*world, *codons.Delegated) {},
		"cancel":   func(_ *world, d *codons.Delegated) { d.Cancel() },
		"worker":   func(w *world, _ *codons.Delegated) { _ = w.StopAgent(w.t.Context(), "Jules") },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.spawn("Jules", &worker{perform: curious(1)})
				ended := make(chan error, 1)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				d := w.start(ctx, codons.WithInput(func(ctx context.Context, _ p.InformResult) (p.TaskRequest, bool) {
					<-ctx.Done()
					ended <- ctx.Err()
					return task(), true
				}))
				synctest.Wait()
				end(w, d)
				got, err := d.Wait()
				if err != nil || got.RequestForUser() != "round 0" {
					t.Errorf("got %+v, %v", got, err)
				}
				if err := <-ended; err == nil {
					t.Error("the input function's ctx has not ended")
				}
				w.settled(0)
			})
		})
	}
}

// TestRoundCancelledWhileConsidered gives the place back that was taken for a
// round that nobody wants any more.
func TestRoundCancelledWhileConsidered(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		block, entered := make(chan struct{}), make(chan struct{}, 8)
		hold := true
		w.spawn("Jules", &worker{max: 1, perform: curious(1), consider: func(_ context.Context, t codons.Task) codons.Decision {
			if hold && len(t.Previous) > 0 {
				hold = false
				entered <- struct{}{}
				<-block
			}
			return codons.Accept()
		}})
		input := codons.WithInput(func(context.Context, p.InformResult) (p.TaskRequest, bool) { return task(), true })
		d := w.start(t.Context(), input)
		<-entered
		a := w.monitor.lines()
		d.Cancel()
		synctest.Wait()
		close(block)
		if _, err := d.Wait(); err != nil {
			wantEnd(t, err, "cancelled", p.CodeCanceled)
		}
		w.settled(0)
		if _, err := w.delegate(t.Context(), input); err != nil {
			t.Errorf("the place was not given back: %v after %q", err, a)
		}
	})
}

func TestRoundIsRejected(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Jules", &worker{perform: curious(1), consider: func(_ context.Context, t codons.Task) codons.Decision {
			if len(t.Previous) > 0 {
				return codons.Reject(p.CodeForbidden, "")
			}
			return codons.Accept()
		}})
		d := w.start(t.Context(), codons.WithInput(func(context.Context, p.InformResult) (p.TaskRequest, bool) { return task(), true }))
		wantPartial(t, d, p.CodeForbidden)
		w.settled(0)
	})
}

func TestRoundPanics(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Jules", &worker{perform: curious(1), consider: func(_ context.Context, t codons.Task) codons.Decision {
			if len(t.Previous) > 0 {
				panic("secret")
			}
			return codons.Accept()
		}})
		start := time.Now()
		d := w.start(t.Context(), codons.WithInput(func(context.Context, p.InformResult) (p.TaskRequest, bool) { return task(), true }))
		wantPartial(t, d, p.CodeInternal)
		wantElapsed(t, start, 0)
		noSecret(t, d.Unserved())
	})
}

// wantPartial expects that the first partial result stands, because of that code.
func wantPartial(t *testing.T, d *codons.Delegated, code p.Code) {
	t.Helper()
	got, err := d.Wait()
	if err != nil || got.RequestForUser() != "round 0" || !errors.Is(d.Unserved(), code) {
		t.Errorf("got %+v, %v, for want of %v", got, err, d.Unserved())
	}
}

// TestTranscripts writes down who says what to whom.
func TestTranscripts(t *testing.T) {
	input := codons.WithInput(func(context.Context, p.InformResult) (p.TaskRequest, bool) { return task(), true })
	for _, c := range []struct {
		name   string
		worker worker
		run    func(*testing.T, *world)
	}{
		{"success", worker{perform: func(_ context.Context, t codons.Task) (p.InformResult, error) {
			_ = t.Progress(50, "half")
			_ = t.Progress(90, "almost")
			return result(p.StatusSuccess), nil
		}}, ask()},
		{"failure", worker{perform: func(context.Context, codons.Task) (p.InformResult, error) { return p.InformResult{}, errors.New("x") }}, ask()},
		{"reject", worker{consider: func(context.Context, codons.Task) codons.Decision { return codons.Reject(p.CodeBusy, "") }}, ask()},
		{"rounds", worker{perform: curious(2)}, ask(input)},
		{"declined", worker{perform: curious(2)}, ask()},
		{"deadline", worker{perform: patient}, func(t *testing.T, w *world) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, _ = w.delegate(ctx)
		}},
		{"cancel", worker{perform: patient}, func(t *testing.T, w *world) {
			d := w.start(t.Context())
			synctest.Wait()
			d.Cancel()
			_, _ = d.Wait()
		}},
		{"retry", worker{}, func(t *testing.T, w *world) {
			w.net.lose(p.ActTaskRequest, 2)
			_, _ = w.delegate(t.Context())
		}},
		{"worker stops", worker{perform: patient}, func(t *testing.T, w *world) {
			d := w.start(t.Context())
			synctest.Wait()
			_ = w.StopAgent(t.Context(), "Jules")
			_, _ = d.Wait()
		}},
		{"asker stops", worker{perform: patient}, func(t *testing.T, w *world) {
			d := w.start(t.Context())
			synctest.Wait()
			_ = w.StopAgent(t.Context(), "Eddy")
			_, _ = d.Wait()
		}},
		{"whisper", worker{}, func(t *testing.T, w *world) {
			_, _ = codons.Whisper(t.Context(), w.eddy, "Jules", summary)
			_, _ = codons.Whisper(t.Context(), w.eddy, "Jules", details("NOTHING"))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var said []string
			inWorld(t, func(t *testing.T, w *world) {
				w.spawn("Jules", &c.worker)
				c.run(t, w)
				w.settled(0)
				said = w.monitor.lines()
				if c.name == "deadline" { // whose clock is first is open
					said = slices.DeleteFunc(said, func(l string) bool { return l == "Jules -> Eddy: FAILURE timeout" })
				}
			})
			golden(t, c.name, said)
		})
	}
}

func ask(opts ...codons.DelegateOption) func(*testing.T, *world) {
	return func(t *testing.T, w *world) { _, _ = w.delegate(t.Context(), opts...) }
}

// TestRoundTimesOutWhileConsidered has the agent accept a round that is over.
func TestRoundTimesOutWhileConsidered(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		hold := true
		w.spawn("Jules", &worker{max: 1, perform: curious(1), consider: func(_ context.Context, t codons.Task) codons.Decision {
			if hold && len(t.Previous) > 0 {
				hold = false
				time.Sleep(time.Minute)
			}
			return codons.Accept()
		}})
		input := codons.WithInput(func(context.Context, p.InformResult) (p.TaskRequest, bool) { return task(), true })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wantPartial(t, w.start(ctx, input), p.CodeTimeout)
		time.Sleep(time.Hour)
		w.settled(0)
		if _, err := w.delegate(t.Context(), input); err != nil {
			t.Errorf("the place was not given back: %v", err)
		}
	})
}

func TestRoundExpiredOnArrival(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		asked := 0
		w.spawn("Jules", &worker{perform: curious(1), consider: func(context.Context, codons.Task) codons.Decision {
			asked++
			return codons.Accept()
		}})
		a := w.puppet("puppet")
		first := a.say(p.Envelope{Receiver: "Jules", Payload: task()})
		a.next(p.ActTaskAccept)
		a.next(p.ActInformResult)
		a.say(p.Envelope{Receiver: "Jules", ConversationID: first.ConversationID(), Payload: task(), ReplyBy: time.Now().Add(-time.Hour)})
		if m := <-a.got; m.AsRefusal() == nil || asked != 1 {
			t.Errorf("got %s, asked %d times", m.Performative(), asked)
		}
		w.settled(0)
	})
}

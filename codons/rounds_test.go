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
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/discovery"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/internal/systemtest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// curious asks for more n times. Its result tells what it was given.
func curious(n int) func(context.Context, delegation.Task) (p.InformResult, error) {
	return func(_ context.Context, t delegation.Task) (p.InformResult, error) {
		if len(t.Previous) < n {
			return kit.Asking(fmt.Sprint("round ", len(t.Previous))), nil
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
		kit.InWorld(t, func(t *testing.T, w *kit.World) {
			w.Add("Jules", &kit.Worker{Perform: curious(rounds), Max: 1})
			asked := 0
			got, err := w.Delegate(t.Context(), delegation.WithInput(func(_ context.Context, r p.InformResult) (p.TaskRequest, bool) {
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
			w.Settled(0)
		})
	}
}

func TestRoundIsNotAnswered(t *testing.T) {
	for name, opts := range map[string][]codons.Option{
		"declined": {delegation.WithInput(func(context.Context, p.InformResult) (p.TaskRequest, bool) { return p.TaskRequest{}, false })},
		"no input": nil,
		"invalid":  {delegation.WithInput(func(context.Context, p.InformResult) (p.TaskRequest, bool) { return p.TaskRequest{}, true })},
		"panic":    {delegation.WithInput(func(context.Context, p.InformResult) (p.TaskRequest, bool) { panic("oops") })},
		"goexit": {delegation.WithInput(func(context.Context, p.InformResult) (p.TaskRequest, bool) {
			goruntime.Goexit()
			return p.TaskRequest{}, true
		})},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				w.Allow(systemtest.ErrorLogged)
				w.Add("Jules", &kit.Worker{Perform: curious(1)})
				start := time.Now()
				got, err := w.Delegate(t.Context(), opts...)
				if err != nil || got.RequestForUser() != "round 0" {
					t.Errorf("got %+v, %v", got, err)
				}
				kit.WantElapsed(t, start, 0)
				w.Settled(0) // the worker does not wait until its deadline
			})
		})
	}
}

// TestSlowInput ends the conversation while the caller thinks.
func TestSlowInput(t *testing.T) {
	for name, end := range map[string]func(*kit.World, *delegation.Delegated){
		"deadline": func(*kit.World, *delegation.Delegated) {},
		"cancel":   func(_ *kit.World, d *delegation.Delegated) { d.Cancel() },
		"worker":   func(w *kit.World, _ *delegation.Delegated) { _ = w.StopAgent(w.T.Context(), "Jules") },
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				w.Add("Jules", &kit.Worker{Perform: curious(1)})
				ended := make(chan error, 1)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				d := w.Start(ctx, delegation.WithInput(func(ctx context.Context, _ p.InformResult) (p.TaskRequest, bool) {
					<-ctx.Done()
					ended <- ctx.Err()
					return kit.Task(), true
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
				w.Settled(0)
			})
		})
	}
}

// TestRoundCancelledWhileConsidered checks that the slot of a cancelled round is released.
func TestRoundCancelledWhileConsidered(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		block, entered := make(chan struct{}), make(chan struct{}, 8)
		hold := true
		w.Add("Jules", &kit.Worker{Max: 1, Perform: curious(1), Consider: func(_ context.Context, t delegation.Task) delegation.Decision {
			if hold && len(t.Previous) > 0 {
				hold = false
				entered <- struct{}{}
				<-block
			}
			return delegation.Accept()
		}})
		input := delegation.WithInput(func(context.Context, p.InformResult) (p.TaskRequest, bool) { return kit.Task(), true })
		d := w.Start(t.Context(), input)
		<-entered
		a := w.Lines()
		d.Cancel()
		synctest.Wait()
		close(block)
		if _, err := d.Wait(); err != nil {
			kit.WantEnd(t, err, "cancelled", p.CodeCanceled)
		}
		w.Settled(0)
		if _, err := w.Delegate(t.Context(), input); err != nil {
			t.Errorf("the place was not given back: %v after %q", err, a)
		}
	})
}

func TestRoundIsRejected(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{Perform: curious(1), Consider: func(_ context.Context, t delegation.Task) delegation.Decision {
			if len(t.Previous) > 0 {
				return delegation.Reject(p.CodeForbidden, "")
			}
			return delegation.Accept()
		}})
		d := w.Start(t.Context(), delegation.WithInput(func(context.Context, p.InformResult) (p.TaskRequest, bool) { return kit.Task(), true }))
		wantPartial(t, d, p.CodeForbidden)
		w.Settled(0)
	})
}

func TestRoundPanics(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Allow(systemtest.ErrorLogged)
		w.Add("Jules", &kit.Worker{Perform: curious(1), Consider: func(_ context.Context, t delegation.Task) delegation.Decision {
			if len(t.Previous) > 0 {
				panic("secret")
			}
			return delegation.Accept()
		}})
		start := time.Now()
		d := w.Start(t.Context(), delegation.WithInput(func(context.Context, p.InformResult) (p.TaskRequest, bool) { return kit.Task(), true }))
		wantPartial(t, d, p.CodeInternal)
		kit.WantElapsed(t, start, 0)
		kit.NoSecret(t, d.Unserved())
	})
}

// wantPartial expects that the first partial result stands, because of that code.
func wantPartial(t *testing.T, d *delegation.Delegated, code p.Code) {
	t.Helper()
	got, err := d.Wait()
	if err != nil || got.RequestForUser() != "round 0" || !errors.Is(d.Unserved(), code) {
		t.Errorf("got %+v, %v, for want of %v", got, err, d.Unserved())
	}
}

// TestTranscripts compares the transcripts of whole conversations.
func TestTranscripts(t *testing.T) {
	input := delegation.WithInput(func(context.Context, p.InformResult) (p.TaskRequest, bool) { return kit.Task(), true })
	for _, c := range []struct {
		name   string
		worker kit.Worker
		run    func(*testing.T, *kit.World)
	}{
		{"success", kit.Worker{Perform: func(_ context.Context, t delegation.Task) (p.InformResult, error) {
			_ = t.Progress(50, "half")
			_ = t.Progress(90, "almost")
			return kit.Result(p.StatusSuccess), nil
		}}, ask()},
		{"failure", kit.Worker{Perform: func(context.Context, delegation.Task) (p.InformResult, error) {
			return p.InformResult{}, errors.New("x")
		}}, ask()},
		{"reject", kit.Worker{Consider: func(context.Context, delegation.Task) delegation.Decision { return delegation.Reject(p.CodeBusy, "") }}, ask()},
		{"rounds", kit.Worker{Perform: curious(2)}, ask(input)},
		{"declined", kit.Worker{Perform: curious(2)}, ask()},
		{"deadline", kit.Worker{Perform: kit.UntilDone[p.InformResult, delegation.Task]}, func(t *testing.T, w *kit.World) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, _ = w.Delegate(ctx)
		}},
		{"cancel", kit.Worker{Perform: kit.UntilDone[p.InformResult, delegation.Task]}, func(t *testing.T, w *kit.World) {
			d := w.Start(t.Context())
			synctest.Wait()
			d.Cancel()
			_, _ = d.Wait()
		}},
		{"retry", kit.Worker{}, func(t *testing.T, w *kit.World) {
			w.Net.Lose(p.ActTaskRequest, 2)
			_, _ = w.Delegate(t.Context())
		}},
		{"worker stops", kit.Worker{Perform: kit.UntilDone[p.InformResult, delegation.Task]}, func(t *testing.T, w *kit.World) {
			d := w.Start(t.Context())
			synctest.Wait()
			_ = w.StopAgent(t.Context(), "Jules")
			_, _ = d.Wait()
		}},
		{"asker stops", kit.Worker{Perform: kit.UntilDone[p.InformResult, delegation.Task]}, func(t *testing.T, w *kit.World) {
			d := w.Start(t.Context())
			synctest.Wait()
			_ = w.StopAgent(t.Context(), "Eddy")
			_, _ = d.Wait()
		}},
		{"whisper", kit.Worker{}, func(t *testing.T, w *kit.World) {
			_, _ = discovery.Whisper(t.Context(), w.Eddy, "Jules", kit.Summary)
			_, _ = discovery.Whisper(t.Context(), w.Eddy, "Jules", kit.Details("NOTHING"))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var said []string
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				w.Add("Jules", &c.worker)
				c.run(t, w)
				w.Settled(0)
				said = w.Lines()
				if c.name == "deadline" { // whose clock is first is open
					said = slices.DeleteFunc(said, func(l string) bool { return l == "Jules -> Eddy: FAILURE timeout" })
				}
			})
			kit.Golden(t, c.name, said)
		})
	}
}

func ask(opts ...codons.Option) func(*testing.T, *kit.World) {
	return func(t *testing.T, w *kit.World) { _, _ = w.Delegate(t.Context(), opts...) }
}

// TestRoundTimesOutWhileConsidered has the agent accept a round that is over.
func TestRoundTimesOutWhileConsidered(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		hold := true
		w.Add("Jules", &kit.Worker{Max: 1, Perform: curious(1), Consider: func(_ context.Context, t delegation.Task) delegation.Decision {
			if hold && len(t.Previous) > 0 {
				hold = false
				time.Sleep(time.Minute)
			}
			return delegation.Accept()
		}})
		input := delegation.WithInput(func(context.Context, p.InformResult) (p.TaskRequest, bool) { return kit.Task(), true })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wantPartial(t, w.Start(ctx, input), p.CodeTimeout)
		time.Sleep(time.Hour)
		w.Settled(0)
		if _, err := w.Delegate(t.Context(), input); err != nil {
			t.Errorf("the place was not given back: %v", err)
		}
	})
}

func TestRoundExpiredOnArrival(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		asked := 0
		w.Add("Jules", &kit.Worker{Perform: curious(1), Consider: func(context.Context, delegation.Task) delegation.Decision {
			asked++
			return delegation.Accept()
		}})
		a := w.Peer("peer")
		first := a.Send(p.Envelope{Receiver: "Jules", Payload: kit.Task()})
		a.Expect(p.ActTaskAccept)
		a.Expect(p.ActInformResult)
		a.Send(p.Envelope{Receiver: "Jules", ConversationID: first.ConversationID(), Payload: kit.Task(), ReplyBy: time.Now().Add(-time.Hour)})
		if m := <-a.Got; m.AsRefusal() == nil || asked != 1 {
			t.Errorf("got %s, asked %d times", m.Performative(), asked)
		}
		w.Settled(0)
	})
}

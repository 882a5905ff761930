package swarm_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm"
	"github.com/ribosome-agents/ribosome/performatives"
)

// blocking returns a Debugger that works until its context ends. It closes working at
// the beginning, and sends the cause of the end to why.
func blocking() (b brain, working chan struct{}, why chan error) {
	working, why = make(chan struct{}), make(chan error, 1)
	return func(ctx context.Context, _ swarm.Problem, _ func(string)) (performatives.InformResult, error) {
		close(working)
		<-ctx.Done()
		why <- context.Cause(ctx)
		return performatives.InformResult{}, ctx.Err()
	}, working, why
}

func TestCancelStopsTheBrain(t *testing.T) {
	b, working, why := blocking()
	s := newFixture(t, swarm.Options{Brain: b})
	ctx, cancel := context.WithCancel(s.ctx)
	d, err := delegation.Start(ctx, s.user, swarm.EddyID, debugCode(sample()))
	if err != nil {
		t.Fatal(err)
	}
	<-working
	cancel()
	_, err = d.Wait()
	wantEnd(t, err, "cancelled", performatives.CodeCanceled)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v; want it to be the caller's context", err)
	}
	if got := <-why; !errors.Is(got, codons.ErrCanceled) {
		t.Errorf("Jules's brain was stopped by %v", got)
	}
	s.wantActs(swarm.EddyID, "User", performatives.ActTaskAccept, performatives.ActInform)
	s.wantActs(swarm.JulesID, swarm.EddyID, performatives.ActInformCapabilities, performatives.ActTaskAccept, performatives.ActInform)
}

func TestDeadlineStopsTheBrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(time.Minute) }) // the engine's throttle of dead letters outlives a node by a second
		b, _, why := blocking()
		s := newFixture(t, swarm.Options{Brain: b})
		ctx, cancel := context.WithTimeout(s.ctx, time.Second)
		defer cancel()
		began := time.Now()
		if _, err := s.ask(ctx, sample()); !errors.Is(err, performatives.CodeTimeout) {
			t.Errorf("got %v", err)
		}
		if got := time.Since(began); got != time.Second-time.Second/8 { // less the deadline reserve
			t.Errorf("it took %v of a second less the reserve", got)
		}
		// The asker sends a CANCEL at its deadline, which may arrive before Jules's own deadline.
		if got := <-why; !errors.Is(got, context.DeadlineExceeded) && !errors.Is(got, codons.ErrCanceled) {
			t.Errorf("Jules's brain was stopped by %v", got)
		}
	})
}

func TestMoreInputInTheSameConversation(t *testing.T) {
	whole := sample()
	for name, tt := range map[string]struct{ first, second swarm.Problem }{
		"traceback": {swarm.Problem{Code: whole.Code, FileName: "my.py"}, swarm.Problem{Traceback: whole.Traceback}},
		"code":      {swarm.Problem{Traceback: whole.Traceback}, swarm.Problem{Code: whole.Code, FileName: "my.py"}},
		"version":   {swarm.Problem{Code: "pass\n", Traceback: whole.Traceback}, swarm.Problem{Code: whole.Code, FileName: "my.py"}},
	} {
		for _, to := range []performatives.AgentID{swarm.EddyID, swarm.JulesID} {
			t.Run(name+" to "+string(to), func(t *testing.T) {
				s := newFixture(t, swarm.Options{})
				rounds := 0
				r, err := delegation.Delegate(s.ctx, s.user, to, debugCode(tt.first),
					delegation.WithInput(func(_ context.Context, r performatives.InformResult) (performatives.TaskRequest, bool) {
						rounds++
						if r.Status != performatives.StatusPartial || r.RequestForUser() == "" {
							t.Errorf("asked for input by %+v", r)
						}
						return debugCode(tt.second), true
					}))
				if err != nil || r.Status != performatives.StatusSuccess || rounds != 1 {
					t.Fatalf("got %+v, %v in %d further rounds", r, err, rounds)
				}
				if f := finding(t, r); f.FixedCode == "" || !strings.HasPrefix(f.Diff, "--- a/my.py\n+++ b/my.py\n@@") {
					t.Errorf("got %+v", f)
				}
				asked := s.between("User", to)
				if asked[0].ConversationID() != asked[len(asked)-1].ConversationID() {
					t.Error("the further round was another conversation")
				}
			})
		}
	}
}

func TestUnansweredRequestForInput(t *testing.T) {
	s := newFixture(t, swarm.Options{})
	r, err := s.ask(s.ctx, swarm.Problem{Code: sample().Code})
	if err != nil || r.Status != performatives.StatusPartial || r.RequestForUser() == "" {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestFlakyPanicsOnce(t *testing.T) {
	for _, steps := range []int{0, 1, 2, 5} {
		f := &swarm.Flaky{Debugger: brain(func(_ context.Context, _ swarm.Problem, report func(string)) (performatives.InformResult, error) {
			for range steps {
				report("thinking")
			}
			return performatives.InformResult{Status: performatives.StatusSuccess}, nil
		})}
		var panics atomic.Int32
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				defer func() {
					if recover() != nil {
						panics.Add(1)
					}
				}()
				_, _ = f.Debug(t.Context(), swarm.Problem{}, func(string) {})
			})
		}
		wg.Wait()
		if panics.Load() != 1 {
			t.Errorf("with %d steps it panicked %d times", steps, panics.Load())
		}
	}
}

// A step of a paced debugger takes its pace, and none after the end of the task.
func TestPaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := swarm.Paced{Debugger: brain(func(_ context.Context, _ swarm.Problem, report func(string)) (performatives.InformResult, error) {
			for range 3 {
				report("thinking")
			}
			return performatives.InformResult{}, nil
		}), Pace: time.Second}
		for want, ends := range map[time.Duration]time.Duration{3 * time.Second: time.Minute, 2500 * time.Millisecond: 2500 * time.Millisecond} {
			ctx, cancel := context.WithTimeout(t.Context(), ends)
			began, steps := time.Now(), 0
			if _, err := p.Debug(ctx, swarm.Problem{}, func(string) { steps++ }); err != nil || time.Since(began) != want || steps != 3 {
				t.Errorf("%v: %d steps in %v, want three in %v", err, steps, time.Since(began), want)
			}
			cancel()
		}
	})
}

func TestChaosIsSurvived(t *testing.T) {
	s := newFixture(t, swarm.Options{Brain: &swarm.Flaky{Debugger: swarm.Offline{}}})
	r, err := s.ask(s.ctx, sample())
	if err != nil || r.Status != performatives.StatusSuccess {
		t.Fatalf("got %v, %v", r, err)
	}
	s.wantActs(swarm.JulesID, swarm.EddyID, performatives.ActInformCapabilities,
		performatives.ActTaskAccept, performatives.ActFailure, performatives.ActTaskAccept, performatives.ActInformResult)
}

func TestTooLargeIsRefused(t *testing.T) {
	s := newFixture(t, swarm.Options{})
	_, err := s.ask(s.ctx, swarm.Problem{Code: strings.Repeat("#", 2<<20), Traceback: sample().Traceback})
	wantEnd(t, err, "failed", performatives.CodeInvalidPayload)
}

func TestBrainMayAnswerAsItLikes(t *testing.T) {
	s := newFixture(t, swarm.Options{Brain: answers("a brain of my own")})
	if r, err := s.ask(s.ctx, swarm.Problem{}); err != nil || r.Summary != "a brain of my own" {
		t.Errorf("got %v, %v", r, err)
	}
}

package codons_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/library"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// asks has a scripted peer ask Jules for a task, in the conversation "c".
func asks(a *kit.Peer) *p.Message {
	a.T.Helper()
	m := a.Send(p.Envelope{Performative: p.ActTaskRequest, Receiver: "Jules", ConversationID: "c", Protocol: delegation.Codon.Name(), ReplyWith: "r", Payload: kit.Task()})
	a.Expect(p.ActTaskAccept)
	synctest.Wait()
	return m
}

// wantFailure expects the FAILURE of work that an operator has stopped, as the last message.
func wantFailure(a *kit.Peer, code p.Code) {
	a.T.Helper()
	if f, ok := a.Expect(p.ActFailure).Payload().(p.Failure); !ok || f.ErrorCode != code || !strings.HasPrefix(f.ErrorText, "an operator has stopped the work: wrong file") {
		a.T.Errorf("got %+v, want %s", f, code)
	}
	a.Silent()
}

func operatorStops(w *kit.World) {
	w.T.Helper()
	if n, err := codons.StopWork(w.System, "c", codons.ByOperator("wrong file")); n != 1 || err != nil {
		w.T.Error(n, err)
	}
}

// The FAILURE comes when neither the handler nor what it has asked for runs any more, and the event
// of the end has its code.
func TestStopWork(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		a := w.Peer("External")
		ended := kit.Recording(&w.Events, lifecycle.KindEnded)
		var running atomic.Int64
		work := func(wait func(context.Context) error, want error) *kit.Worker {
			return &kit.Worker{Perform: func(ctx context.Context, _ delegation.Task) (p.InformResult, error) {
				running.Add(1)
				defer running.Add(-1)
				err := wait(ctx)
				if !errors.Is(context.Cause(ctx), want) {
					t.Errorf("the cause is %v, want %v", context.Cause(ctx), want)
				}
				time.Sleep(time.Second) // it tidies up
				return p.InformResult{}, err
			}}
		}
		w.Add("Below", work(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, codons.ErrCanceled))
		var jules actors.Self
		jules = w.Add("Jules", work(func(ctx context.Context) error {
			_, err := delegation.Delegate(ctx, jules, "Below", kit.Task())
			return err
		}, codons.ErrOperator))
		asks(a)
		if n := running.Load(); n != 2 {
			t.Fatalf("%d handlers run", n)
		}
		start := time.Now()
		operatorStops(w)
		operatorStops(w) // twice is once
		wantFailure(a, p.CodeCanceled)
		kit.WantElapsed(t, start, 2*time.Second)
		if n := running.Load(); n != 0 {
			t.Errorf("%d handlers run", n)
		}
		for _, e := range kit.Published[lifecycle.Ended](t, ended) {
			if e.Conversation == "c" && (e.State != standard.StateFailed || e.Code != p.CodeCanceled) {
				t.Errorf("ended in %s with %s", e.State, e.Code)
			}
		}
		if _, err := codons.StopWork(w.System, "c", codons.ErrOperator); !errors.Is(err, codons.ErrNoWork) {
			t.Errorf("after the end: %v", err)
		}
		w.Settled(0)
	})
}

// The conversation ends also when the handler returns a result, none in time, or an intermediate
// one, when none runs, and by a CANCEL that was faster.
func TestStopWorkOtherwise(t *testing.T) {
	result, question := kit.Result(p.StatusSuccess), kit.Asking("which branch?")
	for name, test := range map[string]struct {
		perform func(ctx context.Context) (p.InformResult, error)
		ends    func(a *kit.Peer, w *kit.World, m *p.Message)
	}{
		"a result": {
			func(ctx context.Context) (p.InformResult, error) { <-ctx.Done(); return result, nil },
			func(a *kit.Peer, w *kit.World, _ *p.Message) {
				operatorStops(w)
				a.Expect(p.ActInformResult)
				a.Silent()
			},
		},
		"no return": {
			func(context.Context) (p.InformResult, error) { time.Sleep(time.Minute); return result, nil },
			func(a *kit.Peer, w *kit.World, _ *p.Message) {
				start := time.Now()
				operatorStops(w)
				wantFailure(a, p.CodeStillRunning)
				kit.WantElapsed(a.T, start, codons.DefaultGrace)
				w.Settled(1)
				time.Sleep(time.Minute)
			},
		},
		"a question": {
			func(ctx context.Context) (p.InformResult, error) { <-ctx.Done(); return question, nil },
			func(a *kit.Peer, w *kit.World, _ *p.Message) {
				operatorStops(w)
				a.Expect(p.ActInformResult)
				wantFailure(a, p.CodeCanceled)
			},
		},
		"no handler": {
			func(context.Context) (p.InformResult, error) { return question, nil },
			func(a *kit.Peer, w *kit.World, _ *p.Message) {
				a.Expect(p.ActInformResult)
				operatorStops(w)
				wantFailure(a, p.CodeCanceled)
			},
		},
		"a CANCEL": {
			func(ctx context.Context) (p.InformResult, error) {
				<-ctx.Done()
				time.Sleep(time.Second)
				return p.InformResult{}, ctx.Err()
			},
			func(a *kit.Peer, w *kit.World, m *p.Message) {
				a.Send(m.FollowEnvelope(a.Stamp(), p.ActCancel, p.Cancel{Reason: "enough"}))
				synctest.Wait()
				operatorStops(w)
				a.Expect(p.ActInform)
				a.Silent()
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				a := w.Peer("External")
				w.Add("Jules", &kit.Worker{Perform: func(ctx context.Context, _ delegation.Task) (p.InformResult, error) { return test.perform(ctx) }})
				test.ends(a, w, asks(a))
				w.Settled(0)
			})
		})
	}
}

// behindStop has an operator stop the work while the conversation handles nothing else, so that the
// last command of a handler that calls it comes behind. resume lets it go on.
func behindStop(w *kit.World) (perform, resume func()) {
	gate := make(chan struct{})
	return func() {
			for c := range w.System.ConversationsWith("c") {
				c.(*codons.Conversation).Do(func() { <-gate })
			}
			operatorStops(w)
		}, func() {
			synctest.Wait() // the handler has returned
			close(gate)
		}
}

// A CANCEL that came first has its receipt, also if the last command of the handler is behind the
// stop.
func TestStopWorkAfterCancel(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		a := w.Peer("External")
		stop, resume := behindStop(w)
		w.Add("Jules", &kit.Worker{Perform: func(ctx context.Context, _ delegation.Task) (p.InformResult, error) {
			<-ctx.Done()
			stop()
			return p.InformResult{}, ctx.Err()
		}})
		m := asks(a)
		a.Send(m.FollowEnvelope(a.Stamp(), p.ActCancel, p.Cancel{Reason: "enough"}))
		resume()
		a.Expect(p.ActInform)
		a.Silent()
		w.Settled(0)
	})
}

// The result of a handler that has returned is sent, also if it is behind the stop; a question is
// sent before the end.
func TestStopWorkAfterTheHandler(t *testing.T) {
	for name, result := range map[string]p.InformResult{"a result": kit.Result(p.StatusSuccess), "a question": kit.Asking("which branch?")} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				a, goOn := w.Peer("External"), make(chan struct{})
				stop, resume := behindStop(w)
				w.Add("Jules", &kit.Worker{Perform: func(context.Context, delegation.Task) (p.InformResult, error) {
					<-goOn
					stop()
					return result, nil
				}})
				asks(a)
				close(goOn)
				resume()
				a.Expect(p.ActInformResult)
				if result.Status != p.StatusSuccess {
					wantFailure(a, p.CodeCanceled)
				}
				a.Silent()
				w.Settled(0)
			})
		})
	}
}

// A handler that has failed sends its own error, also if an operator comes while it waits for the end
// of what it has asked for.
func TestStopWorkOfAFailedHandler(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		a, begun := w.Peer("External"), make(chan struct{})
		w.Add("Below", &kit.Worker{Perform: func(ctx context.Context, _ delegation.Task) (p.InformResult, error) {
			close(begun)
			<-ctx.Done()
			time.Sleep(time.Second) // it tidies up
			return p.InformResult{}, ctx.Err()
		}})
		var jules actors.Self
		jules = w.Add("Jules", &kit.Worker{Perform: func(ctx context.Context, _ delegation.Task) (p.InformResult, error) {
			_, err := delegation.Start(ctx, jules, "Below", kit.Task())
			<-begun
			return p.InformResult{}, errors.Join(err, &p.Refusal{Code: p.CodeInvalidPayload})
		}})
		asks(a)
		operatorStops(w)
		if f, ok := a.Expect(p.ActFailure).Payload().(p.Failure); !ok || f.ErrorCode != p.CodeInvalidPayload {
			t.Errorf("got %+v, want the error of the handler", f)
		}
		a.Silent()
		w.Settled(0)
	})
}

// The error of a handler that an operator has stopped is no failure of its job.
func TestStopWorkIsNoFailureOfTheJob(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		a, failed := w.Peer("External"), kit.Recording(&w.Events, lifecycle.KindJobFailed)
		w.Add("Jules", &kit.Worker{Perform: func(ctx context.Context, _ delegation.Task) (p.InformResult, error) {
			<-ctx.Done()
			return p.InformResult{}, context.Cause(ctx)
		}})
		asks(a)
		operatorStops(w)
		wantFailure(a, p.CodeCanceled)
		if all := kit.Published[lifecycle.JobFailed](t, failed); len(all) > 0 {
			t.Errorf("%+v", all)
		}
	})
}

// All responders of one id are stopped, and counted.
func TestStopWorkOfSeveralResponders(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		a := w.Peer("External")
		for _, name := range []p.AgentID{"Jules", "Rose"} {
			w.Add(name, &kit.Worker{Perform: kit.UntilDone[p.InformResult, delegation.Task]})
			a.Send(p.Envelope{Performative: p.ActTaskRequest, Receiver: name, ConversationID: "c", Protocol: delegation.Codon.Name(), ReplyWith: "r-" + string(name), Payload: kit.Task()})
			a.Expect(p.ActTaskAccept)
		}
		if n, err := codons.StopWork(w.System, "c", codons.ByOperator("wrong file")); n != 2 || err != nil {
			t.Error(n, err)
		}
		a.Expect(p.ActFailure)
		wantFailure(a, p.CodeCanceled)
		w.Settled(0)
	})
}

// An initiator learns of it as of any failure, and an initiator's side is no work.
func TestStopWorkOfAnInitiator(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{Perform: kit.UntilDone[p.InformResult, delegation.Task]})
		d := w.Start(t.Context())
		synctest.Wait()
		if _, err := codons.StopWork(w.System, d.Conversation(), codons.ErrOperator); err != nil {
			t.Error(err)
		}
		_, err := d.Wait()
		kit.WantEnd(t, err, "failed", p.CodeCanceled)
		w.Peer("External")
		d, err = delegation.Start(t.Context(), w.Eddy, "External", kit.Task())
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, err := codons.StopWork(w.System, d.Conversation(), codons.ErrOperator); !errors.Is(err, codons.ErrNoWork) {
			t.Errorf("of an initiator: %v", err)
		}
		d.Cancel()
		_, _ = d.Wait()
	})
}

// Every table of the library lets the responder stop in every live state that it can be in.
func TestStopWorkHasRows(t *testing.T) {
	for _, c := range library.Codons() {
		if c.Machine() == nil {
			continue // its conversations have no states
		}
		table := c.Machine().Table()
		for _, s := range table.Live {
			reached := false
			for _, r := range table.Rows {
				reached = reached || r.Role == machine.Responder && r.To == s
			}
			if reached && c.Machine().Find(machine.Responder, s, machine.Commanded(standard.CommandStop)) == nil {
				t.Errorf("%s: no row in %s", c.Name(), s)
			}
		}
	}
}

// sooner is a responder's side of which something is called with its first message, before the
// first step.
type sooner struct {
	*codons.ResponderSide
	first func(m *p.Message)
}

func (s sooner) Tag(v *codons.Value, m *p.Message) string {
	s.first(m)
	return s.ResponderSide.Tag(v, m)
}

// A conversation whose request has come, and which has not taken its first step, is stopped, too.
func TestStopWorkBeforeTheFirstStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, stopped := ownReview(), -1
		var s *actors.System
		var err error
		d.ResponderSide = func(r *codons.ResponderSide) codons.Side {
			return sooner{r, func(m *p.Message) {
				if stopped < 0 { // not when the request comes again
					stopped, _ = codons.StopWork(s, m.ConversationID(), codons.ErrOperator)
				}
			}}
		}
		codon := codons.MustDefine(d)
		s, err = actors.NewSystem(actors.Options{Protocols: []actors.Protocol{codon.Answer(codons.Method("review", reviewing.Review))}})
		if err != nil {
			t.Fatal(err)
		}
		until := critic(func(ctx context.Context, _ codons.Turn[change]) (codons.Command, error) {
			<-ctx.Done()
			return codons.Command{}, ctx.Err()
		})
		var asker actors.Self
		for _, id := range []p.AgentID{"Rev", "Asker"} {
			if asker, err = s.Spawn(t.Context(), actors.Spec{ID: id, New: func() actors.Agent { return until }}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := codon.Ask(t.Context(), asker, "Rev", change{}, codons.On("revise", addTests)); !errors.Is(err, p.CodeCanceled) || stopped != 1 {
			t.Errorf("%v, and %d stopped", err, stopped)
		}
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second) // the engine has a goroutine that waits for a timer
	})
}

package codons_test

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/request"
	"github.com/ribosome-agents/ribosome/codons/subscribe"
	"github.com/ribosome-agents/ribosome/internal/systemtest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// stuck is an agent whose handler does not look at its context.
func stuck(w *kit.World, id p.AgentID) (release func()) {
	block := make(chan struct{})
	w.Add(id, &kit.Worker{Perform: func(context.Context, delegation.Task) (p.InformResult, error) {
		<-block
		return kit.Result(p.StatusSuccess), nil
	}})
	return func() { close(block) }
}

// TestCancelWhileHandlerSettles sends CANCEL after the handler has returned and while its child is
// withdrawn: the receipt still waits for the child.
func TestCancelWhileHandlerSettles(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		release := stuck(w, "Stuck")
		w.Add("Middle", &kit.Worker{Perform: func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
			_, err := delegation.Start(ctx, t.Agent, "Stuck", t.TaskRequest)
			synctest.Wait()
			return kit.Result(p.StatusSuccess), err
		}})
		d, err := delegation.Start(t.Context(), w.Eddy, "Middle", kit.Task())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // the grace of the child has begun
		d.Cancel()
		_, err = d.Wait()
		kit.WantEnd(t, err, "failed", p.CodeStillRunning)
		release()
		w.Settled(0)
	})
}

// TestCancelBetweenRounds sends CANCEL while no handler runs, because the first round has asked for
// input. The receipt speaks for the child of that round.
func TestCancelBetweenRounds(t *testing.T) {
	for name, c := range map[string]struct {
		stuck bool
		want  p.Performative
	}{
		"the child has stopped":          {false, p.ActInform},
		"the child perhaps runs for now": {true, p.ActFailure},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				release := stuck(w, "Stuck")
				w.Add("Slow", &kit.Worker{Perform: kit.UntilDone[p.InformResult, delegation.Task]})
				w.Add("Middle", &kit.Worker{Perform: func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
					child := p.AgentID("Slow")
					if c.stuck {
						child = "Stuck"
					}
					_, err := delegation.Start(ctx, t.Agent, child, t.TaskRequest)
					synctest.Wait()
					return kit.Asking("more"), err
				}})
				a := w.Peer("peer")
				request := a.Send(p.Envelope{Receiver: "Middle", Payload: kit.Task()})
				a.Expect(p.ActTaskAccept)
				a.Expect(p.ActInformResult)
				a.Send(request.FollowEnvelope(a.Stamp(), p.ActCancel, p.Cancel{}))
				answer := a.Expect(c.want)
				if r := answer.AsRefusal(); c.stuck && r.Code != p.CodeStillRunning {
					t.Errorf("got %v", r)
				}
				release()
				w.Settled(0)
			})
		})
	}
}

// TestAbandonedChild checks that a child which its parent no longer awaits may still run: no
// receipt is sent.
func TestAbandonedChild(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		release := stuck(w, "Stuck")
		w.Add("Middle", &kit.Worker{Perform: func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
			d, err := delegation.Start(ctx, t.Agent, "Stuck", t.TaskRequest)
			if err != nil {
				return p.InformResult{}, err
			}
			synctest.Wait()
			d.Cancel()
			_, _ = d.Wait()
			return kit.UntilDone[p.InformResult, delegation.Task](ctx, t)
		}})
		d, err := delegation.Start(t.Context(), w.Eddy, "Middle", kit.Task())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		d.Cancel()
		_, err = d.Wait()
		kit.WantEnd(t, err, "failed", p.CodeStillRunning)
		release()
		w.Settled(0)
	})
}

// TestChildThatEndedByItself withdraws a task whose child has ended by its deadline, by the stop of
// its agent, or by an answer that cannot be read, while its handler runs on. No receipt is sent. A
// child that never began has nothing that runs.
func TestChildThatEndedByItself(t *testing.T) {
	for name, c := range map[string]struct {
		begin func(ctx context.Context, w *kit.World) (child p.AgentID, end func())
		state machine.State
		code  p.Code
	}{
		"the deadline passes": {func(context.Context, *kit.World) (p.AgentID, func()) { return "Stuck", func() {} }, "failed", p.CodeStillRunning},
		"the peer stops": {func(_ context.Context, w *kit.World) (p.AgentID, func()) {
			return "Stuck", func() { go func() { _ = w.StopAgent(w.T.Context(), "Stuck") }() }
		}, "failed", p.CodeStillRunning},
		"the peer is unknown": {func(context.Context, *kit.World) (p.AgentID, func()) { return "Nobody", func() {} }, "cancelled", p.CodeCanceled},
		"the peer had stopped": {func(ctx context.Context, w *kit.World) (p.AgentID, func()) {
			w.Add("Stopped", &kit.Worker{})
			_ = w.StopAgent(ctx, "Stopped")
			return "Stopped", func() {}
		}, "cancelled", p.CodeCanceled},
		"its answer cannot be read": {func(_ context.Context, w *kit.World) (p.AgentID, func()) {
			odd := w.Peer("Odd")
			return "Odd", func() {
				odd.ReplyOddly(odd.Expect(p.ActTaskRequest))
			}
		}, "failed", p.CodeStillRunning},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				release := stuck(w, "Stuck")
				peer, end := c.begin(t.Context(), w)
				w.Add("Middle", &kit.Worker{Perform: func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
					short, cancel := context.WithTimeout(ctx, time.Second)
					defer cancel()
					if _, err := delegation.Delegate(short, t.Agent, peer, t.TaskRequest); err == nil {
						w.T.Error("the child has a result")
					}
					return kit.UntilDone[p.InformResult, delegation.Task](ctx, t)
				}})
				d, err := delegation.Start(t.Context(), w.Eddy, "Middle", kit.Task())
				if err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				end()
				time.Sleep(10 * time.Second)
				d.Cancel()
				_, err = d.Wait()
				kit.WantEnd(t, err, c.state, c.code)
				release()
				w.Settled(0)
			})
		})
	}
}

// TestDeclinedChildWithoutAnswer checks that a child which was declined, and did not answer its
// CANCEL, may still run: no receipt is sent.
func TestDeclinedChildWithoutAnswer(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Asking", &kit.Worker{Perform: func(context.Context, delegation.Task) (p.InformResult, error) { return kit.Asking("more"), nil }})
		w.Add("Middle", &kit.Worker{Perform: func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
			_, err := delegation.Delegate(ctx, t.Agent, "Asking", t.TaskRequest, codons.WithGrace(time.Second))
			if err != nil {
				return p.InformResult{}, err
			}
			return kit.UntilDone[p.InformResult, delegation.Task](ctx, t)
		}})
		w.Net.Intercept(func(m *p.Message) bool { return m.Performative() == p.ActCancel && m.Receiver() == "Asking" })
		d, err := delegation.Start(t.Context(), w.Eddy, "Middle", kit.Task())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		d.Cancel()
		_, err = d.Wait()
		kit.WantEnd(t, err, "failed", p.CodeStillRunning)
		w.Net.Intercept(nil)
	})
}

// TestAnswerDecoderPanics checks that a panic of the decoder ends the wait of the handler.
func TestAnswerDecoderPanics(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Allow(systemtest.ErrorLogged)
		w.Add("Shop", &kit.RequestHandler{Handle: func(context.Context, request.Requested) (any, error) { return p.Raw(`{"price":3}`), nil }})
		var asked error
		w.Add("Middle", &kit.Worker{Perform: func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
			_, asked = request.Request[explosive](ctx, t.Agent, "Shop", kit.Order{Item: "tea"})
			return kit.Result(p.StatusSuccess), nil
		}})
		if _, err := delegation.Delegate(t.Context(), w.Eddy, "Middle", kit.Task()); err != nil || asked == nil {
			t.Errorf("%v; the answer was read with %v", err, asked)
		}
		w.Settled(0)
	})
}

type explosive struct{}

func (*explosive) UnmarshalJSON([]byte) error { panic("boom") }

// TestDecisionBeginsNoConversation checks that a decision can read the budget but not begin a
// conversation.
func TestDecisionBeginsNoConversation(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		var calls atomic.Int64
		loop := &kit.Worker{}
		loop.Consider = func(ctx context.Context, t delegation.Task) delegation.Decision {
			calls.Add(1)
			if left := codons.BudgetLeft(ctx).String(); left != "depth 32, tokens 9" {
				w.T.Errorf("left %q", left)
			}
			if err := codons.Spend(ctx, codons.Budget{codons.Tokens: 10}); err != nil {
				w.T.Error(err)
			}
			_, err := delegation.Start(ctx, t.Agent, "Loop", t.TaskRequest)
			if !errors.Is(err, codons.ErrDeciding) {
				w.T.Errorf("got %v, want %v", err, codons.ErrDeciding)
			}
			return delegation.Reject(p.CodeIncapable, "")
		}
		w.Add("Loop", loop)
		_, err := w.DelegateTo("Loop", codons.Budget{codons.Tokens: 9})
		kit.WantEnd(t, err, "rejected", p.CodeIncapable)
		if calls.Load() != 1 {
			t.Errorf("it decided %d times", calls.Load())
		}
		w.Settled(0)
	})
}

// TestChildOfRequestWithoutReplyBy checks the deadline of a child in a further round of a peer that
// sets no ReplyBy.
func TestChildOfRequestWithoutReplyBy(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		got := requests(w)
		var asked time.Time
		w.Add("Middle", &kit.Worker{
			Consider: func(_ context.Context, t delegation.Task) delegation.Decision {
				time.Sleep(time.Duration(len(t.Previous)) * time.Minute)
				return delegation.Accept()
			},
			Perform: func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
				if len(t.Previous) == 0 {
					return kit.Asking("more"), nil
				}
				return delegation.Delegate(ctx, t.Agent, "Leaf", t.TaskRequest)
			},
		})
		w.Add("Leaf", &kit.Worker{})
		a := w.Peer("peer")
		first := a.Send(p.Envelope{Receiver: "Middle", Payload: kit.Task()})
		a.Expect(p.ActTaskAccept)
		a.Expect(p.ActInformResult)
		asked = time.Now()
		a.Send(p.Envelope{Receiver: "Middle", Payload: kit.Task(), ConversationID: first.ConversationID(), InReplyTo: string(first.ID())})
		a.Expect(p.ActTaskAccept)
		a.Expect(p.ActInformResult)
		if by := got("Leaf")[0].ReplyBy(); !by.Equal(asked.Add(codons.DefaultDeadline - time.Second)) {
			t.Errorf("the child had until %v, its parent until %v", by, asked.Add(codons.DefaultDeadline))
		}
	})
}

// TestUnstoppedChildOfEarlierRound uses the context of an earlier round while the next round
// begins.
func TestUnstoppedChildOfEarlierRound(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		var spent error
		w.Add("Jules", &kit.Worker{Perform: func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
			if len(t.Previous) > 0 {
				return kit.UntilDone[p.InformResult, delegation.Task](ctx, t)
			}
			go func() {
				time.Sleep(time.Second)
				spent = codons.Spend(ctx, codons.Budget{codons.Tokens: 501})
			}()
			return kit.Asking("more"), nil
		}})
		_, err := w.Delegate(t.Context(), codons.WithBudget(codons.Budget{codons.Tokens: 500}),
			delegation.WithInput(func(context.Context, p.InformResult) (p.TaskRequest, bool) {
				time.Sleep(time.Second)
				return kit.Task(), true
			}))
		kit.WantEnd(t, err, "failed", p.CodeBudget)
		synctest.Wait()
		if !errors.Is(spent, p.CodeBudget) {
			t.Error(spent)
		}
		w.Settled(0)
	})
}

// clumsy is a stamper that panics once it is told to.
type clumsy struct{ broken atomic.Bool }

func (s *clumsy) Stamp() p.Stamp {
	if s.broken.Load() {
		panic("no more stamps")
	}
	return p.Stamp{ID: p.NewID(), Time: time.Now()}
}

// TestChildWhoseAgentStops checks that the peer of such a child counts as not stopped, and its
// whole allowance as used.
func TestChildWhoseAgentStops(t *testing.T) {
	t.Run("in order", func(t *testing.T) { childWhoseAgentStops(t, false) })
	t.Run("and fails over the end", func(t *testing.T) { childWhoseAgentStops(t, true) })
}

func childWhoseAgentStops(t *testing.T, fails bool) {
	t.Helper()
	s := &clumsy{}
	kit.InWorldWith(t, codons.Times{}, actors.Options{Stamper: s}, func(t *testing.T, w *kit.World) {
		w.Allow(systemtest.ErrorLogged)
		release := stuck(w, "Stuck")
		other := w.Add("Other", &kit.Worker{})
		left := make(chan string, 1)
		w.Add("Middle", &kit.Worker{Perform: func(ctx context.Context, task delegation.Task) (p.InformResult, error) {
			d, err := delegation.Start(ctx, other, "Stuck", task.TaskRequest)
			if err != nil {
				return p.InformResult{}, err
			}
			synctest.Wait()
			s.broken.Store(fails)
			if err := w.StopAgent(ctx, "Other"); err != nil {
				t.Error(err)
			}
			<-d.Done()
			s.broken.Store(false)
			left <- codons.BudgetLeft(ctx).String() + ", spent " + d.Spent().String()
			return kit.UntilDone[p.InformResult, delegation.Task](ctx, task)
		}})
		d, err := delegation.Start(t.Context(), w.Eddy, "Middle", kit.Task(), codons.WithBudget(codons.Budget{codons.Tokens: 9}))
		if err != nil {
			t.Fatal(err)
		}
		if got := <-left; got != "depth 32, tokens 0, spent tokens 9" {
			t.Errorf("left %s", got)
		}
		d.Cancel()
		_, err = d.Wait()
		kit.WantEnd(t, err, "failed", p.CodeStillRunning)
		release()
		w.Settled(0)
	})
}

// TestStuckDetachedChild checks that a detached child which does not stop prevents the receipt too.
func TestStuckDetachedChild(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		release := stuck(w, "Stuck")
		w.Add("Middle", &kit.Worker{Perform: func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
			<-ctx.Done()
			undo, cancel := context.WithTimeout(codons.Detach(ctx), time.Second)
			defer cancel()
			return delegation.Delegate(undo, t.Agent, "Stuck", t.TaskRequest)
		}})
		d, err := delegation.Start(t.Context(), w.Eddy, "Middle", kit.Task())
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		start := time.Now()
		d.Cancel()
		_, err = d.Wait()
		kit.WantEnd(t, err, "failed", p.CodeStillRunning)
		kit.WantElapsed(t, start, time.Second) // nothing would be learned from waiting longer
		release()
		w.Settled(0)
	})
}

// TestChildBudgetIsBounded checks that a child gets no more depth than its parent has.
func TestChildBudgetIsBounded(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		var calls atomic.Int64
		w.Add("Loop", &kit.Worker{Perform: func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
			if calls.Add(1) > 100 {
				return kit.Result(p.StatusSuccess), nil
			}
			return delegation.Delegate(codons.Detach(ctx), t.Agent, "Loop", t.TaskRequest, codons.WithBudget(codons.Budget{codons.Depth: math.MaxInt64}))
		}})
		_, err := delegation.Delegate(t.Context(), w.Eddy, "Loop", kit.Task())
		kit.WantEnd(t, err, "failed", p.CodeBudget)
		if calls.Load() != codons.DefaultDepth+1 {
			t.Errorf("%d levels, want %d", calls.Load(), codons.DefaultDepth+1)
		}
		w.Settled(0)
	})
}

// TestFailureBeforeHandlerReturns checks a FAILURE that the table of the peer sends by itself.
func TestFailureBeforeHandlerReturns(t *testing.T) {
	for _, code := range []p.Code{p.CodeTimeout, p.CodeStopped, p.CodeStillRunning} {
		kit.InWorld(t, func(t *testing.T, w *kit.World) {
			a := w.Peer("Leaf")
			w.Add("Middle", &kit.Worker{Perform: delegates("Leaf")})
			d, err := delegation.Start(t.Context(), w.Eddy, "Middle", kit.Task())
			if err != nil {
				t.Fatal(err)
			}
			a.Expect(p.ActTaskRequest)
			d.Cancel()
			a.Reply(a.Expect(p.ActCancel), p.Failure{ErrorCode: code})
			_, err = d.Wait()
			kit.WantEnd(t, err, "failed", p.CodeStillRunning)
			w.Settled(0)
		})
	}
}

// publisher accepts each subscription.
type publisher struct {
	kit.Plain
	topic *subscribe.Topic[int]
}

func (s *publisher) ConsiderSubscription(context.Context, subscribe.Subscribing) (subscribe.Feed, error) {
	return s.topic.Feed(), nil
}

// TestStreamEndsAtParentDeadline checks a stream without a deadline of its own, begun with a
// detached ctx.
func TestStreamEndsAtParentDeadline(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		var by time.Time
		w.Net.Intercept(func(m *p.Message) bool {
			if m.Performative() == p.ActSubscribe {
				by = m.ReplyBy()
			}
			return false
		})
		w.Add("Publisher", &publisher{topic: subscribe.NewTopic[int](subscribe.TopicOptions{})})
		w.Add("Middle", &kit.Worker{Perform: func(ctx context.Context, task delegation.Task) (p.InformResult, error) {
			s, err := subscribe.Subscribe[int](context.WithoutCancel(ctx), task.Agent, "Publisher", subscribe.Subscription{Topic: "beats"})
			if err != nil {
				return p.InformResult{}, err
			}
			return kit.Result(p.StatusSuccess), s.Unsubscribe()
		}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		want, _ := ctx.Deadline()
		if _, err := delegation.Delegate(ctx, w.Eddy, "Middle", kit.Task()); err != nil || !by.Equal(want.Add(-time.Second)) {
			t.Errorf("the stream may take until %v, its parent until %v; %v", by, want, err)
		}
	})
}

// TestStoppedChildAfterAStuckOne checks that a child which stops does not make up for an earlier
// one that did not.
func TestStoppedChildAfterAStuckOne(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		release := stuck(w, "Stuck")
		w.Add("Slow", &kit.Worker{Perform: kit.UntilDone[p.InformResult, delegation.Task]})
		w.Add("Middle", &kit.Worker{Perform: func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
			d, err := delegation.Start(ctx, t.Agent, "Stuck", t.TaskRequest)
			if err != nil {
				return p.InformResult{}, err
			}
			synctest.Wait()
			d.Cancel()
			if _, err = d.Wait(); !errors.Is(err, p.CodeStillRunning) {
				w.T.Errorf("the child ended with %v", err)
			}
			return delegation.Delegate(ctx, t.Agent, "Slow", t.TaskRequest)
		}})
		d, err := delegation.Start(t.Context(), w.Eddy, "Middle", kit.Task())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		d.Cancel()
		_, err = d.Wait()
		kit.WantEnd(t, err, "failed", p.CodeStillRunning)
		release()
		w.Settled(0)
	})
}

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
	p "github.com/ribosome-agents/ribosome/performatives"
)

// stuck is an agent whose handler does not look at its context.
func (w *world) stuck(id p.AgentID) (release func()) {
	block := make(chan struct{})
	w.spawn(id, &worker{perform: func(context.Context, codons.Task) (p.InformResult, error) {
		<-block
		return result(p.StatusSuccess), nil
	}})
	return func() { close(block) }
}

// TestACancelWhileItSettles comes when the handler has returned and its child has
// been withdrawn: the receipt is no less a promise then.
func TestACancelWhileItSettles(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		release := w.stuck("Stuck")
		w.spawn("Middle", &worker{perform: func(ctx context.Context, t codons.Task) (p.InformResult, error) {
			_, err := codons.StartDelegation(ctx, t.Agent, "Stuck", t.TaskRequest)
			synctest.Wait()
			return result(p.StatusSuccess), err
		}})
		d, err := codons.StartDelegation(t.Context(), w.eddy, "Middle", task())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // the grace of the child has begun
		d.Cancel()
		_, err = d.Wait()
		wantEnd(t, err, "failed", p.CodeStillRunning)
		release()
		w.settled(0)
	})
}

// TestAChildThatWasGivenUp by its parent's handler runs on all the same.
func TestAChildThatWasGivenUp(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		release := w.stuck("Stuck")
		w.spawn("Middle", &worker{perform: func(ctx context.Context, t codons.Task) (p.InformResult, error) {
			d, err := codons.StartDelegation(ctx, t.Agent, "Stuck", t.TaskRequest)
			if err != nil {
				return p.InformResult{}, err
			}
			synctest.Wait()
			d.Cancel()
			_, _ = d.Wait()
			return patient(ctx, t)
		}})
		d, err := codons.StartDelegation(t.Context(), w.eddy, "Middle", task())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		d.Cancel()
		_, err = d.Wait()
		wantEnd(t, err, "failed", p.CodeStillRunning)
		release()
		w.settled(0)
	})
}

// TestAChildWhoseTimeHasPassed is no reason to say that something runs.
func TestAChildWhoseTimeHasPassed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Slow", &worker{perform: patient})
		w.spawn("Middle", &worker{perform: func(ctx context.Context, t codons.Task) (p.InformResult, error) {
			short, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_, _ = codons.Delegate(short, t.Agent, "Slow", t.TaskRequest)
			return patient(ctx, t)
		}})
		d, err := codons.StartDelegation(t.Context(), w.eddy, "Middle", task())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		d.Cancel()
		_, err = d.Wait()
		wantEnd(t, err, "cancelled", p.CodeCanceled)
		w.settled(0)
	})
}

// TestAnAnswerWhoseTypePanics must not keep the handler that asked waiting for ever.
func TestAnAnswerWhoseTypePanics(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Shop", &shop{func(context.Context, codons.Requested) (any, error) { return p.Raw(`{"price":3}`), nil }})
		var asked error
		w.spawn("Middle", &worker{perform: func(ctx context.Context, t codons.Task) (p.InformResult, error) {
			_, asked = codons.Request[explosive](ctx, t.Agent, "Shop", order{"tea"})
			return result(p.StatusSuccess), nil
		}})
		if _, err := codons.Delegate(t.Context(), w.eddy, "Middle", task()); err != nil || asked == nil {
			t.Errorf("%v; the answer was read with %v", err, asked)
		}
		w.settled(0)
	})
}

type explosive struct{}

func (*explosive) UnmarshalJSON([]byte) error { panic("boom") }

// TestADecisionBeginsNothing since nothing is decided yet, but may look at the budget.
func TestADecisionBeginsNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var calls atomic.Int64
		loop := &worker{}
		loop.consider = func(ctx context.Context, t codons.Task) codons.Decision {
			calls.Add(1)
			if left := codons.Left(ctx).String(); left != "depth 32, tokens 9" {
				w.t.Errorf("left %q", left)
			}
			if err := codons.Spend(ctx, codons.Budget{codons.Tokens: 10}); err != nil {
				w.t.Error(err)
			}
			_, err := codons.StartDelegation(ctx, t.Agent, "Loop", t.TaskRequest)
			if !errors.Is(err, codons.ErrDeciding) {
				w.t.Errorf("got %v, want %v", err, codons.ErrDeciding)
			}
			return codons.Reject(p.CodeIncapable, "")
		}
		w.spawn("Loop", loop)
		_, err := w.delegateTo("Loop", codons.Budget{codons.Tokens: 9})
		wantEnd(t, err, "rejected", p.CodeIncapable)
		if calls.Load() != 1 {
			t.Errorf("it decided %d times", calls.Load())
		}
		w.settled(0)
	})
}

// TestADeadlineOfTheAgentsOwnFlowsDown has the agent take its time over a further
// round of a peer that names no ReplyBy.
func TestADeadlineOfTheAgentsOwnFlowsDown(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		got := w.requests()
		var asked time.Time
		w.spawn("Middle", &worker{
			consider: func(_ context.Context, t codons.Task) codons.Decision {
				time.Sleep(time.Duration(len(t.Previous)) * time.Minute)
				return codons.Accept()
			},
			perform: func(ctx context.Context, t codons.Task) (p.InformResult, error) {
				if len(t.Previous) == 0 {
					return asking("more"), nil
				}
				return codons.Delegate(ctx, t.Agent, "Leaf", t.TaskRequest)
			},
		})
		w.spawn("Leaf", &worker{})
		a := w.puppet("puppet")
		first := a.say(p.Envelope{Receiver: "Middle", Payload: task()})
		a.next(p.ActTaskAccept)
		a.next(p.ActInformResult)
		asked = time.Now()
		a.say(p.Envelope{Receiver: "Middle", Payload: task(), ConversationID: first.ConversationID(), InReplyTo: string(first.ID())})
		a.next(p.ActTaskAccept)
		a.next(p.ActInformResult)
		if by := got("Leaf")[0].ReplyBy(); !by.Equal(asked.Add(codons.DefaultDeadline)) {
			t.Errorf("the child had until %v, its parent until %v", by, asked.Add(codons.DefaultDeadline))
		}
	})
}

// TestWhatAnEarlierRoundLeft may go on to use the context that it had, as the further
// round begins.
func TestWhatAnEarlierRoundLeft(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var spent error
		w.spawn("Jules", &worker{perform: func(ctx context.Context, t codons.Task) (p.InformResult, error) {
			if len(t.Previous) > 0 {
				return patient(ctx, t)
			}
			go func() {
				time.Sleep(time.Second)
				spent = codons.Spend(ctx, codons.Budget{codons.Tokens: 501})
			}()
			return asking("more"), nil
		}})
		_, err := w.delegate(t.Context(), codons.WithBudget(codons.Budget{codons.Tokens: 500}),
			codons.WithInput(func(context.Context, p.InformResult) (p.TaskRequest, bool) {
				time.Sleep(time.Second)
				return task(), true
			}))
		wantEnd(t, err, "failed", p.CodeBudget)
		synctest.Wait()
		if !errors.Is(spent, p.CodeBudget) {
			t.Error(spent)
		}
		w.settled(0)
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

// TestAChildWhoseAgentStops leaves a peer that has perhaps not been told to stop, and
// may have used all that it got.
func TestAChildWhoseAgentStops(t *testing.T) {
	t.Run("in order", func(t *testing.T) { childWhoseAgentStops(t, false) })
	t.Run("and fails over the end", func(t *testing.T) { childWhoseAgentStops(t, true) })
}

func childWhoseAgentStops(t *testing.T, fails bool) {
	t.Helper()
	s := &clumsy{}
	inWorldWith(t, actors.Options{Stamper: s}, func(t *testing.T, w *world) {
		release := w.stuck("Stuck")
		other := w.spawn("Other", &worker{})
		left := make(chan string, 1)
		w.spawn("Middle", &worker{perform: func(ctx context.Context, task codons.Task) (p.InformResult, error) {
			d, err := codons.StartDelegation(ctx, other, "Stuck", task.TaskRequest)
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
			left <- codons.Left(ctx).String() + ", spent " + d.Spent().String()
			return patient(ctx, task)
		}})
		d, err := codons.StartDelegation(t.Context(), w.eddy, "Middle", task(), codons.WithBudget(codons.Budget{codons.Tokens: 9}))
		if err != nil {
			t.Fatal(err)
		}
		if got := <-left; got != "depth 32, tokens 0, spent tokens 9" {
			t.Errorf("left %s", got)
		}
		d.Cancel()
		_, err = d.Wait()
		wantEnd(t, err, "failed", p.CodeStillRunning)
		release()
		w.settled(0)
	})
}

// TestADetachedChildThatIsStuck is as good a reason not to say that all has stopped.
func TestADetachedChildThatIsStuck(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		release := w.stuck("Stuck")
		w.spawn("Middle", &worker{perform: func(ctx context.Context, t codons.Task) (p.InformResult, error) {
			<-ctx.Done()
			undo, cancel := context.WithTimeout(codons.Detach(ctx), time.Second)
			defer cancel()
			return codons.Delegate(undo, t.Agent, "Stuck", t.TaskRequest)
		}})
		d, err := codons.StartDelegation(t.Context(), w.eddy, "Middle", task())
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		start := time.Now()
		d.Cancel()
		_, err = d.Wait()
		wantEnd(t, err, "failed", p.CodeStillRunning)
		wantElapsed(t, start, time.Second) // nothing would be learned from waiting longer
		release()
		w.settled(0)
	})
}

// TestNobodyAllowsMoreThanHeHas of the depth.
func TestNobodyAllowsMoreThanHeHas(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var calls atomic.Int64
		w.spawn("Loop", &worker{perform: func(ctx context.Context, t codons.Task) (p.InformResult, error) {
			if calls.Add(1) > 100 {
				return result(p.StatusSuccess), nil
			}
			return codons.Delegate(codons.Detach(ctx), t.Agent, "Loop", t.TaskRequest, codons.WithBudget(codons.Budget{codons.Depth: math.MaxInt64}))
		}})
		_, err := codons.Delegate(t.Context(), w.eddy, "Loop", task())
		wantEnd(t, err, "failed", p.CodeBudget)
		if calls.Load() != codons.DefaultDepth+1 {
			t.Errorf("%d levels, want %d", calls.Load(), codons.DefaultDepth+1)
		}
		w.settled(0)
	})
}

// TestAFailureThatComesBeforeTheEnd is one that the peer's table sent of its own accord.
func TestAFailureThatComesBeforeTheEnd(t *testing.T) {
	for _, code := range []p.Code{p.CodeTimeout, p.CodeStopped, p.CodeStillRunning} {
		inWorld(t, func(t *testing.T, w *world) {
			a := w.puppet("Leaf")
			w.spawn("Middle", &worker{perform: delegates("Leaf")})
			d, err := codons.StartDelegation(t.Context(), w.eddy, "Middle", task())
			if err != nil {
				t.Fatal(err)
			}
			a.next(p.ActTaskRequest)
			d.Cancel()
			a.reply(a.next(p.ActCancel), p.Failure{ErrorCode: code})
			_, err = d.Wait()
			wantEnd(t, err, "failed", p.CodeStillRunning)
			w.settled(0)
		})
	}
}

// TestAStreamEndsByItsParentsDeadline although it has none of its own, and the ctx that
// it was begun with has none any more.
func TestAStreamEndsByItsParentsDeadline(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var by time.Time
		w.net.before = func(m *p.Message) {
			if m.Performative() == p.ActSubscribe {
				by = m.ReplyBy()
			}
		}
		w.spawn("Station", newStation(codons.TopicOptions{}))
		w.spawn("Middle", &worker{perform: func(ctx context.Context, task codons.Task) (p.InformResult, error) {
			s, err := codons.Subscribe[beat](context.WithoutCancel(ctx), task.Agent, "Station", codons.Subscription{Topic: "beats"})
			if err != nil {
				return p.InformResult{}, err
			}
			return result(p.StatusSuccess), s.Unsubscribe()
		}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		want, _ := ctx.Deadline()
		if _, err := codons.Delegate(ctx, w.eddy, "Middle", task()); err != nil || !by.Equal(want) {
			t.Errorf("the stream may take until %v, its parent until %v; %v", by, want, err)
		}
	})
}

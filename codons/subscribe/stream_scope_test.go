package subscribe_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/subscribe"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// julesListens has Jules work on a task with a budget of so many tokens and calls, and
// listen to the station meanwhile.
func julesListens(t *testing.T, w *kit.World, budget codons.Budget, work func(ctx context.Context, s *subscribe.Stream[beat]) error) error {
	t.Helper()
	var jules actors.Self
	jules = w.Add("Jules", &kit.Worker{Perform: func(ctx context.Context, _ delegation.Task) (p.InformResult, error) {
		s, err := subscribe.Subscribe[beat](ctx, jules, "Station", beats)
		if err == nil {
			err = work(ctx, s)
		}
		return kit.Result(p.StatusSuccess), err
	}})
	_, err := w.Delegate(t.Context(), codons.WithBudget(budget))
	return err
}

// The work beside a stream keeps its budget, except for the call that the subscription
// costs.
func TestStreamUsesNoBudget(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		st := newPublisher(subscribe.TopicOptions{})
		w.Add("Station", st)
		err := julesListens(t, w, codons.Budget{codons.Tokens: 100, codons.Calls: 3}, func(ctx context.Context, s *subscribe.Stream[beat]) error {
			if left := codons.BudgetLeft(ctx); left[codons.Tokens] != 100 || left[codons.Calls] != 2 {
				t.Errorf("left %v", left)
			}
			stopStation(w)
			w.Add("Station", st)
			time.Sleep(time.Minute)
			st.publish(1, 1)
			wantNumbers(t, read(t, s, 1), 1)
			if err := s.Unsubscribe(); err != nil {
				t.Error(err)
			}
			if left := codons.BudgetLeft(ctx); left[codons.Tokens] != 100 || left[codons.Calls] != 1 {
				t.Errorf("left %v", left)
			}
			return codons.Spend(ctx, codons.Budget{codons.Tokens: 100})
		})
		if err != nil {
			t.Error(err)
		}
		w.Settled(0)
	})
}

// A stream that breaks ends if the budget has no call left.
func TestStreamWithoutBudgetToResume(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		st := newPublisher(subscribe.TopicOptions{})
		w.Add("Station", st)
		err := julesListens(t, w, codons.Budget{codons.Calls: 1}, func(_ context.Context, s *subscribe.Stream[beat]) error {
			stopStation(w)
			<-s.Done()
			kit.WantEnd(t, s.Err(), "abandoned", p.CodeBudget)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		w.Settled(0)
	})
}

// A stream, subscribed or broken, ends before the work whose context it was begun with.
func TestStreamEndsWithItsWork(t *testing.T) {
	for _, broken := range []bool{false, true} {
		kit.InWorld(t, func(t *testing.T, w *kit.World) {
			st := newPublisher(subscribe.TopicOptions{})
			w.Add("Station", st)
			var s *subscribe.Stream[beat]
			err := julesListens(t, w, nil, func(_ context.Context, listening *subscribe.Stream[beat]) error {
				if s = listening; broken {
					stopStation(w)
					synctest.Wait()
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
			synctest.Wait()
			if !errors.Is(s.Err(), p.CodeCanceled) || kit.EndOf(t, s.Err()) == nil || st.topic.Subscribers() != 0 {
				t.Errorf("%v, %d subscribers", s.Err(), st.topic.Subscribers())
			}
			w.Settled(0)
		})
	}
}

// The context ends before the publisher has answered.
func TestStreamIsLeftWhileItResumes(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		st := newPublisher(subscribe.TopicOptions{})
		w.Add("Station", st)
		ctx, cancel := context.WithCancel(t.Context())
		s := listen(w, ctx)
		stopStation(w)
		w.Add("Station", st)
		var held *p.Message
		w.Net.Intercept(func(m *p.Message) bool {
			if m.Performative() == p.ActSubscribe && held == nil {
				held = m
				return true
			}
			return false
		})
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if held == nil || s.Status().State != subscribe.StreamBroken {
			t.Fatalf("%+v", s.Status())
		}
		cancel()
		<-s.Done()
		kit.WantEnd(t, s.Err(), "cancelled", p.CodeCanceled)
		_ = w.Deliver("Station", held) // too late
		w.Settled(0)
		if n := st.topic.Subscribers(); n != 0 {
			t.Errorf("%d subscribers", n)
		}
	})
}

// Under the first conversation id the publisher may still have the broken conversation.
func TestStreamResumesUnderAnotherID(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		st := newPublisher(subscribe.TopicOptions{})
		w.Add("Station", st)
		agreed := 0
		s := listen(w, t.Context(), subscribe.WithHeartbeat(time.Second), codons.WithConversation("beats"),
			codons.WithAgreed(func() { agreed++ }))
		w.Net.Intercept(func(*p.Message) bool { return true })
		time.Sleep(3 * time.Second) // not long enough for the publisher
		synctest.Wait()
		if n := st.topic.Subscribers(); n != 1 || s.Status().State != subscribe.StreamBroken {
			t.Fatalf("%d subscribers, %+v", n, s.Status())
		}
		w.Net.Intercept(nil)
		st.publish(1, 1)
		got := read(t, s, 1)
		if got[0].Break == nil || lost(got) != 0 || agreed != 1 {
			t.Errorf("got %+v, agreed %d times", got, agreed)
		}
		_ = s.Unsubscribe()
	})
}

package codons_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// julesListens has Jules work on a task with a budget of so many tokens and calls, and
// listen to the station meanwhile.
func julesListens(t *testing.T, w *world, budget codons.Budget, work func(ctx context.Context, s *codons.Stream[beat]) error) error {
	t.Helper()
	var jules actors.Self
	jules = w.spawn("Jules", &worker{perform: func(ctx context.Context, _ codons.Task) (p.InformResult, error) {
		s, err := codons.Subscribe[beat](ctx, jules, "Station", beats)
		if err == nil {
			err = work(ctx, s)
		}
		return result(p.StatusSuccess), err
	}})
	_, err := w.delegate(t.Context(), codons.WithBudget(budget))
	return err
}

// TestAStreamLeavesTheBudgetAlone: the work goes on beside it, and has all of it but the
// calls that the subscriptions are.
func TestAStreamLeavesTheBudgetAlone(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		st := newStation(codons.TopicOptions{})
		w.spawn("Station", st)
		err := julesListens(t, w, codons.Budget{codons.Tokens: 100, codons.Calls: 3}, func(ctx context.Context, s *codons.Stream[beat]) error {
			if left := codons.Left(ctx); left[codons.Tokens] != 100 || left[codons.Calls] != 2 {
				t.Errorf("left %v", left)
			}
			w.stopStation()
			w.spawn("Station", st)
			time.Sleep(time.Minute)
			st.publish(1, 1)
			wantNumbers(t, read(t, s, 1), 1)
			if err := s.Unsubscribe(); err != nil {
				t.Error(err)
			}
			if left := codons.Left(ctx); left[codons.Tokens] != 100 || left[codons.Calls] != 1 {
				t.Errorf("left %v", left)
			}
			return codons.Spend(ctx, codons.Budget{codons.Tokens: 100})
		})
		if err != nil {
			t.Error(err)
		}
		w.settled(0)
	})
}

// TestABrokenStreamHasNoBudgetLeft: then it ends, and says why.
func TestABrokenStreamHasNoBudgetLeft(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		st := newStation(codons.TopicOptions{})
		w.spawn("Station", st)
		err := julesListens(t, w, codons.Budget{codons.Calls: 1}, func(_ context.Context, s *codons.Stream[beat]) error {
			w.stopStation()
			<-s.Done()
			wantEnd(t, s.Err(), "abandoned", p.CodeBudget)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		w.settled(0)
	})
}

// TestAStreamEndsWithTheWork in which it was begun, and before it, be it whole or broken.
func TestAStreamEndsWithTheWork(t *testing.T) {
	for _, broken := range []bool{false, true} {
		inWorld(t, func(t *testing.T, w *world) {
			st := newStation(codons.TopicOptions{})
			w.spawn("Station", st)
			var s *codons.Stream[beat]
			err := julesListens(t, w, nil, func(_ context.Context, listening *codons.Stream[beat]) error {
				if s = listening; broken {
					w.stopStation()
					synctest.Wait()
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
			synctest.Wait()
			if !errors.Is(s.Err(), p.CodeCanceled) || endOf(t, s.Err()) == nil || st.topic.Subscribers() != 0 {
				t.Errorf("%v, %d subscribers", s.Err(), st.topic.Subscribers())
			}
			w.settled(0)
		})
	}
}

// TestAStreamIsLeftAsItResumes: its context ends while the publisher has not answered yet.
func TestAStreamIsLeftAsItResumes(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		st := newStation(codons.TopicOptions{})
		w.spawn("Station", st)
		ctx, cancel := context.WithCancel(t.Context())
		s := w.listen(ctx)
		w.stopStation()
		w.spawn("Station", st)
		var held *p.Message
		w.net.intercept(func(m *p.Message) bool {
			if m.Performative() == p.ActSubscribe && held == nil {
				held = m
				return true
			}
			return false
		})
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if held == nil || s.Status().State != codons.StreamBroken {
			t.Fatalf("%+v", s.Status())
		}
		cancel()
		<-s.Done()
		wantEnd(t, s.Err(), "cancelled", p.CodeCanceled)
		_ = w.Deliver("Station", held) // too late
		w.settled(0)
		if n := st.topic.Subscribers(); n != 0 {
			t.Errorf("%d subscribers", n)
		}
	})
}

// TestANamedStreamResumes under another name: under its own, the publisher still has the
// one that broke.
func TestANamedStreamResumes(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		st := newStation(codons.TopicOptions{})
		w.spawn("Station", st)
		agreed := 0
		s := w.listen(t.Context(), codons.WithHeartbeat(time.Second), codons.WithConversation("beats"),
			codons.WithAgreed(func() { agreed++ }))
		w.net.intercept(func(*p.Message) bool { return true })
		time.Sleep(3 * time.Second) // not long enough for the publisher
		synctest.Wait()
		if n := st.topic.Subscribers(); n != 1 || s.Status().State != codons.StreamBroken {
			t.Fatalf("%d subscribers, %+v", n, s.Status())
		}
		w.net.intercept(nil)
		st.publish(1, 1)
		got := read(t, s, 1)
		if got[0].Break == nil || lost(got) != 0 || agreed != 1 {
			t.Errorf("got %+v, agreed %d times", got, agreed)
		}
		_ = s.Unsubscribe()
	})
}

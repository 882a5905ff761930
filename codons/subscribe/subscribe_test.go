package subscribe_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/subscribe"
	"github.com/ribosome-agents/ribosome/internal/exhaustive"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	"github.com/ribosome-agents/ribosome/internal/systemtest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

var beats = subscribe.Subscription{Topic: "beats"}

// listen subscribes Eddy to the station.
func listen(w *kit.World, ctx context.Context, opts ...codons.Option) *subscribe.Stream[beat] {
	w.T.Helper()
	s, err := subscribe.Subscribe[beat](ctx, w.Eddy, "Station", beats, opts...)
	if err != nil {
		w.T.Fatal(err)
	}
	return s
}

// read takes n events.
func read(t testing.TB, s *subscribe.Stream[beat], n int) []subscribe.Event[beat] {
	t.Helper()
	var got []subscribe.Event[beat]
	for range n {
		e, err := s.Next(t.Context())
		if err != nil {
			t.Fatalf("after %d of %d events: %v", len(got), n, err)
		}
		got = append(got, e)
	}
	return got
}

// readTo reads up to the event of that number.
func readTo(t testing.TB, s *subscribe.Stream[beat], last int) []subscribe.Event[beat] {
	t.Helper()
	got := read(t, s, 1)
	for got[len(got)-1].Value.N != last {
		got = append(got, read(t, s, 1)...)
	}
	return got
}

// pending takes what has come.
func pending(t testing.TB, s *subscribe.Stream[beat]) []subscribe.Event[beat] {
	t.Helper()
	synctest.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var got []subscribe.Event[beat]
	for {
		e, err := s.Next(ctx)
		if err != nil {
			return got
		}
		got = append(got, e)
	}
}

func numbers(events []subscribe.Event[beat]) []int {
	var ns []int
	for _, e := range events {
		ns = append(ns, e.Value.N)
	}
	return ns
}

func lost(events []subscribe.Event[beat]) (n int) {
	for _, e := range events {
		n += int(e.Lost)
	}
	return n
}

func wantNumbers(t testing.TB, events []subscribe.Event[beat], want ...int) {
	t.Helper()
	if got := numbers(events); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestSubscribe(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		st := newPublisher(subscribe.TopicOptions{})
		w.Add("Station", st)
		st.publish(1, 3) // before anyone listens
		s := listen(w, t.Context())
		st.publish(4, 6)
		got := read(t, s, 3)
		wantNumbers(t, got, 4, 5, 6)
		if got[0].Seq != 4 || got[0].Epoch == "" || lost(got) != 0 || got[0].Uncounted || got[0].Break != nil {
			t.Errorf("got %+v", got)
		}
		if n := st.topic.Subscribers(); n != 1 || s.Status().State != subscribe.StreamSubscribed || s.Err() != nil {
			t.Errorf("%d subscribers, %+v, %v", n, s.Status(), s.Err())
		}
		if err := s.Unsubscribe(); err != nil {
			t.Error(err)
		}
		kit.WantEnd(t, s.Err(), "cancelled", p.CodeCanceled)
		for range s.Events() {
			t.Error("an event after the end")
		}
		if n := st.topic.Subscribers(); n != 0 {
			t.Errorf("%d subscribers left", n)
		}
		kit.Golden(t, "subscribe", w.Lines())
		w.Settled(0)
	})
}

func TestSubscriptionIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		consider func(subscribe.Subscribing) (subscribe.Feed, error)
		state    string
		code     p.Code
	}{
		"refused": {func(subscribe.Subscribing) (subscribe.Feed, error) {
			return subscribe.Feed{}, &p.Refusal{Code: p.CodeForbidden}
		}, "refused", p.CodeForbidden},
		"not understood": {func(subscribe.Subscribing) (subscribe.Feed, error) {
			return subscribe.Feed{}, &p.Refusal{Code: p.CodeInvalidPayload}
		}, "not_understood", p.CodeInvalidPayload},
		"failed":  {func(subscribe.Subscribing) (subscribe.Feed, error) { return subscribe.Feed{}, errors.New("secret") }, "failed", p.CodeFailed},
		"no feed": {func(subscribe.Subscribing) (subscribe.Feed, error) { return subscribe.Feed{}, nil }, "refused", p.CodeIncapable},
		"closed": {func(subscribe.Subscribing) (subscribe.Feed, error) {
			var topic subscribe.Topic[beat]
			topic.Close("")
			return topic.Feed(), nil
		}, "failed", p.CodeConversationEnded},
		"panicked": {func(subscribe.Subscribing) (subscribe.Feed, error) { panic("oh") }, "failed", p.CodeInternal},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				w.Allow(systemtest.ErrorLogged)
				st := newPublisher(subscribe.TopicOptions{})
				st.consider = c.consider
				w.Add("Station", st)
				if name == "panicked" { // the message is refused in its stead
					w.Allow(systemtest.Violation)
				}
				_, err := subscribe.Subscribe[beat](t.Context(), w.Eddy, "Station", beats)
				kit.WantEnd(t, err, machine.State(c.state), c.code)
				w.Settled(0)
			})
		})
	}
}

func TestSubscriptionToUnknownAgent(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{})
		_, err := subscribe.Subscribe[beat](t.Context(), w.Eddy, "Jules", beats)
		kit.WantEnd(t, err, "refused", p.CodeIncapable)
		_, err = subscribe.Subscribe[beat](t.Context(), w.Eddy, "Nobody", beats)
		kit.WantEnd(t, err, "refused", p.CodeUnknownAgent)
		if _, err := subscribe.Subscribe[beat](t.Context(), w.Eddy, "Jules", subscribe.Subscription{}); !errors.Is(err, p.CodeInvalidPayload) {
			t.Errorf("no topic: %v", err)
		}
		w.Settled(0)
	})
}

func TestSubscriptionsBeyondTheLimitAreBusy(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		st := newPublisher(subscribe.TopicOptions{})
		st.max = 1
		w.Add("Station", st)
		first := listen(w, t.Context())
		_, err := subscribe.Subscribe[beat](t.Context(), w.Eddy, "Station", beats)
		kit.WantEnd(t, err, "refused", p.CodeBusy)
		if err := first.Unsubscribe(); err != nil {
			t.Error(err)
		}
		_ = listen(w, t.Context()).Unsubscribe() // the place is free again
		w.Settled(0)
	})
}

// The end of ctx unsubscribes.
func TestSubscriptionEndsWithItsContext(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		st := newPublisher(subscribe.TopicOptions{})
		w.Add("Station", st)
		ctx, cancel := context.WithCancel(t.Context())
		s := listen(w, ctx)
		st.publish(1, 2)
		synctest.Wait()
		cancel()
		var got []subscribe.Event[beat]
		for e := range s.Events() {
			got = append(got, e)
		}
		wantNumbers(t, got, 1, 2)
		kit.WantEnd(t, s.Err(), "cancelled", p.CodeCanceled)
		if !errors.Is(s.Err(), context.Canceled) || st.topic.Subscribers() != 0 {
			t.Errorf("%v, %d subscribers", s.Err(), st.topic.Subscribers())
		}
		w.Settled(0)
	})
}

// Without a deadline of ctx a subscription without events outlives the default deadline.
func TestSubscriptionHasNoDeadline(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		st := newPublisher(subscribe.TopicOptions{})
		w.Add("Station", st)
		s := listen(w, t.Context())
		time.Sleep(100 * codons.DefaultDeadline)
		st.publish(1, 1)
		wantNumbers(t, read(t, s, 1), 1)
		if s.Status().Breaks != 0 {
			t.Errorf("%+v", s.Status())
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		leased := listen(w, ctx)
		start := time.Now()
		<-leased.Done()
		kit.WantElapsed(t, start, time.Hour)
		synctest.Wait()
		if !errors.Is(leased.Err(), p.CodeTimeout) || st.topic.Subscribers() != 1 {
			t.Errorf("%v, %d subscribers", leased.Err(), st.topic.Subscribers())
		}
		_ = s.Unsubscribe()
		w.Settled(0)
	})
}

func TestSubscriptionSurvivesLosses(t *testing.T) {
	for _, act := range []p.Performative{p.ActSubscribe, p.ActAgree, p.ActCancel} {
		kit.InWorld(t, func(t *testing.T, w *kit.World) {
			st := newPublisher(subscribe.TopicOptions{})
			w.Add("Station", st)
			w.Net.Lose(act, 2)
			s := listen(w, t.Context())
			st.publish(1, 3)
			wantNumbers(t, read(t, s, 3), 1, 2, 3)
			if err := s.Unsubscribe(); err != nil {
				t.Errorf("%s: %v", act, err)
			}
			w.Settled(0)
		})
	}
}

// The publisher sends the receipt again.
func TestReceiptIsLost(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Station", newPublisher(subscribe.TopicOptions{}))
		s := listen(w, t.Context())
		w.Net.Lose(p.ActInform, 1)
		if err := s.Unsubscribe(); err != nil {
			t.Error(err)
		}
		w.Settled(0)
	})
}

// The network loses, repeats and reorders events.
func TestLostEventsAreCounted(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		st := newPublisher(subscribe.TopicOptions{})
		w.Add("Station", st)
		s := listen(w, t.Context())
		w.Net.Lose(p.ActInform, 2)
		st.publish(1, 3)
		got := pending(t, s)
		wantNumbers(t, got, 3)
		if lost(got) != 2 {
			t.Errorf("got %+v", got)
		}
		var kept *p.Message
		w.Net.Intercept(func(m *p.Message) bool {
			if m.Performative() == p.ActInform && kept == nil {
				kept = m
				return true
			}
			return false
		})
		st.publish(4, 5)
		got = pending(t, s)
		wantNumbers(t, got, 5)
		if lost(got) != 1 {
			t.Errorf("got %+v", got)
		}
		dead := w.Counts().DeadLetters
		for range 2 { // overtaken, and then a duplicate
			_ = w.Deliver("Eddy", kept)
		}
		if got := pending(t, s); got != nil || w.Counts().DeadLetters != dead+2 {
			t.Errorf("got %+v, %d dead letters", got, w.Counts().DeadLetters-dead)
		}
		_ = s.Unsubscribe()
	})
}

// The stream keeps the first events and the publisher the latest. Those between are dropped
// and counted.
func TestStalledReaderLosesOnlyItsOwnEvents(t *testing.T) {
	const room = 512
	events := 100_000
	if racetest.Enabled {
		events = 4_000
	}
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		st := newPublisher(subscribe.TopicOptions{Buffer: room})
		w.Add("Station", st)
		var good []*subscribe.Stream[beat]
		for range 3 {
			good = append(good, listen(w, t.Context(), subscribe.WithBuffer(room)))
		}
		stalled := listen(w, t.Context(), subscribe.WithBuffer(room))
		read := make([]int, len(good))
		for n := 1; n <= events; n += room / 2 {
			st.publish(n, min(n+room/2-1, events))
			for i, s := range good {
				for _, e := range pending(t, s) {
					read[i]++
					if e.Value.N != read[i] || e.Lost != 0 {
						t.Fatalf("stream %d: got %+v after %d", i, e, read[i]-1)
					}
				}
			}
		}
		if !slices.Equal(read, []int{events, events, events}) {
			t.Errorf("read %v", read)
		}
		got := readTo(t, stalled, events)
		if len(got)+lost(got) != events || len(got) != 2*room || got[room].Value.N != events-room+1 {
			t.Errorf("%d came and %d were lost, which is not %d", len(got), lost(got), events)
		}
		for _, s := range append(good, stalled) {
			_ = s.Unsubscribe()
		}
		w.Settled(0)
	})
}

// No event reaches the conversation of the stalled agent.
func TestStalledAgentLosesOnlyItsOwnEvents(t *testing.T) {
	const number, room = 100_000, 256
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		st := newPublisher(subscribe.TopicOptions{Buffer: room})
		w.Add("Station", st)
		slow := w.Add("Slow", &kit.RequestHandler{})
		s, err := subscribe.Subscribe[beat](t.Context(), slow, "Station", beats, subscribe.WithBuffer(room))
		if err != nil {
			t.Fatal(err)
		}
		sent := kit.Recording(&w.Events, events.KindMessageSent)
		blocked := make(chan struct{})
		if err := slow.Later(func(actors.Agent) { <-blocked }); err != nil {
			t.Fatal(err)
		}
		st.publish(1, number)
		synctest.Wait()
		informed := 0
		for _, e := range kit.Published[events.MessageSent](t, sent) {
			if e.Message.Performative() == p.ActInform {
				informed++
			}
		}
		if informed != room {
			t.Errorf("%d INFORMs are under way, want %d", informed, room)
		}
		close(blocked)
		got := readTo(t, s, number)
		if len(got)+lost(got) != number {
			t.Errorf("%d came and %d were lost, which is not %d", len(got), lost(got), number)
		}
		if w.Counts().DeadLetters != 0 {
			t.Errorf("%d dead letters", w.Counts().DeadLetters)
		}
		_ = s.Unsubscribe()
		w.Settled(0)
	})
}

// After lost events and CONFIRMs the heartbeat makes the publisher continue.
func TestLostConfirmations(t *testing.T) {
	const room = 8
	for _, act := range []p.Performative{p.ActConfirm, p.ActInform} {
		kit.InWorld(t, func(t *testing.T, w *kit.World) {
			st := newPublisher(subscribe.TopicOptions{})
			w.Add("Station", st)
			s := listen(w, t.Context(), subscribe.WithBuffer(room))
			w.Net.Lose(act, 2*room)
			st.publish(1, 10*room)
			got := readTo(t, s, 10*room) // which takes some heartbeats
			if len(got)+lost(got) != 10*room || act == p.ActConfirm && lost(got) != 0 {
				t.Errorf("%s: %d came, %d were lost", act, len(got), lost(got))
			}
			if s.Status().Breaks != 0 {
				t.Errorf("%+v", s.Status())
			}
			_ = s.Unsubscribe()
		})
	}
}

func TestTopicIsClosed(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		st := newPublisher(subscribe.TopicOptions{})
		w.Add("Station", st)
		s := listen(w, t.Context())
		st.publish(1, 3)
		st.topic.Close("the season is over")
		st.topic.Close("again")
		st.publish(4, 4) // to nobody
		var got []subscribe.Event[beat]
		for e := range s.Events() {
			got = append(got, e)
		}
		wantNumbers(t, got, 1, 2, 3)
		kit.WantEnd(t, s.Err(), "failed", p.CodeConversationEnded)
		if end := kit.EndOf(t, s.Err()); end.Refusal.Text != "the season is over" {
			t.Errorf("got %v", end)
		}
		if err := s.Unsubscribe(); !errors.Is(err, p.CodeConversationEnded) {
			t.Errorf("unsubscribed from nothing: %v", err)
		}
		w.Settled(0)
	})
}

func TestSubscriptionsAreFiltered(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		st := newPublisher(subscribe.TopicOptions{})
		st.consider = func(s subscribe.Subscribing) (subscribe.Feed, error) {
			by, err := p.Decode[int](s.Parameters)
			return st.topic.Where(func(b beat) bool { return b.N%by == 0 }), err
		}
		w.Add("Station", st)
		third := beats
		third.Parameters = p.ContentOf(3)
		s, err := subscribe.Subscribe[beat](t.Context(), w.Eddy, "Station", third)
		if err != nil {
			t.Fatal(err)
		}
		st.publish(1, 10)
		got := pending(t, s)
		wantNumbers(t, got, 3, 6, 9)
		if lost(got) != 0 {
			t.Errorf("got %+v", got)
		}
		_ = s.Unsubscribe()
	})
}

// Subscribers and publishers run concurrently.
func TestSubscribersJoinAndLeaveConcurrently(t *testing.T) {
	times, events := 2, 5
	if exhaustive.Enabled() {
		times, events = 3, 20
	}
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		st := newPublisher(subscribe.TopicOptions{Buffer: 1 << 16})
		w.Add("Station", st)
		stop, stopped := make(chan struct{}), make(chan struct{})
		for range 2 {
			go func() {
				defer func() { stopped <- struct{}{} }()
				for n := 1; ; n++ {
					select {
					case <-stop:
						return
					default:
						st.topic.Publish(beat{N: n})
					}
				}
			}()
		}
		done := make(chan struct{})
		for range 8 {
			go func() {
				defer func() { done <- struct{}{} }()
				for range times {
					s, err := subscribe.Subscribe[beat](t.Context(), w.Eddy, "Station", beats)
					if err != nil {
						t.Error(err)
						return
					}
					var last subscribe.Event[beat]
					for range events {
						e, err := s.Next(t.Context())
						if err != nil || last.Seq != 0 && e.Seq != last.Seq+e.Lost+1 {
							t.Errorf("%+v after %+v, %v", e, last, err)
						}
						last = e
					}
					if err := s.Unsubscribe(); err != nil {
						t.Error(err)
					}
				}
			}()
		}
		for range 8 {
			<-done
		}
		close(stop)
		<-stopped
		<-stopped
		w.Settled(0)
	})
}

package codons_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// beat is what publishers of these tests publish.
type beat struct {
	N int `json:"n"`
}

// station publishes beats.
type station struct {
	topic    *codons.Topic[beat]
	consider func(codons.Subscribing) (codons.Feed, error)
	max      int
}

func newStation(o codons.TopicOptions) *station { return &station{topic: codons.NewTopic[beat](o)} }

func (*station) Describe() p.Capabilities { return p.Capabilities{} }

func (s *station) MaxTasks() int { return s.max }

func (s *station) ConsiderSubscription(_ context.Context, sub codons.Subscribing) (codons.Feed, error) {
	if s.consider != nil {
		return s.consider(sub)
	}
	return s.topic.Feed(), nil
}

func (s *station) ConsiderWhenever(_ context.Context, sub codons.Subscribing) (codons.Feed, error) {
	over, err := p.Decode[int](sub.Parameters)
	if err != nil {
		return codons.Feed{}, err
	}
	return s.topic.Whenever(func(b beat) bool { return b.N > over }), nil
}

// publish publishes the numbers from one to another.
func (s *station) publish(from, to int) {
	for n := from; n <= to; n++ {
		s.topic.Publish(beat{n})
	}
}

var beats = codons.Subscription{Topic: "beats"}

// listen subscribes Eddy to the station.
func (w *world) listen(ctx context.Context, opts ...codons.StreamOption) *codons.Stream[beat] {
	w.t.Helper()
	s, err := codons.Subscribe[beat](ctx, w.eddy, "Station", beats, opts...)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// read takes n events.
func read(t testing.TB, s *codons.Stream[beat], n int) []codons.Event[beat] {
	t.Helper()
	var got []codons.Event[beat]
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
func readTo(t testing.TB, s *codons.Stream[beat], last int) []codons.Event[beat] {
	t.Helper()
	got := read(t, s, 1)
	for got[len(got)-1].Value.N != last {
		got = append(got, read(t, s, 1)...)
	}
	return got
}

// pending takes what has come.
func pending(t testing.TB, s *codons.Stream[beat]) []codons.Event[beat] {
	t.Helper()
	synctest.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var got []codons.Event[beat]
	for {
		e, err := s.Next(ctx)
		if err != nil {
			return got
		}
		got = append(got, e)
	}
}

func numbers(events []codons.Event[beat]) []int {
	var ns []int
	for _, e := range events {
		ns = append(ns, e.Value.N)
	}
	return ns
}

func lost(events []codons.Event[beat]) (n int) {
	for _, e := range events {
		n += int(e.Lost)
	}
	return n
}

func wantNumbers(t testing.TB, events []codons.Event[beat], want ...int) {
	t.Helper()
	if got := numbers(events); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestSubscribe(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		st := newStation(codons.TopicOptions{})
		w.spawn("Station", st)
		st.publish(1, 3) // before anyone listens
		s := w.listen(t.Context())
		st.publish(4, 6)
		got := read(t, s, 3)
		wantNumbers(t, got, 4, 5, 6)
		if got[0].Seq != 4 || got[0].Epoch == "" || lost(got) != 0 || got[0].Uncounted || got[0].Break != nil {
			t.Errorf("got %+v", got)
		}
		if n := st.topic.Subscribers(); n != 1 || s.Status().State != codons.StreamSubscribed || s.Err() != nil {
			t.Errorf("%d subscribers, %+v, %v", n, s.Status(), s.Err())
		}
		if err := s.Unsubscribe(); err != nil {
			t.Error(err)
		}
		wantEnd(t, s.Err(), "cancelled", p.CodeCanceled)
		for range s.Events() {
			t.Error("an event after the end")
		}
		if n := st.topic.Subscribers(); n != 0 {
			t.Errorf("%d subscribers left", n)
		}
		golden(t, "subscribe", w.monitor.lines())
		w.settled(0)
	})
}

func TestSubscriptionIsTurnedDown(t *testing.T) {
	for name, c := range map[string]struct {
		consider func(codons.Subscribing) (codons.Feed, error)
		state    string
		code     p.Code
	}{
		"refused": {func(codons.Subscribing) (codons.Feed, error) {
			return codons.Feed{}, &p.Refusal{Code: p.CodeForbidden}
		}, "refused", p.CodeForbidden},
		"not understood": {func(codons.Subscribing) (codons.Feed, error) {
			return codons.Feed{}, &p.Refusal{Code: p.CodeInvalidPayload}
		}, "not_understood", p.CodeInvalidPayload},
		"failed":  {func(codons.Subscribing) (codons.Feed, error) { return codons.Feed{}, errors.New("secret") }, "failed", p.CodeFailed},
		"no feed": {func(codons.Subscribing) (codons.Feed, error) { return codons.Feed{}, nil }, "refused", p.CodeIncapable},
		"closed": {func(codons.Subscribing) (codons.Feed, error) {
			var topic codons.Topic[beat]
			topic.Close("")
			return topic.Feed(), nil
		}, "failed", p.CodeConversationEnded},
		"panicked": {func(codons.Subscribing) (codons.Feed, error) { panic("oh") }, "failed", p.CodeInternal},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				st := newStation(codons.TopicOptions{})
				st.consider = c.consider
				w.spawn("Station", st)
				if name == "panicked" { // the message is refused in its stead
					w.lawless.Store(true)
				}
				_, err := codons.Subscribe[beat](t.Context(), w.eddy, "Station", beats)
				wantEnd(t, err, machineState(c.state), c.code)
				w.settled(0)
			})
		})
	}
}

func TestSubscriptionToNobody(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Jules", &worker{})
		_, err := codons.Subscribe[beat](t.Context(), w.eddy, "Jules", beats)
		wantEnd(t, err, "refused", p.CodeIncapable)
		_, err = codons.Subscribe[beat](t.Context(), w.eddy, "Nobody", beats)
		wantEnd(t, err, "refused", p.CodeUnknownAgent)
		if _, err := codons.Subscribe[beat](t.Context(), w.eddy, "Jules", codons.Subscription{}); !errors.Is(err, p.CodeInvalidPayload) {
			t.Errorf("no topic: %v", err)
		}
		w.settled(0)
	})
}

func TestSubscriptionsBeyondTheLimitAreBusy(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		st := newStation(codons.TopicOptions{})
		st.max = 1
		w.spawn("Station", st)
		first := w.listen(t.Context())
		_, err := codons.Subscribe[beat](t.Context(), w.eddy, "Station", beats)
		wantEnd(t, err, "refused", p.CodeBusy)
		if err := first.Unsubscribe(); err != nil {
			t.Error(err)
		}
		_ = w.listen(t.Context()).Unsubscribe() // the place is free again
		w.settled(0)
	})
}

// TestSubscriptionEndsWithItsContext has the end of ctx unsubscribe.
func TestSubscriptionEndsWithItsContext(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		st := newStation(codons.TopicOptions{})
		w.spawn("Station", st)
		ctx, cancel := context.WithCancel(t.Context())
		s := w.listen(ctx)
		st.publish(1, 2)
		synctest.Wait()
		cancel()
		var got []codons.Event[beat]
		for e := range s.Events() {
			got = append(got, e)
		}
		wantNumbers(t, got, 1, 2)
		wantEnd(t, s.Err(), "cancelled", p.CodeCanceled)
		if !errors.Is(s.Err(), context.Canceled) || st.topic.Subscribers() != 0 {
			t.Errorf("%v, %d subscribers", s.Err(), st.topic.Subscribers())
		}
		w.settled(0)
	})
}

// TestSubscriptionHasNoDeadline outlives that of an ordinary conversation, in silence;
// with one it ends there on both sides.
func TestSubscriptionHasNoDeadline(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		st := newStation(codons.TopicOptions{})
		w.spawn("Station", st)
		s := w.listen(t.Context())
		time.Sleep(100 * codons.DefaultDeadline)
		st.publish(1, 1)
		wantNumbers(t, read(t, s, 1), 1)
		if s.Status().Breaks != 0 {
			t.Errorf("%+v", s.Status())
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		leased := w.listen(ctx)
		start := time.Now()
		<-leased.Done()
		wantElapsed(t, start, time.Hour)
		synctest.Wait()
		if !errors.Is(leased.Err(), p.CodeTimeout) || st.topic.Subscribers() != 1 {
			t.Errorf("%v, %d subscribers", leased.Err(), st.topic.Subscribers())
		}
		_ = s.Unsubscribe()
		w.settled(0)
	})
}

func TestSubscriptionSurvivesLosses(t *testing.T) {
	for _, act := range []p.Performative{p.ActSubscribe, p.ActAgree, p.ActCancel} {
		inWorld(t, func(t *testing.T, w *world) {
			st := newStation(codons.TopicOptions{})
			w.spawn("Station", st)
			w.net.lose(act, 2)
			s := w.listen(t.Context())
			st.publish(1, 3)
			wantNumbers(t, read(t, s, 3), 1, 2, 3)
			if err := s.Unsubscribe(); err != nil {
				t.Errorf("%s: %v", act, err)
			}
			w.settled(0)
		})
	}
}

// TestReceiptIsLost has the publisher give it again.
func TestReceiptIsLost(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Station", newStation(codons.TopicOptions{}))
		s := w.listen(t.Context())
		w.net.lose(p.ActInform, 1)
		if err := s.Unsubscribe(); err != nil {
			t.Error(err)
		}
		w.settled(0)
	})
}

// TestLostEventsAreCounted loses, repeats and reorders INFORMs.
func TestLostEventsAreCounted(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		st := newStation(codons.TopicOptions{})
		w.spawn("Station", st)
		s := w.listen(t.Context())
		w.net.lose(p.ActInform, 2)
		st.publish(1, 3)
		got := pending(t, s)
		wantNumbers(t, got, 3)
		if lost(got) != 2 {
			t.Errorf("got %+v", got)
		}
		var kept *p.Message
		w.net.intercept(func(m *p.Message) bool {
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

// TestAStalledConsumerLosesItsOwn: it holds the first, the publisher keeps the last;
// what was between is lost, and counted, and nobody else loses anything.
func TestAStalledConsumerLosesItsOwn(t *testing.T) {
	const room = 512
	events := 100_000
	if racing {
		events = 10_000
	}
	inWorld(t, func(t *testing.T, w *world) {
		st := newStation(codons.TopicOptions{Buffer: room})
		w.spawn("Station", st)
		var good []*codons.Stream[beat]
		for range 3 {
			good = append(good, w.listen(t.Context(), codons.WithBuffer(room)))
		}
		stalled := w.listen(t.Context(), codons.WithBuffer(room))
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
		w.settled(0)
	})
}

// TestAStalledAgentLosesItsOwn: here no event gets through to the conversation at
// all, so that they wait at the publisher, which sends no more than the window.
func TestAStalledAgentLosesItsOwn(t *testing.T) {
	const events, room = 100_000, 256
	inWorld(t, func(t *testing.T, w *world) {
		st := newStation(codons.TopicOptions{Buffer: room})
		w.spawn("Station", st)
		slow := w.spawn("Slow", &shop{})
		s, err := codons.Subscribe[beat](t.Context(), slow, "Station", beats, codons.WithBuffer(room))
		if err != nil {
			t.Fatal(err)
		}
		informed := 0
		w.Events.Listen(func(ev actors.Event) {
			if m := ev.(actors.MessageSent).Message; m.Performative() == p.ActInform {
				informed++
			}
		}, actors.About[actors.MessageSent]())
		blocked := make(chan struct{})
		if err := slow.Later(func(actors.Agent) { <-blocked }); err != nil {
			t.Fatal(err)
		}
		st.publish(1, events)
		synctest.Wait()
		if informed != room {
			t.Errorf("%d INFORMs are under way, want %d", informed, room)
		}
		close(blocked)
		got := readTo(t, s, events)
		if len(got)+lost(got) != events {
			t.Errorf("%d came and %d were lost, which is not %d", len(got), lost(got), events)
		}
		if w.Counts().DeadLetters != 0 {
			t.Errorf("%d dead letters", w.Counts().DeadLetters)
		}
		_ = s.Unsubscribe()
		w.settled(0)
	})
}

// TestConfirmationsAreLost, and so is all that was under way: the heartbeat gets it
// going again.
func TestConfirmationsAreLost(t *testing.T) {
	const room = 8
	for _, act := range []p.Performative{p.ActConfirm, p.ActInform} {
		inWorld(t, func(t *testing.T, w *world) {
			st := newStation(codons.TopicOptions{})
			w.spawn("Station", st)
			s := w.listen(t.Context(), codons.WithBuffer(room))
			w.net.lose(act, 2*room)
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
	inWorld(t, func(t *testing.T, w *world) {
		st := newStation(codons.TopicOptions{})
		w.spawn("Station", st)
		s := w.listen(t.Context())
		st.publish(1, 3)
		st.topic.Close("the season is over")
		st.topic.Close("again")
		st.publish(4, 4) // to nobody
		var got []codons.Event[beat]
		for e := range s.Events() {
			got = append(got, e)
		}
		wantNumbers(t, got, 1, 2, 3)
		wantEnd(t, s.Err(), "failed", p.CodeConversationEnded)
		if end := endOf(t, s.Err()); end.Refusal.Text != "the season is over" {
			t.Errorf("got %v", end)
		}
		if err := s.Unsubscribe(); !errors.Is(err, p.CodeConversationEnded) {
			t.Errorf("unsubscribed from nothing: %v", err)
		}
		w.settled(0)
	})
}

func TestSubscriptionsAreFiltered(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		st := newStation(codons.TopicOptions{})
		st.consider = func(s codons.Subscribing) (codons.Feed, error) {
			by, err := p.Decode[int](s.Parameters)
			return st.topic.Where(func(b beat) bool { return b.N%by == 0 }), err
		}
		w.spawn("Station", st)
		third := beats
		third.Parameters = p.ContentOf(3)
		s, err := codons.Subscribe[beat](t.Context(), w.eddy, "Station", third)
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

// TestManySubscribersComeAndGo races subscribers with publishers.
func TestManySubscribersComeAndGo(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		st := newStation(codons.TopicOptions{Buffer: 1 << 16})
		w.spawn("Station", st)
		stop, stopped := make(chan struct{}), make(chan struct{})
		for range 2 {
			go func() {
				defer func() { stopped <- struct{}{} }()
				for n := 1; ; n++ {
					select {
					case <-stop:
						return
					default:
						st.topic.Publish(beat{n})
					}
				}
			}()
		}
		done := make(chan struct{})
		for range 8 {
			go func() {
				defer func() { done <- struct{}{} }()
				for range 3 {
					s, err := codons.Subscribe[beat](t.Context(), w.eddy, "Station", beats)
					if err != nil {
						t.Error(err)
						return
					}
					var last codons.Event[beat]
					for range 20 {
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
		w.settled(0)
	})
}

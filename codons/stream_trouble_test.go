package codons_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// everyNth has the station's subscribers say of which beats they are informed.
func (s *station) everyNth() {
	s.consider = func(sub codons.Subscribing) (codons.Feed, error) {
		n, err := p.Decode[int](sub.Parameters)
		return s.topic.Where(func(b beat) bool { return b.N%n == 0 }), err
	}
}

func nth(n int) codons.Subscription {
	return codons.Subscription{Topic: "beats", Parameters: p.ContentOf(n)}
}

// TestAFilterPanics ends its own subscription, whether on an event or on what is
// replayed, and neither who publishes nor who else is subscribed notices.
func TestAFilterPanics(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		st := newStation(codons.TopicOptions{})
		st.everyNth()
		w.spawn("Station", st)
		panics := 0
		w.Events.Listen(func(actors.Event) { panics++ }, actors.About[codons.HandlerPanicked]())
		good, err := codons.Subscribe[beat](t.Context(), w.eddy, "Station", nth(2))
		if err != nil {
			t.Fatal(err)
		}
		bad, err := codons.Subscribe[beat](t.Context(), w.eddy, "Station", nth(0))
		if err != nil {
			t.Fatal(err)
		}
		st.publish(1, 4)
		got := pending(t, good)
		wantNumbers(t, got, 2, 4)
		<-bad.Done()
		wantEnd(t, bad.Err(), "failed", p.CodeFailed)
		again := nth(0)
		again.Since = &codons.Position{Epoch: got[0].Epoch, Seq: 1}
		replayed, err := codons.Subscribe[beat](t.Context(), w.eddy, "Station", again)
		if err != nil {
			t.Fatal(err)
		}
		<-replayed.Done()
		wantEnd(t, replayed.Err(), "failed", p.CodeFailed)
		synctest.Wait()
		if n := st.topic.Subscribers(); panics != 2 || n != 1 {
			t.Errorf("%d panics, %d subscribers", panics, n)
		}
		_ = good.Unsubscribe()
		w.settled(0)
	})
}

// TestATopicOfAnything takes nil, which no type assertion does.
func TestATopicOfAnything(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		st, topic := newStation(codons.TopicOptions{}), codons.NewTopic[any](codons.TopicOptions{})
		st.consider = func(codons.Subscribing) (codons.Feed, error) {
			return topic.Where(func(v any) bool { return v == nil }), nil
		}
		w.spawn("Station", st)
		s, err := codons.Subscribe[any](t.Context(), w.eddy, "Station", beats)
		if err != nil {
			t.Fatal(err)
		}
		topic.Publish(1)
		topic.Publish(nil)
		if e, err := s.Next(t.Context()); err != nil || e.Value != nil || e.Seq != 2 {
			t.Errorf("got %+v, %v", e, err)
		}
		_ = s.Unsubscribe()
	})
}

// TestACrowdedAgentLosesNothing as long as there is room at the publisher: the events for
// which its mailbox had none come later, also the last.
func TestACrowdedAgentLosesNothing(t *testing.T) {
	const events = 20_000 // of which a mailbox holds less than half
	inWorld(t, func(t *testing.T, w *world) {
		st := newStation(codons.TopicOptions{Buffer: events})
		w.spawn("Station", st)
		s := w.listen(t.Context(), codons.WithBuffer(events))
		blocked := make(chan struct{})
		if err := w.eddy.Later(func(actors.Agent) { <-blocked }); err != nil {
			t.Fatal(err)
		}
		st.publish(1, events)
		st.topic.Close("that was all")
		synctest.Wait()
		if n := w.Counts().DeadLetters; n != 1 {
			t.Errorf("%d INFORMs were turned away, want 1 until it is tried again", n)
		}
		close(blocked)
		n := 0
		for e := range s.Events() {
			if n++; e.Value.N != n || e.Lost != 0 {
				t.Fatalf("got %+v after %d", e, n-1)
			}
		}
		wantEnd(t, s.Err(), "failed", p.CodeConversationEnded)
		if n != events {
			t.Errorf("%d came", n)
		}
		w.settled(0)
	})
}

// TestTheLastEventIsTurnedAway just when the topic is closed: it is sent all the same.
// And when the room at the publisher was needed meanwhile, it is lost, and counted.
func TestTheLastEventIsTurnedAway(t *testing.T) {
	const room = 4
	for name, c := range map[string]struct{ more, came, lost int }{
		"there is room":  {0, 1, 0},
		"there was room": {room - 1, room, 0},
		"there is none":  {room, room, 1},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				st := newStation(codons.TopicOptions{Buffer: room})
				w.spawn("Station", st)
				s := w.listen(t.Context())
				turned := 0
				w.net.full = func(m *p.Message) bool { // while that one is under way
					if m.Performative() != p.ActInform || turned > 0 {
						return false
					}
					turned++
					st.publish(2, 1+c.more)
					st.topic.Close("")
					return true
				}
				st.publish(1, 1)
				var got []codons.Event[beat]
				for e := range s.Events() {
					got = append(got, e)
				}
				if len(got) != c.came || lost(got) != c.lost || turned != 1 {
					t.Errorf("got %+v", got)
				}
				w.settled(0)
			})
		})
	}
}

// TestNothingIsHeldWithoutAHeartbeat: no word that may be lost keeps the events back.
func TestNothingIsHeldWithoutAHeartbeat(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		st := newStation(codons.TopicOptions{})
		w.spawn("Station", st)
		s := w.listen(t.Context(), codons.WithHeartbeat(-1), codons.WithBuffer(1))
		w.net.lose(p.ActConfirm, 1)
		st.publish(1, 1)
		wantNumbers(t, pending(t, s), 1)
		st.publish(2, 3)
		got := pending(t, s)
		wantNumbers(t, got, 3)
		if lost(got) != 1 {
			t.Errorf("got %+v", got)
		}
		_ = s.Unsubscribe()

		a := w.puppet("puppet") // it has a window, but no heartbeat
		a.say(p.Envelope{Performative: p.ActSubscribe, Receiver: "Station", Payload: p.Raw(`{"topic":"beats","window":1}`)})
		a.next(p.ActAgree)
		st.publish(1, 2)
		a.next(p.ActInform)
		a.next(p.ActInform)
	})
}

// TestAnAgentIsSubscribedToItself, and does not wait for its own heartbeat.
func TestAnAgentIsSubscribedToItself(t *testing.T) {
	const events = 3 * codons.DefaultBuffer
	inWorld(t, func(t *testing.T, w *world) {
		st := newStation(codons.TopicOptions{})
		self := w.spawn("Station", st)
		s, err := codons.Subscribe[beat](t.Context(), self, "Station", beats)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		for n := 1; n <= events; n++ {
			st.publish(n, n)
			wantNumbers(t, read(t, s, 1), n)
		}
		wantElapsed(t, start, 0)
		if err := s.Unsubscribe(); err != nil {
			t.Error(err)
		}
		w.settled(0)
	})
}

// TestHeartbeatsAreOfBoth sides: one that is shorter or longer than can be said is made
// one that can.
func TestHeartbeatsAreOfBoth(t *testing.T) {
	for beat, after := range map[time.Duration]time.Duration{
		time.Nanosecond: 4 * time.Millisecond, 1 << 62: 4 * 24 * time.Hour,
	} {
		inWorld(t, func(t *testing.T, w *world) {
			st := newStation(codons.TopicOptions{})
			w.spawn("Station", st)
			s := w.listen(t.Context(), codons.WithHeartbeat(beat))
			time.Sleep(after)
			if s.Status().Breaks != 0 {
				t.Errorf("%v: %+v", beat, s.Status())
			}
			w.net.intercept(func(*p.Message) bool { return true })
			time.Sleep(after)
			synctest.Wait()
			if n := st.topic.Subscribers(); n != 0 || s.Status().Breaks == 0 {
				t.Errorf("%v: %d subscribers, %+v", beat, n, s.Status())
			}
			w.net.intercept(nil)
			_ = s.Unsubscribe()
		})
	}
}

// TestAThousandSubscribers are all informed, and so is each of the streams of one agent.
func TestAThousandSubscribers(t *testing.T) {
	const subscribers, events = 1000, 20
	inWorld(t, func(t *testing.T, w *world) {
		st := newStation(codons.TopicOptions{})
		w.spawn("Station", st)
		streams := make([]*codons.Stream[beat], subscribers)
		for i := range streams {
			streams[i] = w.listen(t.Context())
		}
		_, err := codons.Subscribe[beat](t.Context(), w.eddy, "Station", beats)
		for errors.Is(err, nil) && st.topic.Subscribers() <= codons.DefaultMaxTasks {
			_, err = codons.Subscribe[beat](t.Context(), w.eddy, "Station", beats)
		}
		wantEnd(t, err, "refused", p.CodeBusy)
		st.publish(1, events)
		for i, s := range streams {
			if got := readTo(t, s, events); len(got) != events || lost(got) != 0 {
				t.Fatalf("stream %d: %d came, %d were lost", i, len(got), lost(got))
			}
		}
	})
}

// TestWhatComesLaterIsNotLost: an event that was turned away has its number again.
func TestWhatComesLaterIsNotLost(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		st := newStation(codons.TopicOptions{})
		st.everyNth()
		w.spawn("Station", st)
		turned := false
		w.net.full = func(m *p.Message) bool {
			first := m.Performative() == p.ActInform && !turned
			turned = turned || first
			return first
		}
		s, err := codons.Subscribe[beat](t.Context(), w.eddy, "Station", nth(2))
		if err != nil {
			t.Fatal(err)
		}
		st.publish(1, 2)
		if got := read(t, s, 1); got[0].Value.N != 2 || got[0].Lost != 0 {
			t.Errorf("got %+v", got)
		}
		_ = s.Unsubscribe()
	})
}

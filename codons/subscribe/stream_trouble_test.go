package subscribe_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/subscribe"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	"github.com/ribosome-agents/ribosome/internal/systemtest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

func nth(n int) subscribe.Subscription {
	return subscribe.Subscription{Topic: "beats", Parameters: p.ContentOf(n)}
}

// A panic of a predicate, on a new or a replayed event, ends its own subscription and no
// other.
func TestPredicatePanics(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Allow(systemtest.ErrorLogged)
		st := newPublisher(subscribe.TopicOptions{})
		st.everyNth()
		w.Add("Station", st)
		panicked := kit.Recording(&w.Events, lifecycle.KindJobFailed)
		good, err := subscribe.Subscribe[beat](t.Context(), w.Eddy, "Station", nth(2))
		if err != nil {
			t.Fatal(err)
		}
		bad, err := subscribe.Subscribe[beat](t.Context(), w.Eddy, "Station", nth(0))
		if err != nil {
			t.Fatal(err)
		}
		st.publish(1, 4)
		got := pending(t, good)
		wantNumbers(t, got, 2, 4)
		<-bad.Done()
		kit.WantEnd(t, bad.Err(), "failed", p.CodeFailed)
		again := nth(0)
		again.Since = &subscribe.Position{Epoch: got[0].Epoch, Seq: 1}
		replayed, err := subscribe.Subscribe[beat](t.Context(), w.Eddy, "Station", again)
		if err != nil {
			t.Fatal(err)
		}
		<-replayed.Done()
		kit.WantEnd(t, replayed.Err(), "failed", p.CodeFailed)
		synctest.Wait()
		if n, panics := st.topic.Subscribers(), len(panicked.C); panics != 2 || n != 1 {
			t.Errorf("%d panics, %d subscribers", panics, n)
		}
		_ = good.Unsubscribe()
		w.Settled(0)
	})
}

// A nil event is published like any other.
func TestTopicOfInterfaceType(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		st, topic := newPublisher(subscribe.TopicOptions{}), subscribe.NewTopic[any](subscribe.TopicOptions{})
		st.consider = func(subscribe.Subscribing) (subscribe.Feed, error) {
			return topic.Where(func(v any) bool { return v == nil }), nil
		}
		w.Add("Station", st)
		s, err := subscribe.Subscribe[any](t.Context(), w.Eddy, "Station", beats)
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

// Events for a full mailbox wait in the queue of the publisher and are sent again.
func TestBusySubscriberLosesNothing(t *testing.T) {
	const events = 1000 // all of them have room in the mailbox of the conversation, and few in that of the agent
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		st := newPublisher(subscribe.TopicOptions{Buffer: events})
		w.Add("Station", st)
		busy, err := w.Spawn(t.Context(), actors.Spec{ID: "Busy", Capacity: 16, New: func() actors.Agent { return kit.Plain{} }})
		if err != nil {
			t.Fatal(err)
		}
		s, err := subscribe.Subscribe[beat](t.Context(), busy, "Station", beats)
		if err != nil {
			t.Fatal(err)
		}
		blocked := make(chan struct{})
		if err := busy.Later(func(actors.Agent) { <-blocked }); err != nil {
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
		kit.WantEnd(t, s.Err(), "failed", p.CodeConversationEnded)
		if n != events {
			t.Errorf("%d came", n)
		}
		w.Settled(0)
	})
}

// Not more events are under way than the mailbox of the subscriber's conversation holds, however
// large the buffer of the stream is: one that is refused there would be lost, because the publisher
// hears nothing of it.
func TestSlowConversationLosesNothing(t *testing.T) {
	const capacity, events = 16, 1000
	for _, buffer := range []int{1, capacity, 100, events} {
		t.Run(fmt.Sprint("a buffer of ", buffer), func(t *testing.T) {
			kit.InWorldWith(t, codons.Times{}, actors.Options{Capacity: capacity}, func(t *testing.T, w *kit.World) {
				st := newPublisher(subscribe.TopicOptions{Buffer: events})
				w.Add("Station", st)
				slow := make(chan struct{})
				s := listen(w, t.Context(), subscribe.WithBuffer(buffer), codons.WithAgreed(func() { <-slow })) // on the conversation's actor
				st.publish(1, events)
				synctest.Wait()
				close(slow)
				synctest.Wait()
				if n := s.Position().Seq; n != uint64(buffer) {
					t.Errorf("%d events have come to the subscriber that reads none, want %d", n, buffer)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				for n := 1; n <= events; n++ {
					if e, err := s.Next(ctx); err != nil || e.Value.N != n || e.Lost != 0 {
						t.Fatalf("got %+v, %v after %d", e, err, n-1)
					}
				}
				if n := w.Counts().DeadLetters; n != 0 {
					t.Errorf("%d messages were turned away", n)
				}
				_ = s.Unsubscribe()
				w.Settled(0)
			})
		})
	}
}

// The event is sent again although the topic is closed.
func TestLastEventIsRefusedAsBusy(t *testing.T) {
	const room = 4
	for name, c := range map[string]struct{ more, came, lost int }{
		"there is room":  {0, 1, 0},
		"there was room": {room - 1, room, 0},
		"there is none":  {room, room, 1},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				st := newPublisher(subscribe.TopicOptions{Buffer: room})
				w.Add("Station", st)
				s := listen(w, t.Context())
				turned := 0
				w.Net.Set(systemtest.Fault{Act: p.ActInform, Left: 1, Do: func(n *systemtest.Network, m *p.Message) error {
					turned++
					st.publish(2, 1+c.more) // while that one is under way
					st.topic.Close("")
					return systemtest.Refused(p.CodeBusy)(n, m)
				}})
				st.publish(1, 1)
				var got []subscribe.Event[beat]
				for e := range s.Events() {
					got = append(got, e)
				}
				if len(got) != c.came || lost(got) != c.lost || turned != 1 {
					t.Errorf("got %+v", got)
				}
				w.Settled(0)
			})
		})
	}
}

// An event for a full mailbox is not sent again before the time that its refusal names.
func TestBusySubscriberNamesATime(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		st := newPublisher(subscribe.TopicOptions{})
		w.Add("Station", st)
		s := listen(w, t.Context())
		var tries []time.Time
		w.Net.Set(systemtest.Fault{Act: p.ActInform, Left: -1, Do: func(n *systemtest.Network, m *p.Message) error {
			if tries = append(tries, time.Now()); len(tries) == 1 {
				return &p.Refusal{Code: p.CodeBusy, About: m.ID(), RetryAfter: time.Minute}
			}
			return n.Deliver(m)
		}})
		st.publish(1, 1)
		if e, err := s.Next(t.Context()); err != nil || e.Value.N != 1 {
			t.Errorf("got %+v, %v", e, err)
		}
		if len(tries) != 2 || tries[1].Sub(tries[0]) < time.Minute || tries[1].Sub(tries[0]) > time.Minute+30*time.Second {
			t.Errorf("tried at %v", tries)
		}
		_ = s.Unsubscribe()
		w.Settled(0)
	})
}

// The publisher sends all events without waiting for a CONFIRM.
func TestNoWindowWithoutAHeartbeat(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		st := newPublisher(subscribe.TopicOptions{})
		w.Add("Station", st)
		s := listen(w, t.Context(), subscribe.WithHeartbeat(-1), subscribe.WithBuffer(1))
		w.Net.Intercept(func(m *p.Message) bool { return m.Performative() == p.ActConfirm })
		st.publish(1, 1)
		wantNumbers(t, pending(t, s), 1)
		st.publish(2, 3)
		got := pending(t, s)
		wantNumbers(t, got, 3)
		if lost(got) != 1 {
			t.Errorf("got %+v", got)
		}
		_ = s.Unsubscribe()

		a := w.Peer("peer") // it has a window, but no heartbeat
		a.Send(p.Envelope{Performative: p.ActSubscribe, Receiver: "Station", Payload: p.Raw(`{"topic":"beats","window":1}`)})
		a.Expect(p.ActAgree)
		st.publish(1, 2)
		a.Expect(p.ActInform)
		a.Expect(p.ActInform)
	})
}

// The subscription has no window.
func TestAgentSubscribesToItself(t *testing.T) {
	const events = 3 * subscribe.DefaultBuffer
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		st := newPublisher(subscribe.TopicOptions{})
		self := w.Add("Station", st)
		s, err := subscribe.Subscribe[beat](t.Context(), self, "Station", beats)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		for n := 1; n <= events; n++ {
			st.publish(n, n)
			wantNumbers(t, read(t, s, 1), n)
		}
		kit.WantElapsed(t, start, 0)
		if err := s.Unsubscribe(); err != nil {
			t.Error(err)
		}
		w.Settled(0)
	})
}

// Both sides apply the same bounds to the period.
func TestBoundsOfTheHeartbeat(t *testing.T) {
	for beat, after := range map[time.Duration]time.Duration{
		time.Nanosecond: 4 * time.Millisecond, 1 << 62: 4 * 24 * time.Hour,
	} {
		kit.InWorld(t, func(t *testing.T, w *kit.World) {
			st := newPublisher(subscribe.TopicOptions{})
			w.Add("Station", st)
			s := listen(w, t.Context(), subscribe.WithHeartbeat(beat))
			time.Sleep(after)
			if s.Status().Breaks != 0 {
				t.Errorf("%v: %+v", beat, s.Status())
			}
			w.Net.Intercept(func(*p.Message) bool { return true })
			time.Sleep(after)
			synctest.Wait()
			if n := st.topic.Subscribers(); n != 0 || s.Status().Breaks == 0 {
				t.Errorf("%v: %d subscribers, %+v", beat, n, s.Status())
			}
			w.Net.Intercept(nil)
			_ = s.Unsubscribe()
		})
	}
}

// All subscribers get the event, and so does each stream of one agent.
func TestThousandSubscribers(t *testing.T) {
	const subscribers = 1000
	events := 20
	if racetest.Enabled {
		events = 5
	}
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		st := newPublisher(subscribe.TopicOptions{})
		w.Add("Station", st)
		streams := make([]*subscribe.Stream[beat], subscribers)
		for i := range streams {
			streams[i] = listen(w, t.Context())
		}
		_, err := subscribe.Subscribe[beat](t.Context(), w.Eddy, "Station", beats)
		for errors.Is(err, nil) && st.topic.Subscribers() <= codons.DefaultMaxTasks {
			_, err = subscribe.Subscribe[beat](t.Context(), w.Eddy, "Station", beats)
		}
		kit.WantEnd(t, err, "refused", p.CodeBusy)
		st.publish(1, events)
		for i, s := range streams {
			if got := readTo(t, s, events); len(got) != events || lost(got) != 0 {
				t.Fatalf("stream %d: %d came, %d were lost", i, len(got), lost(got))
			}
		}
	})
}

// An event that is sent again has the same number, so no event counts as lost.
func TestRefusedEventKeepsItsNumber(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		st := newPublisher(subscribe.TopicOptions{})
		st.everyNth()
		w.Add("Station", st)
		w.Net.Set(systemtest.Fault{Name: "a full mailbox", Act: p.ActInform, Left: 1, Do: systemtest.Refused(p.CodeBusy)})
		s, err := subscribe.Subscribe[beat](t.Context(), w.Eddy, "Station", nth(2))
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

// TestSlowPublisher has a publisher outside of this module decide for longer than three heartbeats.
// It answers each repeated SUBSCRIBE by STATUS_UPDATE, one of them after its AGREE.
func TestSlowPublisher(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		a := w.Peer("Station")
		s, err := subscribe.Start[beat](t.Context(), w.Eddy, "Station", beats, subscribe.WithHeartbeat(100*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		var first *p.Message
		for range 10 {
			first = a.Expect(p.ActSubscribe)
			a.Reply(first, p.StatusUpdate{Description: "an operator decides"})
		}
		a.Send(first.ReplyEnvelope("Station", a.Stamp(), p.ActAgree, subscribe.Agreed{Stream: "run", From: subscribe.Position{Epoch: "epoch"}}))
		a.Reply(first, p.StatusUpdate{Description: "an operator decides"})
		synctest.Wait()
		if status := s.Status(); status.State != subscribe.StreamSubscribed || status.Breaks != 0 {
			t.Errorf("got %+v", status)
		}
	})
}

// TestSilentPublisher has a publisher say nothing at all before its AGREE. It is lost after three
// heartbeats.
func TestSilentPublisher(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Peer("Station")
		start := time.Now()
		s, err := subscribe.Start[beat](t.Context(), w.Eddy, "Station", beats, subscribe.WithHeartbeat(time.Second), subscribe.WithResume(codons.Retry{}, -1))
		if err != nil {
			t.Fatal(err)
		}
		<-s.Done()
		kit.WantElapsed(t, start, 3*time.Second)
		kit.WantEnd(t, s.Err(), "lost", p.CodeTimeout)
	})
}

// TestMisreadStream has a publisher send what its subscriber cannot read: the stream ends, and does
// not resume. A subscriber that says so of an event is informed no more.
func TestMisreadStream(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		odd := w.Peer("Odd")
		s, err := subscribe.Start[beat](t.Context(), w.Eddy, "Odd", beats, subscribe.WithResume(codons.Retry{}, 0))
		if err != nil {
			t.Fatal(err)
		}
		first := odd.Expect(p.ActSubscribe)
		odd.Send(first.ReplyEnvelope("Odd", odd.Stamp(), p.ActAgree, subscribe.Agreed{Stream: "run", From: subscribe.Position{Epoch: "epoch"}}))
		odd.ReplyOddly(first)
		<-s.Done()
		kit.WantEnd(t, s.Err(), "misread", p.CodeUnexpectedAct)
		odd.Silent()

		st := newPublisher(subscribe.TopicOptions{})
		w.Add("Station", st)
		a := w.Peer("peer")
		a.Send(p.Envelope{Performative: p.ActSubscribe, Receiver: "Station", Payload: p.Raw(`{"topic":"beats"}`)})
		a.Expect(p.ActAgree)
		st.publish(1, 1)
		a.Reply(a.Expect(p.ActInform), p.NotUnderstood{ReasonCode: p.CodeUnexpectedAct, ReasonText: "eh?"})
		a.Expect(p.ActFailure)
		if n := st.topic.Subscribers(); n != 0 {
			t.Errorf("%d subscribers", n)
		}
		w.Settled(0)
	})
}

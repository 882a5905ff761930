package subscribe_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/subscribe"
	"github.com/ribosome-agents/ribosome/internal/systemtest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// stopStation stops the publisher.
func stopStation(w *kit.World) {
	w.T.Helper()
	if err := w.StopAgent(w.T.Context(), "Station"); err != nil {
		w.T.Fatal(err)
	}
}

// After a stop of the publisher, the stream continues after its latest event: the topic
// outlives the agent.
func TestStreamResumes(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		st := newPublisher(subscribe.TopicOptions{})
		w.Add("Station", st)
		s := listen(w, t.Context())
		st.publish(1, 2)
		wantNumbers(t, read(t, s, 2), 1, 2)
		stopStation(w)
		synctest.Wait()
		if got := s.Status(); got.State != subscribe.StreamBroken || got.Breaks != 1 || !errors.Is(got.Cause, p.CodeStopped) || st.topic.Subscribers() != 0 {
			t.Errorf("%+v, %d subscribers", got, st.topic.Subscribers())
		}
		st.publish(3, 5)
		time.Sleep(10 * time.Second) // some attempts fail
		w.Add("Station", st)
		got := read(t, s, 3)
		wantNumbers(t, got, 3, 4, 5)
		if b := got[0].Break; b == nil || !errors.Is(b.Cause, p.CodeStopped) || b.Attempts < 2 || lost(got) != 0 || got[0].Uncounted || got[1].Break != nil {
			t.Errorf("got %+v, %+v", got, got[0].Break)
		}
		if err := s.Unsubscribe(); err != nil {
			t.Error(err)
		}
		w.Settled(0)
	})
}

// Events that the topic does not remember are counted, unless a predicate makes that
// impossible.
func TestStreamResumesWithAGap(t *testing.T) {
	for name, c := range map[string]struct {
		change    func(*publisher)
		first     int
		lost      int
		uncounted bool
	}{
		"forgotten": {func(*publisher) {}, 17, 14, false},
		"filtered": {func(st *publisher) {
			st.consider = func(subscribe.Subscribing) (subscribe.Feed, error) {
				return st.topic.Where(func(b beat) bool { return b.N%2 == 0 }), nil
			}
		}, 18, 0, true},
		"anew": {func(st *publisher) { st.topic = subscribe.NewTopic[beat](subscribe.TopicOptions{}) }, 21, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				st := newPublisher(subscribe.TopicOptions{History: 4})
				w.Add("Station", st)
				s := listen(w, t.Context())
				st.publish(1, 2)
				read(t, s, 2)
				stopStation(w)
				st.publish(3, 20)
				c.change(st)
				w.Add("Station", st)
				time.Sleep(time.Minute)
				st.publish(21, 21)
				st.publish(22, 22)
				got := pending(t, s)
				if got[0].Value.N != c.first || lost(got) != c.lost || got[0].Uncounted != c.uncounted || got[0].Break == nil {
					t.Errorf("got %+v", got)
				}
				_ = s.Unsubscribe()
			})
		})
	}
}

// The network loses all messages both ways. Each side gives the other up, and the stream
// resumes.
func TestStreamNoticesSilence(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		st := newPublisher(subscribe.TopicOptions{})
		w.Add("Station", st)
		s := listen(w, t.Context(), subscribe.WithHeartbeat(time.Second))
		st.publish(1, 1)
		read(t, s, 1)
		w.Net.Intercept(func(*p.Message) bool { return true })
		st.publish(2, 2)
		time.Sleep(5 * time.Second)
		if got := s.Status(); got.State != subscribe.StreamBroken || !errors.Is(got.Cause, p.CodeTimeout) || st.topic.Subscribers() != 0 {
			t.Errorf("%+v, %d subscribers", got, st.topic.Subscribers())
		}
		st.publish(3, 3)
		w.Net.Intercept(nil)
		got := read(t, s, 2)
		wantNumbers(t, got, 2, 3)
		if got[0].Break == nil || lost(got) != 0 || got[0].Uncounted {
			t.Errorf("got %+v", got)
		}
		_ = s.Unsubscribe()
		w.Settled(0)
	})
}

// Each message of the publisher shows that it is there, and not only its answer to a heartbeat:
// the stream stays open while the AGREE, or any event, comes within three heartbeats of the
// message before.
func TestEachMessageEndsTheSilence(t *testing.T) {
	for name, c := range map[string]struct {
		agreements int // that arrive
		first      time.Duration
	}{"the agreement opens the stream": {1, 4500 * time.Millisecond}, "an event opens the stream": {0, 2500 * time.Millisecond}} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				st := newPublisher(subscribe.TopicOptions{})
				st.consider = func(subscribe.Subscribing) (subscribe.Feed, error) {
					time.Sleep(2 * time.Second)
					return st.topic.Feed(), nil
				}
				w.Add("Station", st)
				agreed := 0
				w.Net.Intercept(func(m *p.Message) bool {
					if m.Performative() == p.ActAgree {
						agreed++
						return agreed > c.agreements
					}
					return false
				})
				const events = 4
				published := make(chan struct{})
				go func() {
					defer close(published)
					time.Sleep(c.first)
					for n := range events {
						st.publish(n, n)
						if n < events-1 {
							time.Sleep(2 * time.Second)
						}
					}
				}()
				s := listen(w, t.Context(), subscribe.WithHeartbeat(time.Second), subscribe.WithResume(codons.Retry{}, -1))
				<-published
				synctest.Wait()
				if got := s.Status(); got.State != subscribe.StreamSubscribed {
					t.Fatalf("after the events: %+v, with %d answers to heartbeats", got, agreed)
				}
				start := time.Now()
				<-s.Done()
				kit.WantElapsed(t, start, 3*time.Second)
				if agreed < 5 {
					t.Errorf("%d answers to heartbeats were lost", agreed)
				}
				w.Net.Intercept(nil)
			})
		})
	}
}

// The heartbeat reaches another agent of the same id, which opens the subscription again.
func TestPublisherLosesItsState(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		st := newPublisher(subscribe.TopicOptions{})
		w.Add("Station", st)
		s := listen(w, t.Context())
		st.publish(1, 2)
		read(t, s, 2)
		w.Allow(systemtest.Violation)                                                        // no table knows oblivion
		w.Net.Intercept(func(m *p.Message) bool { return m.Performative() == p.ActFailure }) // it dies without a word
		stopStation(w)
		w.Net.Intercept(nil)
		w.Add("Station", st)
		time.Sleep(subscribe.DefaultHeartbeat)
		st.publish(3, 4)
		got := pending(t, s)
		wantNumbers(t, got, 3, 4)
		if !got[0].Uncounted || lost(got) != 0 || s.Status().Breaks != 0 {
			t.Errorf("got %+v, %+v", got, s.Status())
		}
		_ = s.Unsubscribe()
		w.Settled(0)
	})
}

func TestStreamEndsAfterItsAttempts(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		st := newPublisher(subscribe.TopicOptions{})
		for attempts, want := range map[int]time.Duration{-1: 0, 3: 7 * time.Second} {
			w.Add("Station", st)
			s := listen(w, t.Context(), subscribe.WithResume(codons.Retry{First: time.Second, Jitter: -1}, attempts))
			stopStation(w)
			start := time.Now()
			<-s.Done()
			kit.WantElapsed(t, start, want)
			if _, err := s.Next(t.Context()); !errors.Is(err, s.Err()) || kit.EndOf(t, err) == nil {
				t.Errorf("%v, %v", err, s.Err())
			}
		}
		w.Settled(0)
	})
}

// A final refusal ends the stream.
func TestStreamIsRefusedAfterABreak(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		st := newPublisher(subscribe.TopicOptions{})
		w.Add("Station", st)
		s := listen(w, t.Context())
		stopStation(w)
		st.consider = func(subscribe.Subscribing) (subscribe.Feed, error) {
			return subscribe.Feed{}, &p.Refusal{Code: p.CodeForbidden}
		}
		w.Add("Station", st)
		<-s.Done()
		kit.WantEnd(t, s.Err(), "refused", p.CodeForbidden)
		w.Settled(0)
	})
}

// A stream ends between two attempts: by its caller, its context or its agent.
func TestBrokenStreamEnds(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(*kit.World, *subscribe.Stream[beat], context.CancelFunc)
		code p.Code
	}{
		"unsubscribed": {func(w *kit.World, s *subscribe.Stream[beat], _ context.CancelFunc) {
			if err := s.Unsubscribe(); err != nil {
				w.T.Error(err)
			}
		}, p.CodeCanceled},
		"cancelled": {func(_ *kit.World, _ *subscribe.Stream[beat], cancel context.CancelFunc) { cancel() }, p.CodeCanceled},
		"lease":     {func(*kit.World, *subscribe.Stream[beat], context.CancelFunc) { time.Sleep(time.Hour) }, p.CodeTimeout},
		"agent stopped": {func(w *kit.World, _ *subscribe.Stream[beat], _ context.CancelFunc) {
			_ = w.StopAgent(context.Background(), "Eddy")
		}, p.CodeStopped},
		"system stopped": {func(w *kit.World, _ *subscribe.Stream[beat], _ context.CancelFunc) { w.End() }, p.CodeStopped},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				st := newPublisher(subscribe.TopicOptions{})
				w.Add("Station", st)
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				s := listen(w, ctx, subscribe.WithResume(codons.Retry{First: 50 * time.Minute}, 0))
				stopStation(w)
				synctest.Wait()
				c.end(w, s, cancel)
				ended := time.Now()
				<-s.Done()
				kit.WantElapsed(t, ended, 0)
				if !errors.Is(s.Err(), c.code) {
					t.Errorf("got %v, want %s", s.Err(), c.code)
				}
				if name == "lease" {
					return
				}
				w.Settled(0)
			})
		})
	}
}

// The stop of the subscriber ends the publisher's side.
func TestSubscriberStops(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		st := newPublisher(subscribe.TopicOptions{})
		w.Add("Station", st)
		s := listen(w, t.Context())
		if err := w.StopAgent(t.Context(), "Eddy"); err != nil {
			t.Fatal(err)
		}
		<-s.Done()
		kit.WantEnd(t, s.Err(), "abandoned", p.CodeStopped)
		synctest.Wait()
		if n := st.topic.Subscribers(); n != 0 {
			t.Errorf("%d subscribers", n)
		}
	})
}

// The subscriber is gone without a message: the next event or the lease ends the
// subscription.
func TestSubscriberVanishes(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		st := newPublisher(subscribe.TopicOptions{})
		w.Add("Station", st)
		for name, c := range map[string]struct {
			content string
			after   func()
		}{
			"an event":  {`{"topic":"beats"}`, func() { st.publish(1, 1) }},
			"the lease": {`{"topic":"beats","heartbeat_ms":1000}`, func() { time.Sleep(4 * time.Second) }},
		} {
			a := w.Peer("peer")
			a.Send(p.Envelope{Performative: p.ActSubscribe, Receiver: "Station", Payload: p.Raw(c.content)})
			a.Expect(p.ActAgree)
			_ = w.StopAgent(t.Context(), "peer")
			synctest.Wait()
			if n := st.topic.Subscribers(); n != 1 {
				t.Errorf("%s: %d subscribers before", name, n)
			}
			c.after()
			synctest.Wait()
			if n := st.topic.Subscribers(); n != 0 {
				t.Errorf("%s: %d subscribers left", name, n)
			}
		}
		w.Settled(0)
	})
}

// The stop of a system does not wait for the ends of its streams.
func TestSystemStopsWithOpenStreams(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		st := newPublisher(subscribe.TopicOptions{})
		w.Add("Station", st)
		s := listen(w, t.Context())
		w.Allow(systemtest.Violation) // a CANCEL to who has stopped is refused in its stead
		if n := w.Counts().Open; n != 2 {
			t.Errorf("%d conversations are open, want 2", n)
		}
		start := time.Now()
		if err := w.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		kit.WantElapsed(t, start, 0)
		<-s.Done()
		if !errors.Is(s.Err(), p.CodeStopped) || st.topic.Subscribers() != 0 {
			t.Errorf("%v, %d subscribers", s.Err(), st.topic.Subscribers())
		}
	})
}

// The subscriptions of an agent that restarts break and resume.
func TestPublisherRestarts(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Allow(systemtest.ErrorLogged)
		st := newPublisher(subscribe.TopicOptions{})
		self := w.Add("Station", st)
		s := listen(w, t.Context())
		_ = self.Do(t.Context(), func(actors.Agent) { panic("oh") })
		time.Sleep(time.Minute)
		st.publish(1, 3)
		got := read(t, s, 3)
		wantNumbers(t, got, 1, 2, 3)
		if got[0].Break == nil {
			t.Errorf("got %+v", got)
		}
		_ = s.Unsubscribe()
		w.Settled(0)
	})
}

// TestSilentPublisherIsCancelled checks that a stream which gives a silent publisher up says so to
// it.
func TestSilentPublisherIsCancelled(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		a := w.Peer("Station")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		opened := make(chan *subscribe.Stream[string], 1)
		go func() {
			s, _ := subscribe.Subscribe[string](ctx, w.Eddy, "Station", subscribe.Subscription{Topic: "weather"}, subscribe.WithHeartbeat(time.Second), subscribe.WithResume(codons.Retry{}, -1))
			opened <- s
		}()
		request := a.Expect(p.ActSubscribe)
		agree, err := request.ReplyAs(a.Stamp(), p.ActAgree, p.Raw(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		a.SendAgain(agree)
		s := <-opened
		<-s.Done()
		synctest.Wait()
		var last *p.Message
		for len(a.Got) > 0 {
			last = <-a.Got
		}
		if last == nil || last.Performative() != p.ActCancel || last.ConversationID() != request.ConversationID() {
			t.Errorf("the last message to the publisher was %v, want CANCEL", last)
		}
	})
}

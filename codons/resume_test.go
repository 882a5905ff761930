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

// stopStation stops the publisher.
func (w *world) stopStation() {
	w.t.Helper()
	if err := w.StopAgent(w.t.Context(), "Station"); err != nil {
		w.t.Fatal(err)
	}
}

// TestStreamResumes after its publisher was away, from where it was: the topic
// outlived its agent.
func TestStreamResumes(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		st := newStation(codons.TopicOptions{})
		w.spawn("Station", st)
		s := w.listen(t.Context())
		st.publish(1, 2)
		wantNumbers(t, read(t, s, 2), 1, 2)
		w.stopStation()
		synctest.Wait()
		if got := s.Status(); got.State != codons.StreamBroken || got.Breaks != 1 || !errors.Is(got.Cause, p.CodeStopped) || st.topic.Subscribers() != 0 {
			t.Errorf("%+v, %d subscribers", got, st.topic.Subscribers())
		}
		st.publish(3, 5)
		time.Sleep(10 * time.Second) // some attempts fail
		w.spawn("Station", st)
		got := read(t, s, 3)
		wantNumbers(t, got, 3, 4, 5)
		if b := got[0].Break; b == nil || !errors.Is(b.Cause, p.CodeStopped) || b.Attempts < 2 || lost(got) != 0 || got[0].Uncounted || got[1].Break != nil {
			t.Errorf("got %+v, %+v", got, got[0].Break)
		}
		if err := s.Unsubscribe(); err != nil {
			t.Error(err)
		}
		w.settled(0)
	})
}

// TestStreamResumesWithAGap: what the topic has forgotten is counted, unless there is
// a filter, or another topic: then nobody knows.
func TestStreamResumesWithAGap(t *testing.T) {
	for name, c := range map[string]struct {
		change    func(*station)
		first     int
		lost      int
		uncounted bool
	}{
		"forgotten": {func(*station) {}, 17, 14, false},
		"filtered": {func(st *station) {
			st.consider = func(codons.Subscribing) (codons.Feed, error) {
				return st.topic.Where(func(b beat) bool { return b.N%2 == 0 }), nil
			}
		}, 18, 0, true},
		"anew": {func(st *station) { st.topic = codons.NewTopic[beat](codons.TopicOptions{}) }, 21, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				st := newStation(codons.TopicOptions{History: 4})
				w.spawn("Station", st)
				s := w.listen(t.Context())
				st.publish(1, 2)
				read(t, s, 2)
				w.stopStation()
				st.publish(3, 20)
				c.change(st)
				w.spawn("Station", st)
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

// TestStreamNoticesSilence: the network falls silent both ways. Each side gives the
// other up; then it goes on where it was.
func TestStreamNoticesSilence(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		st := newStation(codons.TopicOptions{})
		w.spawn("Station", st)
		s := w.listen(t.Context(), codons.WithHeartbeat(time.Second))
		st.publish(1, 1)
		read(t, s, 1)
		w.net.intercept(func(*p.Message) bool { return true })
		st.publish(2, 2)
		time.Sleep(5 * time.Second)
		if got := s.Status(); got.State != codons.StreamBroken || !errors.Is(got.Cause, p.CodeTimeout) || st.topic.Subscribers() != 0 {
			t.Errorf("%+v, %d subscribers", got, st.topic.Subscribers())
		}
		st.publish(3, 3)
		w.net.intercept(nil)
		got := read(t, s, 2)
		wantNumbers(t, got, 2, 3)
		if got[0].Break == nil || lost(got) != 0 || got[0].Uncounted {
			t.Errorf("got %+v", got)
		}
		_ = s.Unsubscribe()
		w.settled(0)
	})
}

// TestPublisherForgets: it is another of the same name, which never heard of the
// subscription that the heartbeat is about, and opens it anew.
func TestPublisherForgets(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		st := newStation(codons.TopicOptions{})
		w.spawn("Station", st)
		s := w.listen(t.Context())
		st.publish(1, 2)
		read(t, s, 2)
		w.lawless.Store(true)                                                                // no table knows oblivion
		w.net.intercept(func(m *p.Message) bool { return m.Performative() == p.ActFailure }) // it dies without a word
		w.stopStation()
		w.net.intercept(nil)
		w.spawn("Station", st)
		time.Sleep(codons.DefaultHeartbeat)
		st.publish(3, 4)
		got := pending(t, s)
		wantNumbers(t, got, 3, 4)
		if !got[0].Uncounted || lost(got) != 0 || s.Status().Breaks != 0 {
			t.Errorf("got %+v, %+v", got, s.Status())
		}
		_ = s.Unsubscribe()
		w.settled(0)
	})
}

func TestStreamGivesUp(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		st := newStation(codons.TopicOptions{})
		for attempts, want := range map[int]time.Duration{-1: 0, 3: 7 * time.Second} {
			w.spawn("Station", st)
			s := w.listen(t.Context(), codons.WithResume(codons.Retry{First: time.Second, Jitter: -1}, attempts))
			w.stopStation()
			start := time.Now()
			<-s.Done()
			wantElapsed(t, start, want)
			if _, err := s.Next(t.Context()); !errors.Is(err, s.Err()) || endOf(t, err) == nil {
				t.Errorf("%v, %v", err, s.Err())
			}
		}
		w.settled(0)
	})
}

// TestStreamIsTurnedDownLater: a no for good ends it.
func TestStreamIsTurnedDownLater(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		st := newStation(codons.TopicOptions{})
		w.spawn("Station", st)
		s := w.listen(t.Context())
		w.stopStation()
		st.consider = func(codons.Subscribing) (codons.Feed, error) {
			return codons.Feed{}, &p.Refusal{Code: p.CodeForbidden}
		}
		w.spawn("Station", st)
		<-s.Done()
		wantEnd(t, s.Err(), "refused", p.CodeForbidden)
		w.settled(0)
	})
}

// TestBrokenStreamEnds while it waits for the next attempt: by its consumer, its
// context, its lease, or with its agent.
func TestBrokenStreamEnds(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(*world, *codons.Stream[beat], context.CancelFunc)
		code p.Code
	}{
		"unsubscribed": {func(w *world, s *codons.Stream[beat], _ context.CancelFunc) {
			if err := s.Unsubscribe(); err != nil {
				w.t.Error(err)
			}
		}, p.CodeCanceled},
		"cancelled": {func(_ *world, _ *codons.Stream[beat], cancel context.CancelFunc) { cancel() }, p.CodeCanceled},
		"lease":     {func(*world, *codons.Stream[beat], context.CancelFunc) { time.Sleep(time.Hour) }, p.CodeTimeout},
		"agent stopped": {func(w *world, _ *codons.Stream[beat], _ context.CancelFunc) {
			_ = w.StopAgent(context.Background(), "Eddy")
		}, p.CodeStopped},
		"system stopped": {func(w *world, _ *codons.Stream[beat], _ context.CancelFunc) { w.stop() }, p.CodeStopped},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				st := newStation(codons.TopicOptions{})
				w.spawn("Station", st)
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				s := w.listen(ctx, codons.WithResume(codons.Retry{First: 50 * time.Minute}, 0))
				w.stopStation()
				synctest.Wait()
				c.end(w, s, cancel)
				<-s.Done()
				if !errors.Is(s.Err(), c.code) {
					t.Errorf("got %v, want %s", s.Err(), c.code)
				}
				if name == "lease" {
					return
				}
				w.settled(0)
			})
		})
	}
}

// TestSubscriberStops ends the publisher's side.
func TestSubscriberStops(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		st := newStation(codons.TopicOptions{})
		w.spawn("Station", st)
		s := w.listen(t.Context())
		if err := w.StopAgent(t.Context(), "Eddy"); err != nil {
			t.Fatal(err)
		}
		<-s.Done()
		wantEnd(t, s.Err(), "abandoned", p.CodeStopped)
		synctest.Wait()
		if n := st.topic.Subscribers(); n != 0 {
			t.Errorf("%d subscribers", n)
		}
	})
}

// TestSubscriberVanishes without a word: the next event shows it, or else the lease.
func TestSubscriberVanishes(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		st := newStation(codons.TopicOptions{})
		w.spawn("Station", st)
		for name, c := range map[string]struct {
			content string
			after   func()
		}{
			"an event":  {`{"topic":"beats"}`, func() { st.publish(1, 1) }},
			"the lease": {`{"topic":"beats","heartbeat_ms":1000}`, func() { time.Sleep(4 * time.Second) }},
		} {
			a := w.puppet("puppet")
			a.say(p.Envelope{Performative: p.ActSubscribe, Receiver: "Station", Payload: p.Raw(c.content)})
			a.next(p.ActAgree)
			_ = w.StopAgent(t.Context(), "puppet")
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
		w.settled(0)
	})
}

// TestSystemStopsWithOpenStreams does not wait for their end, which nobody would bring
// about.
func TestSystemStopsWithOpenStreams(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		st := newStation(codons.TopicOptions{})
		w.spawn("Station", st)
		s := w.listen(t.Context())
		w.lawless.Store(true) // a CANCEL to who has stopped is refused in its stead
		if n := w.Counts().Open; n != 2 {
			t.Errorf("%d conversations are open, want 2", n)
		}
		start := time.Now()
		if err := w.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		wantElapsed(t, start, 0)
		<-s.Done()
		if !errors.Is(s.Err(), p.CodeStopped) || st.topic.Subscribers() != 0 {
			t.Errorf("%v, %d subscribers", s.Err(), st.topic.Subscribers())
		}
	})
}

// TestPublisherRestarts: its subscriptions break, and are resumed.
func TestPublisherRestarts(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		st := newStation(codons.TopicOptions{})
		self := w.spawn("Station", st)
		s := w.listen(t.Context())
		_ = self.Do(t.Context(), func(actors.Agent) { panic("oh") })
		time.Sleep(time.Minute)
		st.publish(1, 3)
		got := read(t, s, 3)
		wantNumbers(t, got, 1, 2, 3)
		if got[0].Break == nil {
			t.Errorf("got %+v", got)
		}
		_ = s.Unsubscribe()
		w.settled(0)
	})
}

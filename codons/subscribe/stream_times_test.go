package subscribe_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/subscribe"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// Each side ends a stream at the deadline of the subscriber's context by itself, and without one it
// lasts. Neither side has another timer, because there is no heartbeat.
func TestDeadlineOfAStream(t *testing.T) {
	for name, c := range map[string]struct {
		after time.Duration // zero for no deadline
		ended bool
	}{"with a deadline": {time.Hour, true}, "without one": {0, false}} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				st := newPublisher(subscribe.TopicOptions{})
				w.Add("Station", st)
				ctx, cancel := context.WithCancel(t.Context())
				if c.ended {
					ctx, cancel = context.WithTimeout(t.Context(), c.after)
				}
				defer cancel()
				s := listen(w, ctx, subscribe.WithHeartbeat(-1))
				w.Net.Intercept(func(*p.Message) bool { return true }) // neither hears of the other's end
				time.Sleep(24 * time.Hour)
				synctest.Wait()
				ended := s.Status().State == subscribe.StreamEnded
				if n := st.topic.Subscribers(); ended != c.ended || (n == 0) != c.ended {
					t.Errorf("after a day the stream has ended: %t, and the publisher has %d subscribers", ended, n)
				}
				if c.ended {
					kit.WantEnd(t, s.Err(), "timed_out", p.CodeTimeout)
				}
				w.Net.Intercept(nil)
				_ = s.Unsubscribe()
				w.Settled(0)
			})
		})
	}
}

// A stream without a heartbeat awaits the first answer for DefaultDeadline, and events for ever.
func TestSilenceWithoutAHeartbeat(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		st := newPublisher(subscribe.TopicOptions{})
		w.Add("Station", st)
		s := listen(w, t.Context(), subscribe.WithHeartbeat(-1))
		time.Sleep(10 * codons.DefaultDeadline)
		st.publish(1, 1)
		wantNumbers(t, pending(t, s), 1)
		if s.Status().Breaks != 0 {
			t.Errorf("got %+v", s.Status())
		}
		_ = s.Unsubscribe()

		w.Net.Lose(p.ActAgree, -1)
		s, err := subscribe.Start[beat](t.Context(), w.Eddy, "Station", beats, subscribe.WithHeartbeat(-1))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(codons.DefaultDeadline - time.Millisecond)
		if s.Status().State != subscribe.StreamSubscribing {
			t.Errorf("before the deadline: %+v", s.Status())
		}
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		if s.Status().State == subscribe.StreamSubscribing {
			t.Errorf("after the deadline: %+v", s.Status())
		}
		_ = s.Unsubscribe()
		w.Settled(0)
	})
}

// A caller without retries sends its opening act once, until the silence is too long.
func TestOpeningWithoutRetries(t *testing.T) {
	for name, c := range map[string]struct {
		opts []codons.Option
		more bool
	}{"with retries": {nil, true}, "without": {[]codons.Option{codons.WithRetry(codons.NoRetry())}, false}} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				w.Add("Station", newPublisher(subscribe.TopicOptions{}))
				sent := 0
				w.Net.Intercept(func(m *p.Message) bool {
					if m.Performative() == p.ActSubscribe {
						sent++
					}
					return true
				})
				_, err := subscribe.Subscribe[beat](t.Context(), w.Eddy, "Station", beats, c.opts...)
				kit.WantEnd(t, err, "lost", p.CodeTimeout)
				if sent < 1 || (sent > 1) != c.more {
					t.Errorf("%d SUBSCRIBE were sent, want more than one: %t", sent, c.more)
				}
				w.Settled(0)
			})
		})
	}
}

// The repetitions of an opening act slow down, also in a conversation without a deadline.
func TestRetriesOfAnOpeningSlowDown(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Station", newPublisher(subscribe.TopicOptions{}))
		var sent []time.Time
		w.Net.Intercept(func(m *p.Message) bool {
			if m.Performative() == p.ActSubscribe {
				sent = append(sent, time.Now())
			}
			return true
		})
		_, err := subscribe.Subscribe[beat](t.Context(), w.Eddy, "Station", beats, subscribe.WithHeartbeat(-1))
		kit.WantEnd(t, err, "lost", p.CodeTimeout)
		n := len(sent)
		if n < 3 {
			t.Fatalf("%d SUBSCRIBE were sent, want more", n)
		}
		if first, last := sent[1].Sub(sent[0]), sent[n-1].Sub(sent[n-2]); last < 4*first {
			t.Errorf("the first came again after %v, and the last of %d after %v", first, n, last)
		}
		w.Settled(0)
	})
}

// A stream whose breaks are not repaired ends with the first one. One with the default subscribes
// again.
func TestStreamWithoutResumption(t *testing.T) {
	for name, c := range map[string]struct {
		opts []codons.Option
		want subscribe.StreamState
	}{
		"by default":    {nil, subscribe.StreamBroken},
		"by its policy": {[]codons.Option{subscribe.WithResume(codons.NoRetry(), 0)}, subscribe.StreamEnded},
		"by its number": {[]codons.Option{subscribe.WithResume(codons.Retry{}, -1)}, subscribe.StreamEnded},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				w.Add("Station", newPublisher(subscribe.TopicOptions{}))
				s := listen(w, t.Context(), c.opts...)
				if err := w.StopAgent(t.Context(), "Station"); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if got := s.Status(); got.State != c.want || !errors.Is(got.Cause, p.CodeStopped) {
					t.Errorf("got %+v, want it %s", got, c.want)
				}
				_ = s.Unsubscribe()
				w.Settled(0)
			})
		})
	}
}

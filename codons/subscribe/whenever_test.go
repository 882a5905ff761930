package subscribe_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/subscribe"
	"github.com/ribosome-agents/ribosome/internal/systemtest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// over asks to be told whenever a beat is over n.
func over(n int) subscribe.Subscription {
	return subscribe.Subscription{Topic: "beats over", Parameters: p.ContentOf(n)}
}

func whenever(w *kit.World, n int) *subscribe.Stream[beat] {
	w.T.Helper()
	s, err := subscribe.RequestWhenever[beat](w.T.Context(), w.Eddy, "Station", over(n))
	if err != nil {
		w.T.Fatal(err)
	}
	return s
}

// The initiator is informed each time the condition becomes true, and at once if it is true
// now.
func TestRequestWhenever(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		st := newPublisher(subscribe.TopicOptions{})
		w.Add("Station", st)
		early := whenever(w, 3)
		st.publish(1, 5)
		synctest.Wait() // the transcript has what it led to before what comes next
		late := whenever(w, 3)
		for _, n := range []int{6, 2, 3, 7, 8, 1, 9} {
			st.publish(n, n)
		}
		got := pending(t, early)
		wantNumbers(t, got, 4, 7, 9)
		if lost(got) != 0 {
			t.Errorf("got %+v", got)
		}
		wantNumbers(t, pending(t, late), 5, 7, 9)
		if err := late.Unsubscribe(); err != nil {
			t.Error(err)
		}
		if err := early.Unsubscribe(); err != nil {
			t.Error(err)
		}
		kit.Golden(t, "request-whenever", w.Lines())
		w.Settled(0)
	})
}

// After a break, a change to true is reported and an unchanged true is not.
func TestRequestWheneverResumes(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile []int
		want      []int
	}{
		"it stayed true":   {[]int{5, 6}, []int{10}},
		"it became true":   {[]int{2, 6, 7}, []int{6, 10}},
		"it became untrue": {[]int{5, 2}, []int{8, 10}},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				st := newPublisher(subscribe.TopicOptions{})
				w.Add("Station", st)
				s := whenever(w, 3)
				st.publish(4, 4)
				wantNumbers(t, read(t, s, 1), 4)
				stopStation(w)
				for _, n := range c.meanwhile {
					st.publish(n, n)
				}
				w.Add("Station", st)
				time.Sleep(time.Minute)
				for _, n := range []int{8, 1, 10} {
					st.publish(n, n)
				}
				got := pending(t, s)
				wantNumbers(t, got, c.want...)
				if got[0].Break == nil || got[0].Uncounted {
					t.Errorf("got %+v", got)
				}
				_ = s.Unsubscribe()
			})
		})
	}
}

func TestRequestWheneverIsRefused(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Station", newPublisher(subscribe.TopicOptions{}))
		w.Add("Jules", &kit.Worker{})
		wrong := over(0)
		wrong.Parameters = p.ContentOf("three")
		_, err := subscribe.RequestWhenever[beat](t.Context(), w.Eddy, "Station", wrong)
		kit.WantEnd(t, err, "not_understood", p.CodeInvalidPayload)
		_, err = subscribe.RequestWhenever[beat](t.Context(), w.Eddy, "Jules", over(3))
		kit.WantEnd(t, err, "refused", p.CodeIncapable)
		w.Settled(0)
	})
}

// The subscriber has no heartbeat, sends no CONFIRM, and its payloads are raw JSON.
func TestForeignSubscriber(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		st := newPublisher(subscribe.TopicOptions{})
		w.Add("Station", st)
		a := w.Peer("peer")
		m := a.Send(p.Envelope{Performative: p.ActSubscribe, Receiver: "Station", Payload: p.Raw(`{"topic":"beats"}`)})
		agree := a.Expect(p.ActAgree)
		st.publish(1, 200)
		synctest.Wait()
		for range 70 { // it is known, whatever came since
			a.Send(p.Envelope{Receiver: "Station", ConversationID: m.ConversationID(), InReplyTo: string(m.ID()), Payload: subscribe.Confirmed{Number: 1}})
		}
		a.SendAgain(m)
		for n := 1; n <= 200; n++ {
			e, err := p.PayloadAs[subscribe.Published](a.Expect(p.ActInform))
			if err != nil || e.Number != uint64(n) || e.Value.Value() != (beat{N: n}) || e.Confirm {
				t.Fatalf("got %+v, %v", e, err)
			}
		}
		if again := a.Expect(p.ActAgree); again.ID() != agree.ID() {
			t.Error("agreed twice")
		}
		cancel, _ := m.Follow(a.Stamp(), p.Cancel{})
		a.SendAgain(cancel)
		receipt := a.Expect(p.ActInform)
		if _, ok := receipt.Payload().(p.Receipt); !ok || st.topic.Subscribers() != 0 {
			t.Errorf("got %+v, %d subscribers", receipt.Payload(), st.topic.Subscribers())
		}
		a.SendAgain(cancel)
		if again := a.Expect(p.ActInform); again.ID() != receipt.ID() {
			t.Error("another receipt")
		}
		st.publish(1, 1)
		a.SendAgain(m) // after the end
		if again := a.Expect(p.ActInform); again.ID() != receipt.ID() {
			t.Error("another receipt for the request")
		}
		w.Settled(0)
	})
}

// The publisher sends raw JSON, with or without Published, and no AGREE.
func TestForeignPublisher(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Allow(systemtest.ErrorLogged)
		a := w.Peer("peer")
		s, err := subscribe.Start[beat](t.Context(), w.Eddy, "peer", beats, subscribe.WithHeartbeat(-1))
		if err != nil {
			t.Fatal(err)
		}
		m := a.Expect(p.ActSubscribe)
		inform := func(payload any) {
			r, err := m.ReplyAs(a.Stamp(), p.ActInform, payload)
			if err != nil {
				t.Fatal(err)
			}
			a.SendAgain(r)
		}
		inform(p.Raw(`{"n":1}`))
		inform(p.Raw(`{"n":"two"}`))
		inform(p.Raw(`{"stream":"s","epoch":"e","seq":7,"number":1,"value":{"n":3}}`))
		inform(p.Raw(`{"stream":"s","epoch":"e","seq":8,"number":2,"value":"four"}`))
		inform(p.Raw(`{"stream":"s","epoch":"e","seq":9,"number":3,"confirm":true,"value":{"n":5}}`))
		got := pending(t, s)
		wantNumbers(t, got, 1, 3, 5)
		if lost(got) != 1 || s.Position() != (subscribe.Position{Epoch: "e", Seq: 9}) {
			t.Errorf("got %+v, at %+v", got, s.Position())
		}
		if c, err := p.PayloadAs[subscribe.Confirmed](a.Expect(p.ActConfirm)); err != nil || c.Number != 3 {
			t.Errorf("confirmed %+v, %v", c, err)
		}
		time.Sleep(time.Hour)
		if s.Status().State != subscribe.StreamSubscribed {
			t.Errorf("%+v", s.Status())
		}
		a.Reply(m, p.Failure{ErrorCode: p.CodeFailed, ErrorText: "out of paper"})
		<-s.Done()
		kit.WantEnd(t, s.Err(), "failed", p.CodeFailed)
		w.Settled(0)
	})
}

// The receipt ends both, and no subscription begins.
func TestCancelOvertakesSubscribe(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		st := newPublisher(subscribe.TopicOptions{})
		w.Add("Station", st)
		var held *p.Message
		w.Net.Intercept(func(m *p.Message) bool {
			if m.Performative() == p.ActSubscribe && held == nil {
				held = m
				return true
			}
			return false
		})
		s, err := subscribe.Start[beat](t.Context(), w.Eddy, "Station", beats)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := s.Unsubscribe(); err != nil {
			t.Error(err)
		}
		_ = w.Deliver("Station", held)
		synctest.Wait()
		if n := st.topic.Subscribers(); n != 0 {
			t.Errorf("%d subscribers", n)
		}
		w.Settled(0)
	})
}

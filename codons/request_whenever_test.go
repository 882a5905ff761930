package codons_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// over asks to be told whenever a beat is over n.
func over(n int) codons.Subscription {
	return codons.Subscription{Topic: "beats over", Parameters: p.ContentOf(n)}
}

func (w *world) whenever(n int) *codons.Stream[beat] {
	w.t.Helper()
	s, err := codons.RequestWhenever[beat](w.t.Context(), w.eddy, "Station", over(n))
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// TestRequestWhenever informs each time the condition becomes true, not while it stays
// so; the first time is now, if it holds.
func TestRequestWhenever(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		st := newStation(codons.TopicOptions{})
		w.spawn("Station", st)
		early := w.whenever(3)
		st.publish(1, 5)
		synctest.Wait() // the transcript has what it led to before what comes next
		late := w.whenever(3)
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
		golden(t, "request-whenever", w.monitor.lines())
		w.settled(0)
	})
}

// TestRequestWheneverResumes: what became true meanwhile is told, what stayed true is
// not told again.
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
			inWorld(t, func(t *testing.T, w *world) {
				st := newStation(codons.TopicOptions{})
				w.spawn("Station", st)
				s := w.whenever(3)
				st.publish(4, 4)
				wantNumbers(t, read(t, s, 1), 4)
				w.stopStation()
				for _, n := range c.meanwhile {
					st.publish(n, n)
				}
				w.spawn("Station", st)
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

func TestRequestWheneverIsTurnedDown(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Station", newStation(codons.TopicOptions{}))
		w.spawn("Jules", &worker{})
		wrong := over(0)
		wrong.Parameters = p.ContentOf("three")
		_, err := codons.RequestWhenever[beat](t.Context(), w.eddy, "Station", wrong)
		wantEnd(t, err, "not_understood", p.CodeInvalidPayload)
		_, err = codons.RequestWhenever[beat](t.Context(), w.eddy, "Jules", over(3))
		wantEnd(t, err, "refused", p.CodeIncapable)
		w.settled(0)
	})
}

// TestForeignSubscriber knows neither heartbeat nor CONFIRM, and speaks JSON.
func TestForeignSubscriber(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		st := newStation(codons.TopicOptions{})
		w.spawn("Station", st)
		a := w.puppet("puppet")
		m := a.say(p.Envelope{Performative: p.ActSubscribe, Receiver: "Station", Payload: p.Raw(`{"topic":"beats"}`)})
		agree := a.next(p.ActAgree)
		st.publish(1, 200)
		synctest.Wait()
		for range 70 { // it is known, whatever came since
			a.say(p.Envelope{Receiver: "Station", ConversationID: m.ConversationID(), InReplyTo: string(m.ID()), Payload: codons.Confirmed{Number: 1}})
		}
		a.send(m)
		for n := 1; n <= 200; n++ {
			e, err := p.PayloadAs[codons.Published](a.next(p.ActInform))
			if err != nil || e.Number != uint64(n) || e.Value.Value() != (beat{n}) || e.Confirm {
				t.Fatalf("got %+v, %v", e, err)
			}
		}
		if again := a.next(p.ActAgree); again.ID() != agree.ID() {
			t.Error("agreed twice")
		}
		cancel, _ := m.Follow(a.Stamp(), p.Cancel{})
		a.send(cancel)
		receipt := a.next(p.ActInform)
		if _, ok := receipt.Payload().(p.Receipt); !ok || st.topic.Subscribers() != 0 {
			t.Errorf("got %+v, %d subscribers", receipt.Payload(), st.topic.Subscribers())
		}
		a.send(cancel)
		if again := a.next(p.ActInform); again.ID() != receipt.ID() {
			t.Error("another receipt")
		}
		st.publish(1, 1)
		a.send(m) // after the end
		a.silence()
		w.settled(0)
	})
}

// TestForeignPublisher sends JSON, or the bare event, and leaves AGREE out.
func TestForeignPublisher(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.puppet("puppet")
		s, err := codons.StartSubscription[beat](t.Context(), w.eddy, "puppet", beats, codons.WithHeartbeat(-1))
		if err != nil {
			t.Fatal(err)
		}
		m := a.next(p.ActSubscribe)
		inform := func(payload any) {
			r, err := m.ReplyAs(a.Stamp(), p.ActInform, payload)
			if err != nil {
				t.Fatal(err)
			}
			a.send(r)
		}
		inform(p.Raw(`{"n":1}`))
		inform(p.Raw(`{"n":"two"}`))
		inform(p.Raw(`{"stream":"s","epoch":"e","seq":7,"number":1,"value":{"n":3}}`))
		inform(p.Raw(`{"stream":"s","epoch":"e","seq":8,"number":2,"value":"four"}`))
		inform(p.Raw(`{"stream":"s","epoch":"e","seq":9,"number":3,"confirm":true,"value":{"n":5}}`))
		got := pending(t, s)
		wantNumbers(t, got, 1, 3, 5)
		if lost(got) != 1 || s.Position() != (codons.Position{Epoch: "e", Seq: 9}) {
			t.Errorf("got %+v, at %+v", got, s.Position())
		}
		if c, err := p.PayloadAs[codons.Confirmed](a.next(p.ActConfirm)); err != nil || c.Number != 3 {
			t.Errorf("confirmed %+v, %v", c, err)
		}
		time.Sleep(time.Hour)
		if s.Status().State != codons.StreamSubscribed {
			t.Errorf("%+v", s.Status())
		}
		a.reply(m, p.Failure{ErrorCode: p.CodeFailed, ErrorText: "out of paper"})
		<-s.Done()
		wantEnd(t, s.Err(), "failed", p.CodeFailed)
		w.settled(0)
	})
}

// TestCancelOvertakesSubscribe: the receipt is for both, and nothing begins.
func TestCancelOvertakesSubscribe(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		st := newStation(codons.TopicOptions{})
		w.spawn("Station", st)
		var held *p.Message
		w.net.intercept(func(m *p.Message) bool {
			if m.Performative() == p.ActSubscribe && held == nil {
				held = m
				return true
			}
			return false
		})
		s, err := codons.StartSubscription[beat](t.Context(), w.eddy, "Station", beats)
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
		w.settled(0)
	})
}

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

// news is what agents of these tests are told.
type news struct {
	Text string `json:"text"`
}

// reader keeps what it is told.
type reader struct {
	heard []string
	hear  func(codons.Notice)
}

func (*reader) Describe() p.Capabilities { return p.Capabilities{} }

func (r *reader) HandleNotice(ctx context.Context, n codons.Notice) {
	text, err := p.PayloadAs[news](n.Message)
	if err != nil {
		panic(err)
	}
	if _, ok := ctx.Deadline(); !ok {
		panic("no deadline")
	}
	r.heard = append(r.heard, text.Text) // on its own actor, so no lock
	if r.hear != nil {
		r.hear(n)
	}
}

func TestNotify(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var steps []codons.Transition
		w.Events.Listen(func(ev actors.Event) {
			if s, ok := ev.(codons.Transition); ok && s.Protocol == "notify" {
				steps = append(steps, s)
			}
		})
		r := &reader{}
		w.spawn("Reader", r)
		for _, text := range []string{"one", "two"} {
			if err := codons.Notify(w.eddy, "Reader", news{text}); err != nil {
				t.Error(err)
			}
			w.settled(0) // before the steps of the next
		}
		if !slices.Equal(r.heard, []string{"one", "two"}) {
			t.Errorf("heard %q", r.heard)
		}
		if len(steps) != 4 || !steps[3].Ended || steps[3].To != "notified" || steps[0].Peer != "Reader" || steps[3].Peer != "Eddy" {
			t.Errorf("steps %+v", steps)
		}
		golden(t, "notify", w.monitor.lines())
	})
}

func TestNotifyTellsWhatItKnows(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Reader", &reader{})
		w.spawn("Deaf", &shop{})
		if err := codons.Notify(w.eddy, "Nobody", news{"x"}); !errors.Is(err, p.CodeUnknownAgent) {
			t.Errorf("nobody: %v", err)
		}
		if err := codons.Notify(w.eddy, "Reader", 3); !errors.Is(err, p.CodeInvalidPayload) {
			t.Errorf("a number for a content: %v", err)
		}
		if err := codons.Notify(w.eddy, "", news{"x"}); !errors.Is(err, p.CodeInvalidPayload) {
			t.Errorf("no receiver: %v", err)
		}
		dead := w.Counts().DeadLetters
		w.net.busy.Store(true)
		if err := codons.Notify(w.eddy, "Reader", news{"x"}); !errors.Is(err, p.CodeBusy) {
			t.Errorf("no room: %v", err)
		}
		w.net.busy.Store(false)
		if err := codons.Notify(w.eddy, "Deaf", news{"x"}); err != nil { // it is an agent, but hears nothing
			t.Error(err)
		}
		w.settled(0)
		if n := w.Counts().DeadLetters - dead; n != 2 {
			t.Errorf("%d dead letters, want 2", n)
		}
	})
}

func TestNotifyAll(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, b := &reader{}, &reader{}
		w.spawn("A", a)
		w.spawn("B", b)
		d, err := codons.NotifyAll(w.eddy, []p.AgentID{"A", "Nobody", "B"}, news{"x"})
		if err != nil || !slices.Equal(d.Reached, []p.AgentID{"A", "B"}) || len(d.Missed) != 1 || !errors.Is(d.Missed["Nobody"], p.CodeUnknownAgent) {
			t.Errorf("got %+v, %v", d, err)
		}
		if _, err := codons.NotifyAll(w.eddy, []p.AgentID{"A"}, 3); !errors.Is(err, p.CodeInvalidPayload) {
			t.Errorf("a number for a content: %v", err)
		}
		w.settled(0)
		if len(a.heard) != 1 || len(b.heard) != 1 {
			t.Errorf("heard %q and %q", a.heard, b.heard)
		}
	})
}

// TestNoticesAreHeardOnce has the network, or a confused peer, repeat them.
func TestNoticesAreHeardOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		r := &reader{}
		w.spawn("Reader", r)
		a, b := w.puppet("a"), w.puppet("b")
		m := a.say(p.Envelope{ID: "1", Performative: p.ActInform, Receiver: "Reader", Payload: p.Raw(`{"text":"a"}`)})
		a.send(m)
		b.say(p.Envelope{ID: "1", Performative: p.ActInform, Receiver: "Reader", Payload: p.Raw(`{"text":"b"}`)})
		synctest.Wait()
		if !slices.Equal(r.heard, []string{"a", "b"}) || w.Counts().DeadLetters != 1 {
			t.Errorf("heard %q, %d dead letters", r.heard, w.Counts().DeadLetters)
		}
	})
}

// TestNoNoticeIsMadeOfAnAnswer: an INFORM that comes too late for what it answers is
// no news.
func TestNoNoticeIsMadeOfAnAnswer(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		r := &reader{}
		w.spawn("Reader", r)
		a := w.puppet("a")
		a.say(p.Envelope{Performative: p.ActInform, Receiver: "Reader", InReplyTo: "x", Payload: news{"x"}})
		a.say(p.Envelope{Performative: p.ActInform, Receiver: "Reader", Protocol: "request", Payload: news{"x"}})
		synctest.Wait()
		if len(r.heard) != 0 || w.Counts().DeadLetters != 2 {
			t.Errorf("heard %q, %d dead letters", r.heard, w.Counts().DeadLetters)
		}
	})
}

// TestNoticePanics has a handler fail: its agent is restarted, as by any message.
func TestNoticePanics(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		first := true
		r := &reader{hear: func(codons.Notice) {
			if first {
				first = false
				panic("oh")
			}
		}}
		w.spawn("Reader", r)
		for range 2 {
			if err := codons.Notify(w.eddy, "Reader", news{"x"}); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(time.Minute) // the restart is not at once
		w.settled(0)
		if len(r.heard) != 2 || w.Counts().DeadLetters != 1 {
			t.Errorf("heard %q, %d dead letters", r.heard, w.Counts().DeadLetters)
		}
	})
}

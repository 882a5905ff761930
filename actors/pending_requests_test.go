package actors

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// A request is answered by the agent that it was sent to, and by no other, and only once.
func TestPendingRequestIsAnsweredByItsReceiver(t *testing.T) {
	request := recordedMessage(t, "c", "m1", performatives.Normal)
	reply := func(from performatives.AgentID) *performatives.Message {
		m, err := request.ReplyFrom(from, performatives.Stamp{ID: "r", Time: time.Unix(2, 0)}, performatives.ActFailure, performatives.Failure{ErrorCode: performatives.CodeFailed})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	var all pendingRequests
	r := &pendingRequest{request: request, reply: make(chan *performatives.Message, 1)}
	if !all.add(r) {
		t.Fatal("the request was not added")
	}
	for i, c := range []struct {
		from performatives.AgentID
		want bool
	}{{"stranger", false}, {"A", true}, {"a", false}} {
		if got := all.resolve(reply(c.from)); got != c.want {
			t.Errorf("%d: an answer of %q was passed on: %t, want %t", i, c.from, got, c.want)
		}
	}
	all.remove(r)
	if all.resolve(reply("a")) || len(all.byRef) > 0 {
		t.Error("a request that was removed is answered")
	}
}

// The stop of an agent ends its requests at once. A later one does not begin.
func TestAskEndsWithItsAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, r := routedSystem(t, Options{}, silent{})
		a, _ := s.Lookup("a")
		ask := func(id string) error {
			m, err := recordedMessage(t, id, id, performatives.Normal).With(func(e *performatives.Envelope) { e.Sender, e.Receiver = "a", "x" })
			if err != nil {
				t.Fatal(err)
			}
			_, err = a.Ask(t.Context(), m)
			return err
		}
		done := make(chan error, 1)
		go func() { done <- ask("m1") }()
		synctest.Wait()
		if err := s.StopAgent(t.Context(), "a"); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		select {
		case err := <-done:
			if !errors.Is(err, ErrStopped) {
				t.Errorf("got %v, want the stop of the agent", err)
			}
		default:
			t.Error("the request still waits")
		}
		if err := ask("m2"); !errors.Is(err, ErrStopped) {
			t.Errorf("a request after the stop: got %v", err)
		}
		if len(r.to) != 1 {
			t.Errorf("%d requests were sent, want the first alone", len(r.to))
		}
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// An ask ends at the deadline of its ctx or at the ReplyBy of its message, whichever is first.
func TestAskEndsAtItsReplyBy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, r := routedSystem(t, Options{}, silent{})
		a, _ := s.Lookup("a")
		for name, c := range map[string]struct{ replyBy, ctx, want time.Duration }{
			"ReplyBy only":      {time.Minute, 0, time.Minute},
			"ReplyBy is first":  {time.Minute, time.Hour, time.Minute},
			"ctx is first":      {time.Hour, time.Minute, time.Minute},
			"ctx only":          {0, time.Minute, time.Minute},
			"a refusal comes":   {time.Minute, 0, 59*time.Second + 999*time.Millisecond},
			"an answer in time": {time.Minute, 0, time.Second},
		} {
			ctx, cancel := t.Context(), context.CancelFunc(func() {})
			if c.ctx != 0 {
				ctx, cancel = context.WithTimeout(ctx, c.ctx)
			}
			m, err := recordedMessage(t, name, "m", performatives.Normal).With(func(e *performatives.Envelope) {
				e.Sender, e.Receiver = "a", "x"
				if c.replyBy != 0 {
					e.ReplyBy = time.Now().Add(c.replyBy)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			if name == "a refusal comes" || name == "an answer in time" {
				time.AfterFunc(c.want, func() {
					deliverAll(t, s, m.Refuse("x", s.Stamp(), performatives.CodeTimeout, "late"))
				})
			}
			began := time.Now()
			answer, err := a.Ask(ctx, m)
			if waited := time.Since(began); waited != c.want {
				t.Errorf("%s: it took %s, want %s", name, waited, c.want)
			}
			switch {
			case name == "an answer in time":
				if err != nil || answer.AsRefusal() == nil {
					t.Errorf("%s: %v, %v", name, answer, err)
				}
			case !errors.Is(err, context.DeadlineExceeded), name == "a refusal comes" && !errors.Is(err, performatives.CodeTimeout):
				t.Errorf("%s: %v", name, err)
			}
			cancel()
		}
		if len(r.to) != 6 {
			t.Errorf("%d requests were sent", len(r.to))
		}
		if err := errors.Join(s.StopAgent(t.Context(), "a"), s.Stop(t.Context())); err != nil {
			t.Error(err)
		}
	})
}

// routeFunc is a Router by a function.
type routeFunc func(m *performatives.Message) error

func (f routeFunc) Route(m *performatives.Message) error { return f(m) }

// An answer that is there when the ctx of its request ends is returned. A request that ends without
// one waits for no answer any more when it is given up, so that a later one is a dead letter.
func TestAskWhoseCtxEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a Self
		var end context.CancelFunc
		answers, abandoned := true, 0
		s, _ := routedSystem(t, Options{
			Entrance: routeFunc(func(m *performatives.Message) error {
				answer := m.Refuse("x", a.Stamp(), performatives.CodeFailed, "")
				if answers && !a.c.pendingRequests().resolve(answer) {
					t.Error("the request does not wait")
				}
				end()
				return nil
			}),
			OnAbandon: func(*performatives.Message) {
				if abandoned++; len(a.c.pendingRequests().byRef) > 0 {
					t.Error("a request that is given up still waits")
				}
			},
		}, silent{})
		a, _ = s.Lookup("a")
		m, err := recordedMessage(t, "c", "m", performatives.Normal).With(func(e *performatives.Envelope) { e.Sender, e.Receiver = "a", "x" })
		if err != nil {
			t.Fatal(err)
		}
		ask := func() (*performatives.Message, error) {
			var ctx context.Context
			ctx, end = context.WithCancel(t.Context())
			return a.Ask(ctx, m)
		}
		for range 64 { // of two things that have come, select picks either
			if answer, err := ask(); err != nil || answer.AsRefusal() == nil {
				t.Fatal(answer, err)
			}
		}
		answers = false
		if _, err := ask(); !errors.Is(err, context.Canceled) || abandoned != 1 {
			t.Errorf("got %v, and %d were given up, want one", err, abandoned)
		}
		if err := errors.Join(s.StopAgent(t.Context(), "a"), s.Stop(t.Context())); err != nil {
			t.Error(err)
		}
	})
}

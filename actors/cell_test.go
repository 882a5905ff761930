package actors

import (
	"context"
	"errors"
	goruntime "runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// receiving is an agent that receives by a function.
type receiving struct {
	silent
	receive func(*performatives.Message)
}

func (r receiving) Receive(_ *Context, m *performatives.Message) { r.receive(m) }

// replies is a router that records the messages to agents other than "a", and delivers those to it.
type replies struct {
	s  *System
	to []*performatives.Message
}

func (r *replies) Route(m *performatives.Message) error {
	if !m.Receiver().Is("a") {
		r.to = append(r.to, m)
		return nil
	}
	return r.s.Deliver(m.Receiver(), m)
}

// routedSystem returns a system with an agent, "a", and the messages to others.
func routedSystem(t *testing.T, o Options, agent Agent) (*System, *replies) {
	t.Helper()
	r := &replies{}
	o.Router = r
	s, err := NewSystem(o)
	if err != nil {
		t.Fatal(err)
	}
	r.s = s
	if _, err := s.Spawn(t.Context(), Spec{ID: "a", New: func() Agent { return agent }}); err != nil {
		t.Fatal(err)
	}
	return s, r
}

// The sender of a message over which the agent panics, or ends its goroutine, is told so.
func TestAgentFailsOverAMessage(t *testing.T) {
	for name, fails := range map[string]func(){"panic": func() { panic("as the test wants it") }, "Goexit": goruntime.Goexit} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, r := routedSystem(t, Options{}, receiving{receive: func(*performatives.Message) { fails() }})
				deliverAll(t, s, recordedMessage(t, "c", "m1", performatives.Normal))
				time.Sleep(time.Minute) // the delay of the restart
				synctest.Wait()
				if len(r.to) != 1 || r.to[0].InReplyTo() != "m1" || r.to[0].AsRefusal().Code != performatives.CodeInternal {
					t.Errorf("the sender got %v, want one refusal of m1", r.to)
				}
				if err := s.Stop(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A CANCEL does not expire with the request that it cancels: the codon decides about one that comes
// late.
func TestLateCancelDoesNotExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &recording{}
		s, r := routedSystem(t, Options{Protocols: []Protocol{&recordings{next: map[performatives.ConversationID]*recording{"c": c}}}}, silent{})
		m, err := recordedMessage(t, "c", "m1", performatives.Normal).With(func(e *performatives.Envelope) {
			e.Performative, e.Payload = performatives.ActCancel, performatives.Cancel{}
			e.InReplyTo, e.ReplyBy = "m0", time.Now().Add(-time.Second)
		})
		if err != nil {
			t.Fatal(err)
		}
		deliverAll(t, s, m)
		synctest.Wait()
		checkCalls(t, c, "start m1")
		if len(r.to) != 0 {
			t.Errorf("the sender got %v", r.to)
		}
		if err := s.StopAgent(t.Context(), "a"); err != nil {
			t.Error(err)
		}
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// An agent that waits for its conversations to stop handles no more messages. They are refused once
// it has stopped.
func TestStoppingAgentHandlesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := make(chan struct{})
		first, second := &recording{stop: func() { <-held }}, &recording{}
		all := &recordings{next: map[performatives.ConversationID]*recording{"c1": first, "c2": second}}
		s, r := routedSystem(t, Options{Protocols: []Protocol{all}}, silent{})
		deliverAll(t, s, recordedMessage(t, "c1", "m1", performatives.Normal))
		synctest.Wait()
		done := make(chan error)
		go func() { done <- s.StopAgent(t.Context(), "a") }()
		synctest.Wait()
		deliverAll(t, s, recordedMessage(t, "c2", "m2", performatives.Normal))
		synctest.Wait()
		checkCalls(t, second, "")
		close(held)
		if err := <-done; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if len(r.to) != 1 || r.to[0].InReplyTo() != "m2" || r.to[0].AsRefusal().Code != performatives.CodeStopped {
			t.Errorf("the sender got %v, want one refusal of m2", r.to)
		}
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A sender that has found an agent just before it retired reaches the agent's next run.
func TestSenderThatFoundTheRunBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, r := routedSystem(t, Options{}, silent{})
		found, _ := s.Find("a")
		v, _, err := s.Retire(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		var got []*performatives.Message
		next := receiving{receive: func(m *performatives.Message) { got = append(got, m) }}
		if _, err := v.Spawn(t.Context(), Spec{ID: "a", New: func() Agent { return next }}); err != nil {
			t.Fatal(err)
		}
		if err := found.Deliver(recordedMessage(t, "c", "m1", performatives.Normal)); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if len(got) != 1 || got[0].ID() != "m1" || len(r.to) > 0 {
			t.Errorf("the agent got %v, and the sender %v", got, r.to)
		}
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A request that the agent has taken on before is refused for good: unlike the refusal of one copy,
// the reply is not marked as undeliverable, so that the sender does not send the request again.
func TestKnownRequestIsRefusedForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := &recording{}, &recording{}
		all := &recordings{next: map[performatives.ConversationID]*recording{"c1": first, "c2": second}}
		s, r := routedSystem(t, Options{Protocols: []Protocol{all}}, silent{})
		deliverAll(t, s, recordedMessage(t, "c1", "m1", performatives.Normal), recordedMessage(t, "c2", "m1", performatives.Normal))
		synctest.Wait()
		checkCalls(t, first, "start m1")
		checkCalls(t, second, "")
		if len(r.to) != 1 || r.to[0].AsRefusal().Code != performatives.CodeConversationEnded || r.to[0].Undeliverable() {
			t.Errorf("the sender got %v, want one final refusal", r.to)
		}
		if err := s.StopAgent(t.Context(), "a"); err != nil {
			t.Error(err)
		}
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Two senders may use the same message id, and one sender may use it with two agents.
func TestRequestIDsOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := map[performatives.ConversationID]*recording{"c1": {}, "c2": {}, "c3": {}, "c4": {}}
		s, _ := routedSystem(t, Options{Protocols: []Protocol{&recordings{next: all}}}, silent{})
		if _, err := s.Spawn(t.Context(), Spec{ID: "b", New: func() Agent { return silent{} }}); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			conversation     string
			sender, receiver performatives.AgentID
		}{{"c1", "x", "a"}, {"c2", "y", "a"}, {"c3", "x", "b"}, {"c4", "X", "a"}} {
			m, err := recordedMessage(t, c.conversation, "m", performatives.Normal).With(func(e *performatives.Envelope) {
				e.Sender, e.Receiver, e.ReplyBy = c.sender, c.receiver, time.Now().Add(time.Minute)
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Deliver(c.receiver, m); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		for id, want := range map[performatives.ConversationID]string{"c1": "start m", "c2": "start m", "c3": "start m", "c4": ""} {
			checkCalls(t, all[id], want)
		}
		for _, id := range []performatives.AgentID{"a", "b"} {
			if err := s.StopAgent(t.Context(), id); err != nil {
				t.Error(err)
			}
		}
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// The stop of an agent ends the wait of a caller of Do.
func TestDoEndsWithItsAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, a := numberedSystem(t, &numbers{})
		held, done := make(chan struct{}), make(chan error, 1)
		_ = a.Later(func(Agent) { <-held })
		synctest.Wait()
		go func() { _ = s.StopAgent(t.Context(), "a") }()
		synctest.Wait()
		go func() { done <- a.Do(t.Context(), func(Agent) { t.Error("the function runs") }) }()
		synctest.Wait()
		close(held)
		synctest.Wait()
		select {
		case err := <-done:
			if !errors.Is(err, ErrStopped) {
				t.Errorf("got %v, want the stop of the agent", err)
			}
		default:
			t.Error("the caller still waits")
		}
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A message is given back although its producer has not come to wake the mailbox when the agent
// stops: Retire returns after that.
func TestRetireWithAMessageThatWakesNobody(t *testing.T) {
	s, err := NewSystem(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop(context.Background()) //nolint:errcheck // nothing runs
	self, err := s.Spawn(t.Context(), Spec{ID: "a", New: func() Agent { return silent{} }})
	if err != nil {
		t.Fatal(err)
	}
	m, err := performatives.New(performatives.Envelope{
		ID: "m", Performative: performatives.ActInform, Sender: "b", Receiver: "a", Timestamp: time.Unix(1, 0), Payload: performatives.Raw(`{}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	box, normal := self.c.mailbox, performatives.Normal.Band()
	if reason := box.newBand(normal).push(m, 10, bounded); reason != 0 {
		t.Fatal(reason)
	}
	v, _, err := s.Retire(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if v.Len() != 1 {
		t.Errorf("%d messages are given back, want 1", v.Len())
	}
	box.wake(1<<normal, false) // which is too late
	v.Release(func(*performatives.Message) error { return nil })
	if n := s.Counts().Refused; n != 0 {
		t.Errorf("%d messages are refused", n)
	}
}

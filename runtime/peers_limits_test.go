package runtime_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// Conversations of the node's agents with those of a session count for its bounds, in both
// directions, as long as they are open.
func TestConversationsOfASessionAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started, ended := make(chan struct{}, 10), make(chan error, 10)
		h := newHub(t, runtime.PeerOptions{MaxOpen: 2})
		h.spawn("Jules", returning(newCancellableWorker(started, ended)))
		c := newCaller(t, h, nil)
		answers := 0
		next := func() *performatives.Message { answers++; return c.answer(answers) }
		c.say(message(t, "Eddy", "system", performatives.ActQueryCapabilities, offers()))
		next()
		ask := func() *performatives.Message {
			m := message(t, "Eddy", "Jules", performatives.ActTaskRequest, with(task("debug_code")))
			c.say(m)
			return m
		}
		first := ask()
		next()
		ask()
		next()
		third := ask()
		if m := next(); !errors.Is(m.AsRefusal(), performatives.CodeBusy) {
			t.Errorf("one too many is told %s", m.Performative())
		}
		c.say(first) // a repetition is not a further one, and is refused as a copy only
		if m := next(); !m.Undeliverable() && m.Performative() != performatives.ActTaskAccept {
			t.Errorf("a repetition is told %s", m.Performative())
		}
		if _, err := h.Delegate(patience.Context(t), "Eddy", task("debug_code")); !errors.Is(err, performatives.CodeBusy) {
			t.Errorf("a delegation to the peer: %v", err)
		}
		c.say(message(t, "Eddy", "Jules", performatives.ActCancel, func(e *performatives.Envelope) {
			e.ConversationID, e.InReplyTo, e.Payload = first.ConversationID(), string(first.ID()), performatives.Cancel{}
		}))
		next() // the receipt
		synctest.Wait()
		c.say(third)
		if m := next(); m.Performative() != performatives.ActTaskAccept {
			t.Errorf("after the end of one: told %s, %v", m.Performative(), m.AsRefusal())
		}
		c.cut()
		synctest.Wait()
		if err := h.Stop(patience.Context(t)); err != nil {
			t.Error(err)
		}
	})
}

// Who asks an agent that refuses as busy is read slowly.
func TestBusyAgentSlowsItsSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, runtime.PeerOptions{})
		h.spawn("Jules", returning(selfish{newCancellableWorker(make(chan struct{}, 10), make(chan error, 10))}))
		c := newCaller(t, h, nil)
		took := func(n int, want performatives.Performative) time.Duration {
			began := time.Now()
			c.say(message(t, "Eddy", "Jules", performatives.ActTaskRequest, with(task("debug_code"))))
			if m := c.answer(n); m.Performative() != want {
				t.Errorf("answer %d: %s", n, m.Performative())
			}
			return time.Since(began)
		}
		if d := took(1, performatives.ActTaskAccept) + took(2, performatives.ActTaskReject); d != 0 {
			t.Errorf("not busy yet: %v", d)
		}
		const owed = 32 // refusals for which the session pauses once
		for n := 3; n < 2+owed; n++ {
			if d := took(n, performatives.ActTaskReject); d != 0 {
				t.Errorf("answer %d: a pause of %v", n, d)
			}
		}
		if d := took(2+owed, performatives.ActTaskReject); d != 5*time.Millisecond {
			t.Errorf("busy: %v", d)
		}
		c.cut()
		synctest.Wait()
		if err := h.Stop(patience.Context(t)); err != nil {
			t.Error(err)
		}
	})
}

// unread is a peer that does not come back from its first message.
type unread struct {
	*wiretest.Recorder
	release <-chan struct{}
}

func (s unread) Receive(*wire.Session, *performatives.Message) error { <-s.release; return nil }

// A task for an agent whose peer does not read is refused before it is sent.
func TestCongestedSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, release := newHub(t, runtime.PeerOptions{}), make(chan struct{})
		s, cut, err := h.dial(nil, unread{new(wiretest.Recorder), release})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Send(message(t, "Eddy", "system", performatives.ActQueryCapabilities, offers("debug_code"))); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for range 2000 {
			if err := h.Send(message(t, "hub", "Eddy", performatives.ActInform, with(performatives.Raw(`{"text":"`+strings.Repeat("x", 1000)+`"}`)))); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if _, err := h.Delegate(ctx, "Eddy", task("debug_code")); !errors.Is(err, performatives.CodeBusy) || !strings.Contains(err.Error(), "congested") {
			t.Error(err)
		}
		close(release)
		cut()
		synctest.Wait()
		if err := h.Stop(patience.Context(t)); err != nil {
			t.Error(err)
		}
	})
}

// selfish performs one task at a time.
type selfish struct{ worker }

func (selfish) MaxTasks() int { return 1 }

// A session may have as many delegations of the node open as its bound says, not one less.
func TestDelegationsToASessionAreBounded(t *testing.T) {
	h := newHub(t, runtime.PeerOptions{MaxOpen: 1})
	c := newCaller(t, h, nil)
	c.say(message(t, "Eddy", "system", performatives.ActQueryCapabilities, offers("debug_code")))
	c.answer(1)
	d, err := delegation.Start(patience.Context(t), h, "Eddy", task("debug_code"))
	if err != nil {
		t.Fatal(err)
	}
	if m := c.answer(2); m.Performative() != performatives.ActTaskRequest {
		t.Errorf("the peer gets %s", m.Performative())
	}
	if _, err := h.Delegate(patience.Context(t), "Eddy", task("debug_code")); !errors.Is(err, performatives.CodeBusy) {
		t.Errorf("one too many: %v", err)
	}
	c.cut()
	if _, err := d.Wait(); !errors.Is(err, performatives.CodeDisconnected) {
		t.Errorf("the first: %v", err)
	}
}

// The long requests of open conversations are bounded by bytes.
func TestLongRequestsOfASessionAreBounded(t *testing.T) {
	started, ended := make(chan struct{}, 10), make(chan error, 10)
	h := newHub(t, runtime.PeerOptions{MaxBytes: 30_000})
	h.spawn("Jules", returning(newCancellableWorker(started, ended)))
	c := newCaller(t, h, nil)
	for i, tt := range []struct {
		length int
		want   performatives.Performative
	}{{20_000, performatives.ActTaskAccept}, {20_000, performatives.ActTaskReject}, {100, performatives.ActTaskAccept}} {
		c.say(message(t, "Eddy", "Jules", performatives.ActTaskRequest, with(performatives.TaskRequest{
			TaskType: "debug_code", Description: strings.Repeat("x", tt.length),
		})))
		m := c.answer(i + 1)
		if m.Performative() != tt.want || tt.want == performatives.ActTaskReject && !errors.Is(m.AsRefusal(), performatives.CodeBusy) {
			t.Errorf("a request of %d bytes is told %s, %v", tt.length, m.Performative(), m.AsRefusal())
		}
	}
}

// An agent that has withdrawn its capabilities makes room for another only when it owes nobody a
// reply.
func TestWithdrawnAgentThatWorks(t *testing.T) {
	h := newHub(t, runtime.PeerOptions{MaxAgents: 1})
	told := make(chan *performatives.Message, 10)
	h.spawn("asker", always(scripted{receive: func(_ *actors.Context, m *performatives.Message) { told <- m }}))
	c := newCaller(t, h, nil)
	c.say(message(t, "Jules", "system", performatives.ActQueryCapabilities, offers("read")))
	c.answer(1)
	question := message(t, "asker", "Jules", performatives.ActRequest)
	if err := h.Send(question); err != nil {
		t.Fatal(err)
	}
	asked := c.answer(2)
	c.say(message(t, "Jules", "system", performatives.ActQueryCapabilities, offers()))
	c.answer(3)
	c.say(message(t, "Eddy", "system", performatives.ActQueryCapabilities, offers("read")))
	if r := c.answer(4).AsRefusal(); r == nil || r.Code != performatives.CodeBusy {
		t.Errorf("one too many is told %v", r)
	}
	c.say(message(t, "Jules", "asker", performatives.ActInform, func(e *performatives.Envelope) {
		e.ConversationID, e.InReplyTo = asked.ConversationID(), string(asked.ID())
	}))
	if m := <-told; m.Performative() != performatives.ActInform {
		t.Errorf("the asker is told %s, %v", m.Performative(), m.AsRefusal())
	}
	c.say(message(t, "Jules", "system", performatives.ActQueryCapabilities, offers()))
	c.answer(5)
	c.say(message(t, "Eddy", "system", performatives.ActQueryCapabilities, offers("read")))
	if m := c.answer(6); m.Performative() != performatives.ActInformCapabilities {
		t.Errorf("told %s, %v", m.Performative(), m.AsRefusal())
	}
}

// The same holds for an agent with a conversation.
func TestWithdrawnAgentWithAConversation(t *testing.T) {
	h := newHub(t, runtime.PeerOptions{MaxAgents: 1})
	c := newCaller(t, h, nil)
	c.say(message(t, "Jules", "system", performatives.ActQueryCapabilities, offers("debug_code")))
	c.answer(1)
	d, err := delegation.Start(patience.Context(t), h, "Jules", task("debug_code"))
	if err != nil {
		t.Fatal(err)
	}
	request := c.answer(2)
	c.say(message(t, "Jules", "system", performatives.ActQueryCapabilities, offers()))
	c.answer(3)
	c.say(message(t, "Eddy", "system", performatives.ActQueryCapabilities, offers("read")))
	if r := c.answer(4).AsRefusal(); r == nil || r.Code != performatives.CodeBusy {
		t.Errorf("one too many is told %v", r)
	}
	reject, err := request.ReplyFrom("Jules", h.System().Stamp(), performatives.ActTaskReject, performatives.TaskReject{ReasonCode: performatives.CodeBusy, ReasonText: "no"})
	if err != nil {
		t.Fatal(err)
	}
	c.say(reject)
	if _, err := d.Wait(); !errors.Is(err, performatives.CodeBusy) {
		t.Errorf("the delegation: %v", err)
	}
}

// The end of a session reaches an agent whose mailbox is full.
func TestEndOfASessionAtAFullMailbox(t *testing.T) {
	const requests = 5
	h := newHub(t, noPeerOptions)
	told, held, release := make(chan *performatives.Message, 2*requests), make(chan struct{}), make(chan struct{})
	asker := always(scripted{receive: func(_ *actors.Context, m *performatives.Message) {
		if m.Performative() == performatives.ActInform {
			close(held)
			<-release
			return
		}
		told <- m
	}})
	if err := h.Spawn(patience.Context(t), "asker", asker, runtime.WithCapacity(1)); err != nil {
		t.Fatal(err)
	}
	c := newCaller(t, h, nil)
	c.say(message(t, "Jules", "system", performatives.ActQueryCapabilities, offers("read")))
	c.answer(1)
	for range requests {
		if err := h.Send(message(t, "asker", "Jules", performatives.ActRequest)); err != nil {
			t.Fatal(err)
		}
	}
	c.Await(t, 1+requests)
	if err := h.Send(message(t, "hub", "asker", performatives.ActInform)); err != nil {
		t.Fatal(err)
	}
	<-held
	c.cut()
	h.awaitStopped("Jules", 1)
	close(release)
	for range requests {
		if m := <-told; m.Performative() != performatives.ActFailure {
			t.Errorf("the asker is told %s", m.Performative())
		}
	}
}

// A peer whose request an agent of the node holds in its Receive is told when the agent stops, and
// so is an agent beyond a session when the agent stops that asked it.
func TestStopOfAnAgentWithARequest(t *testing.T) {
	h := newHub(t, noPeerOptions)
	silent := always(scripted{receive: func(*actors.Context, *performatives.Message) {}})
	h.spawn("Silent", silent)
	c := newCaller(t, h, nil)
	c.say(message(t, "Jules", "system", performatives.ActQueryCapabilities, offers()))
	c.answer(1)
	received := listen(t, h.Node, events.KindMessageReceived)
	request := message(t, "Jules", "Silent", performatives.ActRequest)
	c.say(request)
	await(t, received, 1, func(e events.MessageReceived) bool { return e.Message.ID() == request.ID() })
	question := message(t, "Silent", "Jules", performatives.ActQueryIf, with(performatives.Raw(`{"condition":"x"}`)))
	if err := h.Send(question); err != nil {
		t.Fatal(err)
	}
	c.answer(2)
	if err := h.StopAgent(patience.Context(t), "Silent"); err != nil {
		t.Fatal(err)
	}
	for _, m := range c.Await(t, 4)[2:] {
		switch r := m.AsRefusal(); {
		case m.Performative() == performatives.ActCancel && m.InReplyTo() == string(question.ID()):
		case r == nil || r.Code != performatives.CodeStopped || m.InReplyTo() != string(request.ID()):
			t.Errorf("told %s about %s, %v", m.Performative(), m.InReplyTo(), r)
		}
	}
}

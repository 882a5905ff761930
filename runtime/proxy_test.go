package runtime_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
)

// What stands for a peer may be stopped while the peer's session goes on: each side is told
// one end of what was open, and what the other says of it later is a dead letter.
func TestStopOfTheProxyAlone(t *testing.T) {
	h := newHub(t, noPeerOptions)
	told, held := make(chan *performatives.Message, 10), make(chan struct{}, 1)
	h.spawn("asker", always(scripted{receive: func(_ *actors.Context, m *performatives.Message) { told <- m }}))
	h.spawn("worker", always(scripted{receive: holder(held)}))
	c := newCaller(t, h, nil)
	c.say(message(t, "Jules", "system", performatives.ActQueryCapabilities, offers("read")))
	c.answer(1)
	question, posed := message(t, "asker", "Jules", performatives.ActRequest), message(t, "Jules", "worker", performatives.ActRequest)
	if err := h.Send(question); err != nil {
		t.Fatal(err)
	}
	c.answer(2)
	c.say(posed)
	<-held
	dead := listen(t, h.Node, actors.KindMessageDeadLettered)
	if err := h.StopAgent(within(t), "Jules"); err != nil {
		t.Fatal(err)
	}
	if m := <-told; m.InReplyTo() != string(question.ID()) || m.AsRefusal() == nil {
		t.Errorf("the asker is told %s %s", m.Performative(), m.InReplyTo())
	}
	var cancel *performatives.Message
	for _, m := range c.Await(t, 4)[2:] {
		if m.Performative() == performatives.ActCancel {
			cancel = m
		} else if m.InReplyTo() != string(posed.ID()) || m.AsRefusal() == nil {
			t.Errorf("the peer is told %s %s", m.Performative(), m.InReplyTo())
		}
	}
	if cancel == nil {
		t.Fatal("the peer is not told to stop its work")
	}
	for _, about := range []*performatives.Message{cancel, question} { // by the first it is back
		c.say(message(t, "Jules", "asker", performatives.ActInform, func(e *performatives.Envelope) { e.InReplyTo = string(about.ID()) }))
	}
	ended := func(e actors.DeadLetter) bool { return e.Code == performatives.CodeConversationEnded }
	await(t, dead, 2, ended)
	if err := h.Send(message(t, "asker", "worker", performatives.ActInform)); err != nil {
		t.Fatal(err)
	}
	await(t, dead, 4, ended) // the answers to its question, and to the CANCEL in its stead
	c.say(message(t, "Jules", "worker", performatives.ActRequest))
	if m := c.answer(5); m.Performative() != performatives.ActInform {
		t.Errorf("it is told %s", m.Performative())
	}
	if len(told) > 0 {
		t.Errorf("the asker is told more: %s", (<-told).Performative())
	}
}

// holder answers what it was asked once it gets an INFORM, and from then on at once.
func holder(got chan<- struct{}) func(*actors.Context, *performatives.Message) {
	var held []*performatives.Message
	released := false
	return func(c *actors.Context, m *performatives.Message) {
		if !m.Performative().ExpectsReply() {
			released = true
		} else {
			held = append(held, m)
			if m.Performative() != performatives.ActCancel && !released {
				got <- struct{}{}
			}
		}
		for ; released && len(held) > 0; held = held[1:] {
			_ = c.ReplyAs(held[0], performatives.ActInform, performatives.Raw(`{"n":2}`)) // who asked may be gone
		}
	}
}

// gated is a handler that waits before a message that its test holds back.
type gated struct {
	wire.Handler
	held          performatives.MessageID
	came, release chan struct{}
}

// Receive waits if it is told to.
func (g gated) Receive(s *wire.Session, m *performatives.Message) error {
	if m.ID() == g.held {
		g.came <- struct{}{}
		<-g.release
	}
	return g.Handler.Receive(s, m)
}

// What a session says after another has taken its agent over is counted, for its peer may
// not hear that it is refused.
func TestReplacedSessionIsCounted(t *testing.T) {
	for _, act := range []performatives.Performative{performatives.ActInform, performatives.ActRequest} {
		g := gated{held: "late", came: make(chan struct{}), release: make(chan struct{})}
		h := newHub(t, noPeerOptions, func(o *wire.Options) { g.Handler, o.Handler = o.Handler, &g })
		h.spawn("Eliza", always(scripted{receive: echo}))
		fates := listen(t, h.Node, actors.KindMessageDeadLettered, actors.KindMessageRefused)
		first, second := newCaller(t, h, nil), newCaller(t, h, nil)
		first.say(message(t, "Jules", "Eliza", performatives.ActRequest))
		first.answer(1)
		first.say(message(t, "Jules", "Eliza", act, func(e *performatives.Envelope) { e.ID = g.held }))
		<-g.came
		second.say(message(t, "Jules", "Eliza", performatives.ActRequest))
		second.answer(1)
		close(g.release)
		await(t, fates, 1, func(e actors.Event) bool {
			switch e := e.(type) {
			case actors.DeadLetter:
				return act == performatives.ActInform && e.Message.(*performatives.Message).ID() == g.held
			case actors.MessageRefused:
				return act == performatives.ActRequest && e.Message.ID() == g.held
			}
			return false
		})
	}
}

// heldStamper has the first stamp wait that is asked for once it is armed.
type heldStamper struct {
	stamps        atomic.Uint64
	armed         atomic.Bool
	came, release chan struct{}
}

// Stamp returns the next stamp.
func (s *heldStamper) Stamp() performatives.Stamp {
	if s.armed.CompareAndSwap(true, false) {
		close(s.came)
		<-s.release
	}
	return performatives.Stamp{ID: performatives.MessageID(fmt.Sprint("stamp ", s.stamps.Add(1))), Time: time.Now()}
}

// A question that comes just as what stands for its sender is stopped has an end, although
// its answer finds nobody.
func TestQuestionMeetsTheStopOfTheProxy(t *testing.T) {
	stamper := &heldStamper{came: make(chan struct{}), release: make(chan struct{})}
	h := newHubOf(t, newNode(t, runtime.Options{Name: "hub", Stamper: stamper}), noPeerOptions)
	h.spawn("worker", always(scripted{receive: echo}))
	c := newCaller(t, h, nil)
	stamper.armed.Store(true)
	hasTools := performatives.Capabilities{Extra: performatives.Members{"tools": []byte("true")}}
	c.say(message(t, "Jules", "worker", performatives.ActQueryCapabilities, with(performatives.QueryCapabilities{Type: performatives.QuerySummary, Capabilities: &hasTools})))
	<-stamper.came // the session's reader knows who speaks, and is about to ask for the names of the tools
	if err := h.StopAgent(within(t), "Jules"); err != nil {
		t.Fatal(err)
	}
	close(stamper.release)
	if asked := c.answer(1); asked.Performative() != performatives.ActQueryCapabilities {
		t.Errorf("it is asked %s", asked.Performative())
	}
	if r := c.answer(2).AsRefusal(); r == nil || r.Code != performatives.CodeStopped {
		t.Errorf("it is told %v", r)
	}
}

// A peer that numbers its messages anew and asks everybody is told that the number is not new.
func TestBroadcastNumberedAnew(t *testing.T) {
	h := newHub(t, noPeerOptions)
	h.spawn("worker", always(scripted{receive: func(c *actors.Context, m *performatives.Message) {
		if m.Receiver() == "" {
			echo(c, m)
		}
	}}))
	c := newCaller(t, h, nil)
	first := func(e *performatives.Envelope) { e.ID = "1" }
	c.say(message(t, "Jules", "worker", performatives.ActRequest, first))
	c.say(message(t, "Jules", "system", performatives.ActQueryCapabilities, offers("read")))
	c.answer(1)
	if err := h.StopAgent(within(t), "Jules"); err != nil {
		t.Fatal(err)
	}
	if m := c.answer(2); m.InReplyTo() != "1" || m.AsRefusal() == nil {
		t.Fatalf("told %s about %q", m.Performative(), m.InReplyTo())
	}
	c.say(message(t, "Jules", "", performatives.ActRequest, first))
	if m := c.answer(3); m.Performative() != performatives.ActNotUnderstood || m.InReplyTo() != "1" {
		t.Errorf("told %s by %q about %q", m.Performative(), m.Sender(), m.InReplyTo())
	}
}

package runtime_test

import (
	"context"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// endingConversation is a conversation that ends while a message is in its mailbox.
type endingConversation struct {
	scriptedConversation
	busy, proceed, over chan struct{}
	late                chan *performatives.Message
}

func (e *endingConversation) Receive(any) {
	close(e.busy) // the second message must not arrive here
	<-e.proceed
	e.self.End(e, lateMessages(e.late))
	_ = e.self.Do(context.Background(), func(actors.Agent) {}) // the agent has run the end command
	close(e.over)
}

// lateMessages is a tombstone that passes late messages on.
type lateMessages chan<- *performatives.Message

func (l lateMessages) Receive(_ actors.Self, m *performatives.Message) bool { l <- m; return true }

func (lateMessages) Size() int { return 0 }

func (lateMessages) Shed() {}

type endingProtocol struct {
	scriptedProtocol
	e *endingConversation
}

func (p endingProtocol) Bind(self actors.Self, _ actors.Agent) actors.Responder {
	p.e.self = self
	return p
}

func (p endingProtocol) Open(m *performatives.Message) actors.Conversation {
	p.e.key = actors.Key{ID: m.ConversationID(), Peer: m.Sender()}
	return p.e
}

// Messages that a conversation has not read are passed to its tombstone function.
func TestEndReturnsUnreadMessages(t *testing.T) {
	e := &endingConversation{busy: make(chan struct{}), proceed: make(chan struct{}), over: make(chan struct{}), late: make(chan *performatives.Message, 1)}
	n := newNode(t, runtime.Options{Protocols: []actors.Protocol{endingProtocol{e: e}}})
	if err := n.Spawn(patience.Context(t), "a", always(scripted{})); err != nil {
		t.Fatal(err)
	}
	r := listen(t, n)
	first, second := message(t, "x", "a", performatives.ActRequest, inScript), message(t, "x", "a", performatives.ActRequest, inScript)
	for _, m := range []*performatives.Message{first, second} {
		if err := n.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	<-e.busy
	await(t, r, 1, func(ev events.MessageReceived) bool { return ev.Message == second })
	close(e.proceed)
	select {
	case m := <-e.late:
		if m != second {
			t.Errorf("got %s", m.ID())
		}
	case <-time.After(patience.Time):
		t.Error("the unread message has gone")
	}
	<-e.over // a stop of the agent would wait for Receive, which waits for the agent
}

// The end of an earlier conversation does not end a later one with the same key.
func TestEndOfFormerConversation(t *testing.T) {
	heard := make(chan struct{}, 2)
	n := newNode(t, runtime.Options{Protocols: []actors.Protocol{scriptedProtocol{receive: func(self actors.Self, key actors.Key) {
		self.End(&scriptedConversation{key: key}, nil)
		heard <- struct{}{}
	}}}})
	if err := n.Spawn(patience.Context(t), "a", always(scripted{})); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := n.Send(message(t, "x", "a", performatives.ActRequest, inScript)); err != nil {
			t.Fatal(err)
		}
		<-heard
	}
	if open := n.Counts().Open; open != 1 {
		t.Errorf("%d conversations are open, want the one", open)
	}
	if err := n.StopAgent(patience.Context(t), "a"); err != nil { // StopAgent, because Stop would wait for the conversation
		t.Error(err)
	}
}

// A reply that arrives while its Ask is cancelled is either returned or counted.
func TestAskAccountsForLateAnswers(t *testing.T) {
	n := newNode(t, runtime.Options{})
	cancels := make(chan context.CancelFunc, 1)
	err := n.Spawn(patience.Context(t), "a", always(scripted{receive: func(c *actors.Context, m *performatives.Message) {
		echo(c, m)
		(<-cancels)()
	}}))
	if err != nil {
		t.Fatal(err)
	}
	asker, err := n.Client(patience.Context(t), "asker")
	if err != nil {
		t.Fatal(err)
	}
	var givenUp uint64
	for range 500 {
		ctx, cancel := context.WithCancel(t.Context())
		cancels <- cancel
		if _, err := asker.Ask(ctx, message(t, "asker", "a", performatives.ActRequest)); err != nil {
			givenUp++
		}
	}
	for _, id := range []performatives.AgentID{"a", "asker"} { // wait until their messages are handled
		if err := n.StopAgent(patience.Context(t), id); err != nil {
			t.Fatal(err)
		}
	}
	if dead := n.Counts().DeadLetters; dead != givenUp {
		t.Errorf("%d asks were given up, %d answers counted", givenUp, dead)
	}
}

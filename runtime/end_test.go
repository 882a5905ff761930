package runtime_test

import (
	"context"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// ending is a conversation that ends while a message for it is unread.
type ending struct {
	player
	key           actors.Key
	busy, proceed chan struct{}
	late          chan *performatives.Message
}

func (e *ending) Key() actors.Key { return e.key }

func (e *ending) Receive(ctx actor.Context) {
	if _, ok := ctx.Message().(*performatives.Message); !ok {
		return
	}
	close(e.busy) // the second message must not get here
	<-e.proceed
	e.self.End(e, func(m *performatives.Message) bool { e.late <- m; return true })
	_ = e.self.Do(context.Background(), func(actors.Agent) {}) // the agent has dealt with the end
}

type endings struct {
	play
	e *ending
}

func (p endings) Bind(self actors.Self, _ actors.Agent) actors.Responding {
	p.e.self = self
	return p
}

func (p endings) Open(m *performatives.Message) actors.Conversation {
	p.e.key = actors.Key{ID: m.ConversationID(), Peer: m.Sender()}
	return p.e
}

// What a conversation had no time to read goes to what answers after its end.
func TestEndGivesBackWhatIsUnread(t *testing.T) {
	e := &ending{busy: make(chan struct{}), proceed: make(chan struct{}), late: make(chan *performatives.Message, 1)}
	n := newNode(t, runtime.Options{Protocols: []actors.Protocol{endings{e: e}}})
	if err := n.Spawn(within(t), "a", always(scripted{})); err != nil {
		t.Fatal(err)
	}
	r := listen(t, n)
	first, second := message(t, "x", "a", performatives.ActRequest, inPlay), message(t, "x", "a", performatives.ActRequest, inPlay)
	for _, m := range []*performatives.Message{first, second} {
		if err := n.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	<-e.busy
	await(t, r, 1, func(ev actors.MessageReceived) bool { return ev.Message == second })
	close(e.proceed)
	select {
	case m := <-e.late:
		if m != second {
			t.Errorf("got %s", m.ID())
		}
	case <-time.After(patience):
		t.Error("the unread message has gone")
	}
}

// The end of a conversation that is no more does not end a later one of its name.
func TestEndOfFormerConversation(t *testing.T) {
	heard := make(chan struct{}, 2)
	n := newNode(t, runtime.Options{Protocols: []actors.Protocol{play{func(self actors.Self, key actors.Key, ctx actor.Context) {
		if _, ok := ctx.Message().(*performatives.Message); ok {
			self.End(&playing{key: key}, nil)
			heard <- struct{}{}
		}
	}}}})
	if err := n.Spawn(within(t), "a", always(scripted{})); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := n.Send(message(t, "x", "a", performatives.ActRequest, inPlay)); err != nil {
			t.Fatal(err)
		}
		<-heard
	}
	if open := n.Counts().Open; open != 1 {
		t.Errorf("%d conversations are open, want the one", open)
	}
	if err := n.StopAgent(within(t), "a"); err != nil { // Stop would wait for the conversation
		t.Error(err)
	}
}

// An answer that comes as its Ask is given up is either returned or counted.
func TestAskAccountsForLateAnswers(t *testing.T) {
	n := newNode(t, runtime.Options{})
	cancels := make(chan context.CancelFunc, 1)
	err := n.Spawn(within(t), "a", always(scripted{receive: func(c *actors.Context, m *performatives.Message) {
		echo(c, m)
		(<-cancels)()
	}}))
	if err != nil {
		t.Fatal(err)
	}
	asker, err := n.Client(within(t), "asker")
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
	for _, id := range []performatives.AgentID{"a", "asker"} { // what they have is dealt with by then
		if err := n.StopAgent(within(t), id); err != nil {
			t.Fatal(err)
		}
	}
	if dead := n.Counts().DeadLetters; dead != givenUp {
		t.Errorf("%d asks were given up, %d answers counted", givenUp, dead)
	}
}

package runtime_test

import (
	"sync/atomic"
	"testing"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// play is a protocol whose conversations do what a function does.
type play struct {
	receive func(self actors.Self, key actors.Key, ctx actor.Context)
}

func (play) Name() string { return "play" }

func (p play) Opens(m *performatives.Message) bool {
	return m.Protocol() == p.Name() && m.Performative() == performatives.ActRequest
}

func (p play) Bind(self actors.Self, _ actors.Agent) actors.Responding { return player{p, self} }

type player struct {
	play
	self actors.Self
}

func (p player) Open(m *performatives.Message) actors.Conversation {
	return &playing{p, actors.Key{ID: m.ConversationID(), Peer: m.Sender()}}
}

type playing struct {
	player
	key actors.Key
}

func (p *playing) Key() actors.Key           { return p.key }
func (p *playing) Receive(ctx actor.Context) { p.receive(p.self, p.key, ctx) }

func inPlay(e *performatives.Envelope) { e.Protocol, e.ConversationID = "play", "c1" }

// A conversation that fails, also as it stops, is told to who asked, is over, and
// keeps neither its agent nor the node from stopping.
func TestConversationPanics(t *testing.T) {
	n := newNode(t, runtime.Options{Protocols: []actors.Protocol{play{func(_ actors.Self, _ actors.Key, ctx actor.Context) {
		switch ctx.Message().(type) {
		case *performatives.Message, *actor.Stopping:
			panic("as the test wants it")
		}
	}}}})
	r := listen(t, n)
	if err := n.Spawn(within(t), "Jules", always(scripted{})); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the key of the first is free again
		got := refusalOf(within(t), n, message(t, n.Self().ID(), "jules", performatives.ActRequest, inPlay))
		if got == nil || got.Code != performatives.CodeInternal {
			t.Errorf("got %v", got)
		}
		for n.Counts().Open > 0 {
			if err := n.Self().Do(within(t), func(actors.Agent) {}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, e := range await[actors.Supervised](t, r, 2, nil) {
		if e.Agent != "Jules" || e.Directive != actor.StopDirective || len(e.Stack) == 0 {
			t.Errorf("got %+v", e)
		}
	}
	if err := n.StopAgent(within(t), "jules"); err != nil {
		t.Error(err)
	}
}

// An agent that stops handles nothing more, also while it waits for its
// conversations to end, and opens none.
func TestStoppingAgentHandlesNothing(t *testing.T) {
	closing, finish := make(chan struct{}), make(chan struct{})
	n := newNode(t, runtime.Options{Protocols: []actors.Protocol{play{func(_ actors.Self, _ actors.Key, ctx actor.Context) {
		if _, ok := ctx.Message().(*actor.Stopping); ok {
			close(closing) // of one conversation only
			<-finish
		}
	}}}})
	var stopped, late atomic.Bool
	err := n.Spawn(within(t), "a", always(scripted{
		stop:    func(*actors.Context) { stopped.Store(true) },
		receive: func(*actors.Context, *performatives.Message) { late.Store(stopped.Load()) },
	}))
	if err != nil {
		t.Fatal(err)
	}
	r := listen(t, n)
	first := message(t, "x", "a", performatives.ActRequest, inPlay)
	if err := n.Send(first); err != nil {
		t.Fatal(err)
	}
	await(t, r, 1, func(e actors.MessageReceived) bool { return e.Message == first })
	done := make(chan error)
	go func() { done <- n.StopAgent(within(t), "a") }()
	<-closing
	plain := message(t, n.Self().ID(), "a", performatives.ActRequest)
	opening := message(t, n.Self().ID(), "a", performatives.ActRequest, func(e *performatives.Envelope) { e.Protocol = "play" })
	for _, m := range []*performatives.Message{plain, opening} {
		if err := n.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	close(finish)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	refused := await(t, r, 2, func(e actors.MessageRefused) bool { // the first may be refused too, unread
		return e.Message != first && e.Refusal.Code == performatives.CodeStopped
	})
	if len(refused) != 2 || late.Load() {
		t.Errorf("%d refused, a message came after Stop: %t", len(refused), late.Load())
	}
}

package runtime_test

import (
	"sync/atomic"
	"testing"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// scriptedProtocol is a protocol whose conversations call functions; nil for none.
type scriptedProtocol struct {
	receive func(self actors.Self, key actors.Key)
	stop    func()
}

func (scriptedProtocol) Name() string { return "play" }

func (p scriptedProtocol) Opens(m *performatives.Message) bool {
	return m.Protocol() == p.Name() && m.Performative() == performatives.ActRequest
}

func (p scriptedProtocol) Bind(self actors.Self, _ actors.Agent) actors.Responder {
	return scriptedResponder{p, self}
}

type scriptedResponder struct {
	scriptedProtocol
	self actors.Self
}

func (p scriptedResponder) Open(m *performatives.Message) actors.Conversation {
	return &scriptedConversation{scriptedResponder: p, key: actors.Key{ID: m.ConversationID(), Peer: m.Sender()}}
}

type scriptedConversation struct {
	scriptedResponder
	key   actors.Key
	actor actors.ConversationActor
}

func (p *scriptedConversation) Key() actors.Key                  { return p.key }
func (p *scriptedConversation) Actor() *actors.ConversationActor { return &p.actor }
func (*scriptedConversation) Start()                             {}

func (p *scriptedConversation) Receive(any) {
	if p.receive != nil {
		p.receive(p.self, p.key)
	}
}

func (p *scriptedConversation) Stop() {
	if p.stop != nil {
		p.stop()
	}
}

func inScript(e *performatives.Envelope) { e.Protocol, e.ConversationID = "play", "c1" }

// A conversation that panics, even while stopping, is refused to its sender, is over, and
// does not prevent its agent or node from stopping.
func TestConversationPanics(t *testing.T) {
	fails := func() { panic("as the test wants it") }
	n := newNode(t, runtime.Options{Protocols: []actors.Protocol{scriptedProtocol{func(actors.Self, actors.Key) { fails() }, fails}}})
	r := listen(t, n)
	if err := n.Spawn(patience.Context(t), "Jules", always(scripted{})); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the key of the first can be used again
		got := refusalOf(patience.Context(t), n, message(t, n.Self().ID(), "jules", performatives.ActRequest, inScript))
		if got == nil || got.Code != performatives.CodeInternal {
			t.Errorf("got %v", got)
		}
		for n.Counts().Open > 0 {
			if err := n.Self().Do(patience.Context(t), func(actors.Agent) {}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, e := range await[events.Supervised](t, r, 2, nil) {
		if e.Agent != "Jules" || e.Directive != actor.StopDirective || len(e.Stack) == 0 {
			t.Errorf("got %+v", e)
		}
	}
	if err := n.StopAgent(patience.Context(t), "jules"); err != nil {
		t.Error(err)
	}
}

// A stopping agent handles no further message and opens no conversation, even while it
// waits for the end of its conversations.
func TestStoppingAgentHandlesNothing(t *testing.T) {
	closing, finish := make(chan struct{}), make(chan struct{})
	n := newNode(t, runtime.Options{Protocols: []actors.Protocol{scriptedProtocol{stop: func() {
		close(closing) // only one conversation is started
		<-finish
	}}}})
	var stopped, late atomic.Bool
	err := n.Spawn(patience.Context(t), "a", always(scripted{
		stop:    func(*actors.Context) { stopped.Store(true) },
		receive: func(*actors.Context, *performatives.Message) { late.Store(stopped.Load()) },
	}))
	if err != nil {
		t.Fatal(err)
	}
	r := listen(t, n)
	first := message(t, "x", "a", performatives.ActRequest, inScript)
	if err := n.Send(first); err != nil {
		t.Fatal(err)
	}
	await(t, r, 1, func(e events.MessageReceived) bool { return e.Message == first })
	done := make(chan error)
	go func() { done <- n.StopAgent(patience.Context(t), "a") }()
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
	refused := await(t, r, 2, func(e events.MessageRefused) bool { // the first message may be refused too, if it was not read
		return e.Message != first && e.Refusal.Code == performatives.CodeStopped
	})
	if len(refused) != 2 || late.Load() {
		t.Errorf("%d refused, a message came after Stop: %t", len(refused), late.Load())
	}
}

package actors_test

import (
	"testing"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// counted is a conversation that looks at the system when its actor starts.
type counted struct {
	key    actors.Key
	self   actors.Self
	open   chan int // the number of open conversations
	listed chan bool
	actor  actors.ConversationActor
}

func (c *counted) Key() actors.Key                  { return c.key }
func (c *counted) Actor() *actors.ConversationActor { return &c.actor }
func (*counted) Receive(any)                        {}
func (*counted) Stop()                              {}

func (c *counted) Start() {
	system := c.self.System()
	c.open <- system.Counts().Open
	listed := false
	for other := range system.Conversations() {
		listed = listed || other == actors.Conversation(c)
	}
	c.listed <- listed
	c.self.End(c, nil)
}

type plain struct{}

func (plain) Describe() performatives.Capabilities { return performatives.Capabilities{} }

// TestConversationIsOpenWhenItStarts has the actor of a conversation run at once, on a dispatcher
// without goroutines of its own. It is counted and listed by then, so that System.Stop waits for
// it.
func TestConversationIsOpenWhenItStarts(t *testing.T) {
	s, err := actors.NewSystem(actors.Options{Dispatcher: actor.NewSynchronizedDispatcher(1)})
	if err != nil {
		t.Fatal(err)
	}
	self, err := s.Spawn(t.Context(), actors.Spec{ID: "a", New: func() actors.Agent { return plain{} }})
	if err != nil {
		t.Fatal(err)
	}
	c := &counted{key: actors.Key{ID: "c", Peer: "b", Initiator: true}, self: self, open: make(chan int, 1), listed: make(chan bool, 1)}
	if err := self.Begin(c); err != nil {
		t.Fatal(err)
	}
	if n := <-c.open; n != 1 {
		t.Errorf("%d conversations are open, want 1", n)
	}
	if !<-c.listed {
		t.Error("the conversation is not listed")
	}
	if err := self.Do(t.Context(), func(actors.Agent) {}); err != nil { // it has handled the end
		t.Error(err)
	}
	for range s.Conversations() {
		t.Error("the conversation is listed after its end")
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if n := s.Counts().Open; n != 0 {
		t.Errorf("%d conversations are open at the end", n)
	}
}

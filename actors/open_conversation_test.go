package actors_test

import (
	"errors"
	"testing"
	"time"

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

// scripted is a conversation that sends the messages which it gets.
type scripted struct {
	key   actors.Key
	actor actors.ConversationActor
	errs  chan error
}

func (c *scripted) Key() actors.Key                  { return c.key }
func (c *scripted) Actor() *actors.ConversationActor { return &c.actor }
func (*scripted) Start()                             {}
func (*scripted) Stop()                              {}

func (c *scripted) Receive(m any) { c.errs <- c.actor.Send(m.(*performatives.Message)) }

// say has the conversation send a message.
func (c *scripted) say(t *testing.T, id performatives.MessageID, to performatives.AgentID) error {
	t.Helper()
	m, err := performatives.New(performatives.Envelope{ID: id, Performative: performatives.ActInform, Sender: "a", Receiver: to, Timestamp: time.Now(), Payload: performatives.Raw{}})
	if err != nil {
		t.Fatal(err)
	}
	c.actor.Tell(m)
	return <-c.errs
}

// The messages of a conversation go to the agent that has the id of the peer when they are sent,
// in any spelling, and those for another agent to that.
func TestConversationFollowsItsPeer(t *testing.T) {
	s, got := newSystem(t), make(chan string, 1)
	run := func(id performatives.AgentID, name string) actors.Self {
		t.Helper()
		self, err := s.Spawn(t.Context(), actors.Spec{ID: id, New: func() actors.Agent { return runner{name: name, got: got} }})
		if err != nil {
			t.Fatal(err)
		}
		return self
	}
	self := run("a", "")
	run("b", "first ")
	run("d", "other ")
	c := &scripted{key: actors.Key{ID: "c", Peer: "b", Initiator: true}, errs: make(chan error)}
	if err := self.Begin(c); err != nil {
		t.Fatal(err)
	}
	if err := self.Do(t.Context(), func(actors.Agent) {}); err != nil { // it is open
		t.Fatal(err)
	}
	for _, m := range []struct {
		id   performatives.MessageID
		to   performatives.AgentID
		want string
	}{{"1", "b", "first 1"}, {"2", "B", "first 2"}, {"3", "d", "other 3"}, {"4", "b", "first 4"}} {
		if err := c.say(t, m.id, m.to); err != nil {
			t.Errorf("%s: %v", m.id, err)
		} else if text := <-got; text != m.want {
			t.Errorf("%s goes to %s, want %s", m.id, text, m.want)
		}
	}
	if err := s.StopAgent(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	if err := c.say(t, "5", "b"); !errors.Is(err, performatives.CodeStopped) {
		t.Errorf("after the stop: %v", err)
	}
	run("b", "second ")
	if err := c.say(t, "6", "b"); err != nil {
		t.Error(err)
	} else if text := <-got; text != "second 6" {
		t.Errorf("its successor does not get the message: %s does", text)
	}
	self.End(c, nil)
}

// remoteRouter is an [actors.Remote] that notes the entries which it gets.
type remoteRouter struct{ from, to *actors.Registration }

func (r *remoteRouter) RouteTo(from, to *actors.Registration, _ *performatives.Message) error {
	r.from, r.to = from, to
	return nil
}

// A message of a conversation for an agent of another process comes with the entry of its sender,
// and with the present one of its receiver.
func TestConversationWithAnotherProcess(t *testing.T) {
	remote := &remoteRouter{}
	s := newSystemOf(t, actors.Options{Remote: remote})
	self, err := s.Spawn(t.Context(), actors.Spec{ID: "a", New: func() actors.Agent { return plain{} }})
	if err != nil {
		t.Fatal(err)
	}
	first, err := s.Register("far", nowhere{})
	if err != nil {
		t.Fatal(err)
	}
	c := &scripted{key: actors.Key{ID: "c", Peer: "far", Initiator: true}, errs: make(chan error)}
	if err := self.Begin(c); err != nil {
		t.Fatal(err)
	}
	if err := self.Do(t.Context(), func(actors.Agent) {}); err != nil { // it is open
		t.Fatal(err)
	}
	sender, _ := s.Find("a")
	want := func(what string, id performatives.MessageID, to *actors.Registration) {
		t.Helper()
		if err := c.say(t, id, "far"); err != nil || remote.from != sender || remote.to != to {
			t.Errorf("%s: from %p to %p, want from %p to %p: %v", what, remote.from, remote.to, sender, to, err)
		}
	}
	want("the first entry", "1", first)
	second, ok := first.Replace("far", nowhere{})
	if !ok {
		t.Fatal("the entry was not replaced")
	}
	want("its successor", "2", second)
	second.Remove()
	want("none", "3", nil)
	self.End(c, nil)
}

// nowhere is a destination that takes no message.
type nowhere struct{ actors.Destination }

func (nowhere) Load() *actors.Load { return nil }

// loaded is a destination that counts conversations.
type loaded struct {
	nowhere
	load *actors.Load
}

func (l loaded) Load() *actors.Load       { return l.load }
func (loaded) Wait() (none time.Duration) { return none }

// A conversation counts for the destination that its peer has when it opens, also if another one was
// found before it began.
func TestConversationCountsWhereItsPeerIs(t *testing.T) {
	s := newSystemOf(t, actors.Options{Remote: &remoteRouter{}})
	self, err := s.Spawn(t.Context(), actors.Spec{ID: "a", New: func() actors.Agent { return plain{} }})
	if err != nil {
		t.Fatal(err)
	}
	m, err := performatives.New(performatives.Envelope{ID: "m", Performative: performatives.ActRequest, Sender: "a", Receiver: "far", Timestamp: time.Now(), Payload: performatives.Raw{}})
	if err != nil {
		t.Fatal(err)
	}
	before, after := loaded{load: new(actors.Load)}, loaded{load: new(actors.Load)}
	r, err := s.Register("far", before)
	if err != nil {
		t.Fatal(err)
	}
	foreseen := &scripted{key: actors.Key{ID: "foreseen", Peer: "far", Initiator: true}}
	if busy := foreseen.actor.Foresee(t.Context(), s, m); busy != nil {
		t.Fatal(busy)
	}
	if r.Replace("far", after); s.Counts().Remote != 1 {
		t.Fatal("the destination was not replaced")
	}
	unforeseen := &scripted{key: actors.Key{ID: "unforeseen", Peer: "far", Initiator: true}}
	for _, c := range []*scripted{foreseen, unforeseen} {
		if err := self.Begin(c); err != nil {
			t.Fatal(err)
		}
	}
	if err := self.Do(t.Context(), func(actors.Agent) {}); err != nil { // they are open
		t.Fatal(err)
	}
	if was, is := before.load.Conversations(), after.load.Conversations(); was != 0 || is != 2 {
		t.Errorf("%d count for the former destination, and %d for the present one", was, is)
	}
	self.End(foreseen, nil)
	self.End(unforeseen, nil)
}

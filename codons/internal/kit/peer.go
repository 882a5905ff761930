package kit

import (
	"testing"
	"testing/synctest"

	"github.com/ribosome-agents/ribosome/actors"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// Puppet is a scripted peer: an agent that sends the raw messages of the test and records those it gets.
type Puppet struct {
	actors.Self
	T   testing.TB
	Got chan *p.Message
}

// Puppet adds a scripted peer. The world is Lawless from then on.
func (w *World) Puppet(id p.AgentID) *Puppet {
	a := &Puppet{T: w.T, Got: make(chan *p.Message, 256)}
	a.Self = w.Add(id, a)
	w.Lawless.Store(true)
	return a
}

// Describe returns no capabilities.
func (a *Puppet) Describe() p.Capabilities { return p.Capabilities{} }

// Receive records a message.
func (a *Puppet) Receive(_ *actors.Context, m *p.Message) { a.Got <- m }

// Next waits for the next message, and fails the test unless it has that act.
func (a *Puppet) Next(act p.Performative) *p.Message {
	a.T.Helper()
	m := <-a.Got
	if m.Performative() != act {
		a.T.Fatalf("got %s %+v, want %s", m.Performative(), m.Payload(), act)
	}
	return m
}

// Silence fails the test when a further message has come.
func (a *Puppet) Silence() {
	a.T.Helper()
	synctest.Wait()
	select {
	case m := <-a.Got:
		a.T.Errorf("got %s %+v, want nothing", m.Performative(), m.Payload())
	default:
	}
}

// Say sends a message, and returns it. Its id, sender and time are set.
func (a *Puppet) Say(e p.Envelope) *p.Message {
	a.T.Helper()
	stamp := a.Stamp()
	if e.ID == "" {
		e.ID = stamp.ID
	}
	e.Timestamp, e.Sender = stamp.Time, a.ID()
	m, err := p.New(e)
	if err != nil {
		a.T.Fatal(err)
	}
	a.Post(m)
	return m
}

// Post sends a message unchanged.
func (a *Puppet) Post(m *p.Message) {
	a.T.Helper()
	if err := a.Send(m); err != nil {
		a.T.Fatal(err)
	}
}

// Reply answers a message.
func (a *Puppet) Reply(m *p.Message, payload any) *p.Message {
	a.T.Helper()
	r, err := m.Reply(a.Stamp(), payload)
	if err != nil {
		a.T.Fatal(err)
	}
	a.Post(r)
	return r
}

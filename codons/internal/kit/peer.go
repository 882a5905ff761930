package kit

import (
	"cmp"
	"testing"
	"testing/synctest"

	"github.com/ribosome-agents/ribosome/actors"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// Peer is a scripted peer: an agent that sends the raw messages of the test and records those it
// gets.
type Peer struct {
	actors.Self
	T   testing.TB
	Got chan *p.Message
}

// Peer adds a scripted peer. The world allows violations from then on.
func (w *World) Peer(id p.AgentID) *Peer {
	a := &Peer{T: w.T, Got: make(chan *p.Message, 256)}
	a.Self = w.Add(id, a)
	w.AllowViolations.Store(true)
	return a
}

// Describe returns no capabilities.
func (a *Peer) Describe() p.Capabilities { return p.Capabilities{} }

// Receive records a message.
func (a *Peer) Receive(_ *actors.Context, m *p.Message) { a.Got <- m }

// Expect waits for the next message, and fails the test unless it has that act.
func (a *Peer) Expect(act p.Performative) *p.Message {
	a.T.Helper()
	m := <-a.Got
	if m.Performative() != act {
		a.T.Fatalf("got %s %+v, want %s", m.Performative(), m.Payload(), act)
	}
	return m
}

// Silent fails the test when a further message has come.
func (a *Peer) Silent() {
	a.T.Helper()
	synctest.Wait()
	select {
	case m := <-a.Got:
		a.T.Errorf("got %s %+v, want nothing", m.Performative(), m.Payload())
	default:
	}
}

// Send sends a message, and returns it. Its id, sender and time are set.
func (a *Peer) Send(e p.Envelope) *p.Message {
	a.T.Helper()
	stamp := a.Stamp()
	e.ID = cmp.Or(e.ID, stamp.ID)
	e.Timestamp, e.Sender = stamp.Time, a.ID()
	m, err := p.New(e)
	if err != nil {
		a.T.Fatal(err)
	}
	a.SendAgain(m)
	return m
}

// SendAgain sends a message unchanged, as a retry does.
func (a *Peer) SendAgain(m *p.Message) {
	a.T.Helper()
	if err := a.Self.Send(m); err != nil {
		a.T.Fatal(err)
	}
}

// ReplyOddly answers a message by an act that no table of the library expects there, and expects
// the NOT_UNDERSTOOD.
func (a *Peer) ReplyOddly(m *p.Message) {
	a.T.Helper()
	odd := a.Send(m.ReplyEnvelope(a.ID(), a.Stamp(), p.ActDisconfirm, p.Raw("{}")))
	if said := a.Expect(p.ActNotUnderstood); !said.Answers(odd) {
		a.T.Errorf("the NOT_UNDERSTOOD answers %s", said.InReplyTo())
	}
}

// Reply answers a message.
func (a *Peer) Reply(m *p.Message, payload any) *p.Message {
	a.T.Helper()
	r, err := m.Reply(a.Stamp(), payload)
	if err != nil {
		a.T.Fatal(err)
	}
	a.SendAgain(r)
	return r
}

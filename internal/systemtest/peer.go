package systemtest

import (
	"cmp"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Patience is the virtual time for which [Peer.Next] waits.
const Patience = time.Hour

// inboxCapacity is the largest number of messages that a peer has not expected yet. More
// than that fail the test.
const inboxCapacity = 1024

// Peer is a scripted peer: an agent that says what the test says, and keeps what it gets.
type Peer struct {
	actors.Self // set once it is spawned
	T           testing.TB
	Got         chan *performatives.Message
	Does        performatives.Capabilities
}

// NewPeer returns a peer. Its creator spawns it, and sets Self.
func NewPeer(t testing.TB) *Peer {
	return &Peer{T: t, Got: make(chan *performatives.Message, inboxCapacity)}
}

// Describe returns the capabilities.
func (p *Peer) Describe() performatives.Capabilities { return p.Does }

// Receive keeps a message for the test.
func (p *Peer) Receive(_ *actors.Context, m *performatives.Message) {
	select {
	case p.Got <- m:
	default:
		p.T.Errorf("%s has %d messages that the test did not expect; %s is lost", p.ID(), cap(p.Got), m.Performative())
	}
}

// Send completes an envelope and sends it. Its id, if it has none, sender and time are set.
func (p *Peer) Send(e performatives.Envelope) *performatives.Message {
	p.T.Helper()
	stamp := p.Stamp()
	e.ID = cmp.Or(e.ID, stamp.ID)
	e.Timestamp, e.Sender = stamp.Time, p.ID()
	m, err := performatives.New(e)
	if err != nil {
		p.T.Fatalf("%s cannot send: %v", p.ID(), err)
	}
	p.SendAgain(m)
	return m
}

// SendAgain sends a message unchanged, as a retry does.
func (p *Peer) SendAgain(m *performatives.Message) {
	p.T.Helper()
	if err := p.Self.Send(m); err != nil {
		p.T.Fatalf("%s cannot send: %v", p.ID(), err)
	}
}

// Next waits for the next message, for at most [Patience].
func (p *Peer) Next() *performatives.Message {
	p.T.Helper()
	select {
	case m := <-p.Got:
		return m
	case <-time.After(Patience):
		p.T.Fatalf("%s got nothing in %v", p.ID(), Patience)
		return nil
	}
}

// Expect waits for the next message. The test fails when it has another act.
func (p *Peer) Expect(act performatives.Performative) *performatives.Message {
	p.T.Helper()
	m := p.Next()
	if m.Performative() != act {
		p.T.Fatalf("%s got %s, want %s", p.ID(), describe(m), act)
	}
	return m
}

// Silent expects that no message is left, once all has happened that happens now.
func (p *Peer) Silent() {
	p.T.Helper()
	synctest.Wait()
	select {
	case m := <-p.Got:
		p.T.Errorf("%s got %s, want nothing", p.ID(), describe(m))
	default:
	}
}

// describe is a message of an agent, or of the runtime, as a failure shows it.
func describe(message any) string {
	m, ok := message.(*performatives.Message)
	if !ok {
		return fmt.Sprintf("%T", message)
	}
	return fmt.Sprintf("%s from %s with %+v", m.Performative(), m.Sender(), m.Payload())
}

package agenttest

import (
	"cmp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// Patience is the virtual time for which [Peer.Expect] waits.
const Patience = time.Hour

// inboxCapacity is the largest number of messages that a peer has not expected yet. More
// than that fail the test.
const inboxCapacity = 1024

// Peer is an agent that says what the test says, in single messages. It plays no role of
// a codon, so that each message for it is in the test's hands. All its methods may be
// called from any goroutine of the test.
type Peer struct {
	actors.Self
	t    testing.TB
	got  chan *performatives.Message
	does performatives.Capabilities
}

// Peer starts a scripted peer. Its capabilities, if any, are what discovery finds.
func (n *Node) Peer(id performatives.AgentID, capabilities ...performatives.Capabilities) *Peer {
	n.t.Helper()
	p := &Peer{t: n.t, got: make(chan *performatives.Message, inboxCapacity)}
	if len(capabilities) > 0 {
		p.does = capabilities[0]
	}
	n.Spawn(id, peerAgent{p})
	p.Self, _ = n.System().Lookup(id) // it was spawned
	return p
}

// peerAgent is the agent of a peer.
type peerAgent struct{ p *Peer }

// Describe returns the capabilities.
func (a peerAgent) Describe() performatives.Capabilities { return a.p.does }

// Receive keeps a message for the test.
func (a peerAgent) Receive(_ *actors.Context, m *performatives.Message) {
	select {
	case a.p.got <- m:
	default:
		a.p.t.Errorf("agenttest: %s has %d messages that the test did not expect; %s is lost", a.p.ID(), inboxCapacity, m.Performative())
	}
}

// Send sends a message with a payload that implies the act; [runtime.WithAct] names it
// where the payload implies none. Each option changes a field of the envelope.
func (p *Peer) Send(to performatives.AgentID, payload any, opts ...runtime.AskOption) *performatives.Message {
	p.t.Helper()
	return p.send(performatives.Envelope{Receiver: to, Payload: payload}, opts)
}

// send completes an envelope and sends it.
func (p *Peer) send(e performatives.Envelope, opts []runtime.AskOption) *performatives.Message {
	p.t.Helper()
	for _, opt := range opts {
		opt(&e)
	}
	stamp := p.Stamp()
	e.ID = cmp.Or(e.ID, stamp.ID)
	e.Timestamp, e.Sender = stamp.Time, p.ID()
	m, err := performatives.New(e)
	if err == nil {
		err = p.Self.Send(m)
	}
	if err != nil {
		p.t.Fatalf("agenttest: %s cannot send: %v", p.ID(), err)
	}
	return m
}

// SendAgain sends a message once more, as a retry does.
func (p *Peer) SendAgain(m *performatives.Message) {
	p.t.Helper()
	if err := p.Self.Send(m); err != nil {
		p.t.Fatalf("agenttest: %s cannot send: %v", p.ID(), err)
	}
}

// Reply answers a message.
func (p *Peer) Reply(m *performatives.Message, payload any, opts ...runtime.AskOption) *performatives.Message {
	p.t.Helper()
	return p.send(m.ReplyEnvelope(p.ID(), performatives.Stamp{}, actOf(payload, opts), payload), opts)
}

// Follow sends a further message in the conversation of one that the peer has sent, such
// as its CANCEL.
func (p *Peer) Follow(m *performatives.Message, payload any, opts ...runtime.AskOption) *performatives.Message {
	p.t.Helper()
	return p.send(m.FollowEnvelope(performatives.Stamp{}, actOf(payload, opts), payload), opts)
}

// actOf returns the act that options or a payload name, zero for none.
func actOf(payload any, opts []runtime.AskOption) performatives.Performative {
	e := performatives.Envelope{}
	for _, opt := range opts {
		opt(&e)
	}
	if typed, ok := payload.(interface {
		Act() performatives.Performative
	}); ok && e.Performative == 0 {
		return typed.Act()
	}
	return e.Performative
}

// Next waits for the next message, for at most [Patience] of virtual time.
func (p *Peer) Next() *performatives.Message {
	p.t.Helper()
	select {
	case m := <-p.got:
		return m
	case <-time.After(Patience):
		p.t.Fatalf("agenttest: %s got nothing in %v", p.ID(), Patience)
		return nil
	}
}

// Expect waits for the next message, as Next does. The test fails when it has another
// act.
func (p *Peer) Expect(act performatives.Performative) *performatives.Message {
	p.t.Helper()
	m := p.Next()
	if m.Performative() != act {
		p.t.Fatalf("agenttest: %s got %s, want %s", p.ID(), describe(m), act)
	}
	return m
}

// Await waits for the next message of an act, and passes over all others.
func (p *Peer) Await(act performatives.Performative) *performatives.Message {
	p.t.Helper()
	for {
		if m := p.Next(); m.Performative() == act {
			return m
		}
	}
}

// Silent expects that no message is left, once all has happened that happens now.
func (p *Peer) Silent() {
	p.t.Helper()
	synctest.Wait()
	select {
	case m := <-p.got:
		p.t.Errorf("agenttest: %s got %s, want nothing", p.ID(), describe(m))
	default:
	}
}

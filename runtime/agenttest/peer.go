package agenttest

import (
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/internal/systemtest"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// Patience is the virtual time for which [Peer.Expect] waits.
const Patience = systemtest.Patience

// Peer is an agent that says what the test says, in single messages. It plays no role of
// a codon, so that each message for it is in the test's hands. All its methods may be
// called from any goroutine of the test.
type Peer struct {
	actors.Self
	t      testing.TB
	script *systemtest.Peer
}

// Peer starts a scripted peer. Its capabilities, if any, are what discovery finds.
func (n *Node) Peer(id performatives.AgentID, capabilities ...performatives.Capabilities) *Peer {
	n.t.Helper()
	script := systemtest.NewPeer(n.t)
	if len(capabilities) > 0 {
		script.Does = capabilities[0]
	}
	n.Spawn(id, script)
	script.Self, _ = n.System().Lookup(id) // it was spawned
	return &Peer{script.Self, n.t, script}
}

// Send sends a message with a payload that implies the act; [runtime.WithAct] names it
// where the payload implies none. Each option changes a field of the envelope.
func (p *Peer) Send(to performatives.AgentID, payload any, opts ...runtime.AskOption) *performatives.Message {
	p.t.Helper()
	return p.send(performatives.Envelope{Receiver: to, Payload: payload}, opts)
}

// send changes an envelope by the options and sends it.
func (p *Peer) send(e performatives.Envelope, opts []runtime.AskOption) *performatives.Message {
	p.t.Helper()
	for _, opt := range opts {
		opt(&e)
	}
	return p.script.Send(e)
}

// SendAgain sends a message once more, as a retry does.
func (p *Peer) SendAgain(m *performatives.Message) {
	p.t.Helper()
	p.script.SendAgain(m)
}

// Reply answers a message.
func (p *Peer) Reply(m *performatives.Message, payload any, opts ...runtime.AskOption) *performatives.Message {
	p.t.Helper()
	return p.send(m.ReplyEnvelope(p.ID(), performatives.Stamp{}, actOf(opts), payload), opts)
}

// Follow sends a further message in the conversation of one that the peer has sent, such
// as its CANCEL.
func (p *Peer) Follow(m *performatives.Message, payload any, opts ...runtime.AskOption) *performatives.Message {
	p.t.Helper()
	return p.send(m.FollowEnvelope(performatives.Stamp{}, actOf(opts), payload), opts)
}

// actOf returns the act that options name, zero for none.
func actOf(opts []runtime.AskOption) performatives.Performative {
	var e performatives.Envelope
	for _, opt := range opts {
		opt(&e)
	}
	return e.Performative
}

// Next waits for the next message, for at most [Patience] of virtual time.
func (p *Peer) Next() *performatives.Message {
	p.t.Helper()
	return p.script.Next()
}

// Expect waits for the next message, as Next does. The test fails when it has another
// act.
func (p *Peer) Expect(act performatives.Performative) *performatives.Message {
	p.t.Helper()
	return p.script.Expect(act)
}

// Await waits for the next message of an act, and passes over all others.
func (p *Peer) Await(act performatives.Performative) *performatives.Message {
	p.t.Helper()
	for {
		if m := p.script.Next(); m.Performative() == act {
			return m
		}
	}
}

// Silent expects that no message is left, once all has happened that happens now.
func (p *Peer) Silent() {
	p.t.Helper()
	p.script.Silent()
}

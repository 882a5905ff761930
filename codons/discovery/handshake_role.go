package discovery

import (
	"context"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// HandshakeHandler is an agent that decides about each handshake. Any other agent accepts all.
type HandshakeHandler interface {
	actors.Agent
	// ConsiderHandshake returns nil to accept. A [*performatives.Refusal] is sent with its
	// code and text; any other error, or a panic, as FAILURE without its text. After a
	// REFUSE the agent no longer knows the peer. ConsiderHandshake runs on a goroutine of
	// its conversation: it must not use the agent's fields except by [actors.Self.Do],
	// and should return soon after the end of ctx.
	ConsiderHandshake(ctx context.Context, g Greeting) error
}

// Greeting is one handshake that a peer asks for.
type Greeting struct {
	Capabilities performatives.Capabilities // of the peer
	Message      *performatives.Message     // the query: its Sender is the peer, its ReplyBy the deadline
	Agent        actors.Self                // the handle of the agent that decides
}

// HandshakeRequirer is an agent that requires a handshake of its peers. Its node refuses
// the opening messages of an agent that it does not know, in all codons, with
// [performatives.CodeHandshakeRequired]; a message that expects no reply is dead-lettered.
// Neither reaches [actors.Receiver].Receive. These messages pass without a handshake:
//
//   - CANCEL, which begins no conversation;
//   - QUERY_CAPABILITIES: discovery comes before the handshake;
//   - a delivery by an agent that was recruited on the agent's own behalf. Any other
//     delivery is answered by DISCONFIRM;
//   - a reply that begins no conversation, for an agent with a Receive: only the agent's own
//     code knows its requests.
type HandshakeRequirer interface {
	actors.Agent
	// RequiresHandshake reports whether the agent requires handshakes. It is called on the
	// agent's actor after each start, and its result must not change until the next.
	RequiresHandshake() bool
}

// HandshakeService makes every agent answer handshakes, and guards each [HandshakeRequirer].
var HandshakeService = codons.NewService(HandshakeCodon, codons.ServiceOptions{Guard: HandshakeGuard, Opens: opensHandshake}, newHandshakeResponder)

// opensHandshake reports whether m begins a handshake: a QUERY_CAPABILITIES with the
// capabilities of its sender does, also without the name of the protocol.
func opensHandshake(m *performatives.Message) bool {
	q, ok := m.Payload().(performatives.QueryCapabilities)
	return HandshakeCodon.OpenedBy(m, ok && q.Capabilities != nil)
}

func newHandshakeResponder(self actors.Self, agent actors.Agent, t codons.Times) actors.Responder {
	answer := func(ctx context.Context, h *codons.Handler) codons.Command {
		if err := considerHandshake(ctx, h.Message(), self, agent); err != nil {
			return h.TurnDown(err)
		}
		return codons.Command{Name: standard.CommandAnswer, Data: performatives.InformCapabilities{Capabilities: summaryOf(self)}}
	}
	return codons.AnswerWith(self, agent, HandshakeCodon, t, answer)
}

// considerHandshake returns nil when the agent accepts the handshake that m asks for.
func considerHandshake(ctx context.Context, m *performatives.Message, self actors.Self, agent actors.Agent) error {
	q, err := performatives.PayloadAs[performatives.QueryCapabilities](m)
	if err != nil {
		return err
	}
	theirs, err := required(q.Capabilities)
	if err != nil {
		return err
	}
	role, ok := agent.(HandshakeHandler)
	if !ok {
		return nil
	}
	return role.ConsiderHandshake(ctx, Greeting{Capabilities: theirs, Message: m, Agent: self})
}

// HandshakeGuard returns a guard that refuses a message when the agent requires a handshake
// and does not know the sender. [HandshakeRequirer] lists the messages that pass all the same.
// It returns nil for an agent that requires no handshake. HandshakeGuard must be called on
// the agent's actor; the guard may be called from any goroutine.
func HandshakeGuard(self actors.Self, agent actors.Agent) actors.Guard {
	if r, ok := agent.(HandshakeRequirer); !ok || !r.RequiresHandshake() {
		return nil
	}
	return func(m *performatives.Message) *performatives.Refusal {
		switch m.Performative() { //nolint:exhaustive // the acts that pass; see HandshakeRequirer
		case performatives.ActCancel, performatives.ActQueryCapabilities:
			return nil
		}
		if m.Sender().Is(self.ID()) || self.Knows(m.Sender()) {
			return nil
		}
		return &performatives.Refusal{Code: performatives.CodeHandshakeRequired, From: self.ID(), About: m.ID()}
	}
}

// handshakeResponder is the responder's side of one handshake.
type handshakeResponder struct{ *codons.ResponderSide }

// Send records whether the agent knows the peer before the answer is sent, so that the peer's
// next message finds the record.
func (s handshakeResponder) Send(c *codons.Conversation, m *performatives.Message) {
	switch m.Performative() { //nolint:exhaustive // no other answer decides
	case performatives.ActInformCapabilities:
		c.Agent().Know(c.Peer())
	case performatives.ActRefuse:
		if decided(m.AsRefusal().Code) {
			c.Agent().Forget(c.Peer())
		}
	}
	s.ResponderSide.Send(c, m)
}

package codons

import (
	"context"
	"errors"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

var handshake = HandshakeTable().MustCompile()

// Handshake tells an agent what the party can do, and returns what that agent can do,
// both as the Whispering Wind sums it up. From then on, either takes the other for
// one that has shaken hands ([actors.Self.Knows]), until one of them stops, or
// refuses a further handshake, or forgets the other ([actors.Self.Forget]).
//
// What the peer says while it is asked may overtake its answer, so the party knows it
// from the question on, and until it fails. A refusal, but for that of a peer that was
// busy or got the question too late, ends an earlier handshake, too. ctx's deadline, or
// else [DefaultDeadline], is the question's ReplyBy, and its cancellation withdraws
// it. The error is an [*EndError], of state "refused" where the peer does not want
// to, or says that the party cannot begin. It must not be called on an agent's own
// actor.
func Handshake(ctx context.Context, p Party, to performatives.AgentID, opts ...Option) (performatives.Capabilities, error) {
	self := p.Self()
	o := newOptions(opts)
	if o.ontology == "" {
		o.ontology = performatives.OntologyCapabilityQuery
	}
	defer self.Expect(to)()
	theirs, err := handOut(self, to).ask(ctx, p, o)
	switch {
	case err == nil:
		self.Know(to)
	case refused(err):
		self.Forget(to)
	}
	return theirs, err
}

// refused reports whether a peer has said no.
func refused(err error) bool {
	var end *EndError
	return errors.As(err, &end) && end.State == stateRefused && saysNo(end.Refusal.Code)
}

// saysNo reports whether a REFUSE with that code is the agent's own word: one that has
// no room for the question, or gets it too late, was not asked.
func saysNo(code performatives.Code) bool {
	return code != performatives.CodeBusy && code != performatives.CodeExpired
}

func handOut(self actors.Self, to performatives.AgentID) question[performatives.Capabilities] {
	return question[performatives.Capabilities]{
		machine: handshake, to: to, act: performatives.ActQueryCapabilities,
		payload: performatives.QueryCapabilities{Type: performatives.QuerySummary, Capabilities: summaryOf(self)},
		read: func(m *performatives.Message) (performatives.Capabilities, error) {
			a, err := performatives.PayloadAs[performatives.InformCapabilities](m)
			if err != nil {
				return performatives.Capabilities{}, err
			}
			return introduced(a.Capabilities)
		},
	}
}

// summaryOf is what an agent says of itself.
func summaryOf(self actors.Self) *performatives.Capabilities {
	a, _ := self.Describe().Answer(performatives.QueryCapabilities{Type: performatives.QuerySummary}) // a summary has no errors
	return a.Capabilities
}

// introduced is what a peer says of itself, which is what a handshake is about.
func introduced(c *performatives.Capabilities) (performatives.Capabilities, error) {
	if c == nil {
		return performatives.Capabilities{}, &performatives.Refusal{
			Code: performatives.CodeInvalidPayload, Field: "capabilities", Text: "capabilities: want those of who shakes hands, got nothing",
		}
	}
	return *c, nil
}

// HandshakeHandler is an agent that does not shake hands with everyone, as all others
// do: the answering side of [HandshakeTable].
type HandshakeHandler interface {
	actors.Agent
	// ConsiderHandshake returns nil to shake hands. A [*performatives.Refusal] is told
	// with its code and text, any other error, or a panic, without its text; a peer
	// that gets REFUSE counts as a stranger from now on. It runs on a goroutine of its
	// conversation, so it must not touch the agent's fields but by [actors.Self.Do],
	// and should return soon once ctx ends.
	ConsiderHandshake(ctx context.Context, g Greeting) error
}

// Greeting is a peer that wants to shake hands.
type Greeting struct {
	Capabilities performatives.Capabilities // what the peer can do
	Message      *performatives.Message     // who it is, until when
	Agent        actors.Self                // the handle of the agent that was asked
}

// HandshakeRequirer is an agent that talks only to peers that have shaken hands with
// it. Whatever else a stranger begins is refused as
// [performatives.CodeHandshakeRequired], in all codons, and does not reach
// [actors.Receiver].Receive either; what expects no reply is dead-lettered. A CANCEL
// passes, for it begins nothing. So does the Whispering Wind: to be found is what
// comes before a handshake, and discovery tells everyone no less. So does a delivery
// of one whom the agent itself has had recruited; any other is answered by DISCONFIRM.
// What answers something and begins nothing passes, too, to an agent that has a
// Receive: only it knows what it has asked.
type HandshakeRequirer interface {
	actors.Agent
	// RequiresHandshake reports whether it is so. It is called on the agent's actor
	// after each start, and must not change between two.
	RequiresHandshake() bool
}

// Handshakes is the protocol that makes every agent answer handshakes, and guards each
// [HandshakeRequirer].
type Handshakes Times

// Name returns "handshake".
func (Handshakes) Name() string { return handshake.Name() }

// Opens reports whether m begins a handshake, or is the CANCEL of one that comes
// first. A question for capabilities that names no protocol is one if it tells those
// of who asks.
func (Handshakes) Opens(m *performatives.Message) bool {
	q, ok := m.Payload().(performatives.QueryCapabilities)
	return opens(m, handshake, ok && q.Capabilities != nil)
}

// Bind returns the responder of an agent; every agent has one.
func (h Handshakes) Bind(self actors.Self, agent actors.Agent) actors.Responding {
	return greeter{newDesk(self, agent, handshake, Times(h), func(ctx context.Context, c *conversation, _ *handler) (string, any) {
		q, err := performatives.PayloadAs[performatives.QueryCapabilities](c.request)
		if err == nil {
			err = considerHandshake(ctx, c, self, agent, q)
		}
		if err != nil {
			return turndown(err)
		}
		return commandAnswer, performatives.InformCapabilities{Capabilities: summaryOf(self)}
	})}
}

func considerHandshake(ctx context.Context, c *conversation, self actors.Self, agent actors.Agent, q performatives.QueryCapabilities) error {
	theirs, err := introduced(q.Capabilities)
	if err != nil {
		return err
	}
	role, ok := agent.(HandshakeHandler)
	if !ok {
		return nil
	}
	return role.ConsiderHandshake(ctx, Greeting{Capabilities: theirs, Message: c.request, Agent: self})
}

// Guard returns the guard of a [HandshakeRequirer].
func (Handshakes) Guard(self actors.Self, agent actors.Agent) actors.Guard {
	if !reserves(agent) {
		return nil
	}
	return func(m *performatives.Message) *performatives.Refusal {
		switch m.Performative() { //nolint:exhaustive // what passes; see HandshakeRequirer
		case performatives.ActCancel, performatives.ActQueryCapabilities:
			return nil
		}
		if opens(m, delivery, false) {
			return nil // by itself nobody answers it; see receiveDelivery
		}
		return stranger(self, m)
	}
}

// reserves reports whether an agent talks only to those that it knows.
func reserves(agent actors.Agent) bool {
	r, ok := agent.(HandshakeRequirer)
	return ok && r.RequiresHandshake()
}

// stranger is the refusal of what comes from one who has not shaken hands; else nil.
func stranger(self actors.Self, m *performatives.Message) *performatives.Refusal {
	if m.Sender().Is(self.ID()) || self.Knows(m.Sender()) {
		return nil
	}
	return &performatives.Refusal{Code: performatives.CodeHandshakeRequired, From: self.ID(), About: m.ID()}
}

// greeter is a desk whose answers decide whom the agent knows.
type greeter struct{ *desk }

// Open begins the conversation of a handshake.
func (g greeter) Open(m *performatives.Message) actors.Conversation {
	return newAnswering(g.self, g.machine, m, &greetScript{deskScript{desk: g.desk}})
}

// greetScript is the responder of one handshake.
type greetScript struct{ deskScript }

// payload has the agent know the peer before that learns of it, and may say more.
func (s *greetScript) payload(c *conversation, e machine.Effect, data any) any {
	switch r, _ := data.(performatives.Refuse); {
	case e.Act == performatives.ActInformCapabilities:
		c.self.Know(c.peer)
	case e.Act == performatives.ActRefuse && saysNo(r.ReasonCode):
		c.self.Forget(c.peer)
	}
	return s.deskScript.payload(c, e, data)
}

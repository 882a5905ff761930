package codons

import (
	"context"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

var (
	brokering  = BrokeringTable().MustCompile()
	recruiting = RecruitingTable().MustCompile()
)

// Mediator is an agent that finds others for those who ask it to, as a broker
// ([BrokeringTable]) and as a recruiter ([RecruitingTable]). It says for whom it
// does so and whom it knows; the codons ask them, and see to the answers. [Broker]
// is a ready-made one. Its methods run on a goroutine of the conversation, so they
// must not touch the agent's fields but by [actors.Self.Do], and should return soon
// once ctx ends.
type Mediator interface {
	actors.Agent
	// ConsiderProxy agrees by nil. A [*performatives.Refusal] is told with its code
	// and text, as REFUSE, NOT_UNDERSTOOD or FAILURE, whichever the code calls for,
	// any other error as FAILURE without its text.
	ConsiderProxy(ctx context.Context, q Proxied) error
	// FindAgents returns the agents that can do it, the best first. None, and an
	// error, end it with FAILURE, none with [performatives.CodeNoMatch]. The
	// mediator itself, who asks, and the designated receiver are left out of them.
	FindAgents(ctx context.Context, q Proxied) ([]performatives.AgentID, error)
}

// Proxied is what a [Mediator] was asked.
type Proxied struct {
	Proxy
	Message *performatives.Message // the PROXY: who asks, until when
	Agent   actors.Self            // the handle of the mediator
}

// receiver is the designated receiver.
func (q Proxied) receiver() performatives.AgentID {
	if q.Receiver == "" {
		return q.Message.Sender()
	}
	return q.Receiver
}

// suits reports whether an agent that was found may be asked.
func (q Proxied) suits(id performatives.AgentID, recruits bool) bool {
	switch {
	case id == "" || id.Is(q.Agent.ID()) || id.Is(q.Message.Sender()):
		return false
	case recruits && id.Is(q.receiver()):
		return false
	}
	return len(q.Agents) == 0 || slices.ContainsFunc(q.Agents, id.Is)
}

// Brokering is the protocol that makes every [Mediator] answer the PROXY of one
// that wants the answers passed on to it.
type Brokering Times

// Name returns "brokering".
func (Brokering) Name() string { return brokering.Name() }

// Opens reports whether m begins a brokering, or is the CANCEL of one that comes
// first. A PROXY of no protocol does, if it designates no receiver.
func (Brokering) Opens(m *performatives.Message) bool { return opens(m, brokering, !designates(m)) }

// Bind returns the responder of a [Mediator].
func (b Brokering) Bind(self actors.Self, agent actors.Agent) actors.Responding {
	return newMediation(self, agent, brokering, Times(b), false)
}

// Recruiting is the protocol that makes every [Mediator] answer the PROXY of one
// that wants a designated receiver to get the answers.
type Recruiting Times

// Name returns "recruiting".
func (Recruiting) Name() string { return recruiting.Name() }

// Opens reports whether m begins a recruiting, or is the CANCEL of one that comes
// first. A PROXY of no protocol does, if it designates a receiver.
func (Recruiting) Opens(m *performatives.Message) bool { return opens(m, recruiting, designates(m)) }

// Bind returns the responder of a [Mediator].
func (r Recruiting) Bind(self actors.Self, agent actors.Agent) actors.Responding {
	return newMediation(self, agent, recruiting, Times(r), true)
}

// designates reports whether m is a PROXY with a designated receiver.
func designates(m *performatives.Message) bool {
	if m.Performative() != performatives.ActProxy {
		return false
	}
	p, err := performatives.PayloadAs[Proxy](m)
	return err == nil && p.Receiver != ""
}

// mediation is one run of a mediator's handler.
type mediation struct {
	mediator Mediator
	recruits bool
	grace    time.Duration
	handler  *handler
	q        Proxied
	share    Budget // of each of those that are asked at a time; nil for all that there is
}

func newMediation(self actors.Self, agent actors.Agent, m *machine.Machine, t Times, recruits bool) actors.Responding {
	role, ok := agent.(Mediator)
	if !ok {
		return nil
	}
	return newDesk(self, agent, m, t, func(ctx context.Context, c *conversation, h *handler) (string, any) {
		p, err := performatives.PayloadAs[Proxy](c.request)
		if err != nil {
			return turndown(err)
		}
		run := &mediation{
			mediator: role, recruits: recruits, grace: t.withDefaults().Grace,
			handler: h, q: Proxied{p, c.request, self},
		}
		replies, err := run.run(ctx)
		if err != nil {
			return turndown(err)
		}
		return c.answerWith(commandAnswer, performatives.ActInform, replies)
	})
}

// run is what the mediator does for one PROXY.
func (m *mediation) run(ctx context.Context) (ProxyReplies, error) {
	if m.recruits && !m.q.forTask() {
		return ProxyReplies{}, wrongProxy("payload.task", "a task: only its result can be delivered")
	}
	if !m.recruits && m.q.Receiver != "" && !m.q.Receiver.Is(m.q.Message.Sender()) {
		return ProxyReplies{}, wrongProxy("payload.designated_receiver", "nobody else: a broker passes the answers on to who asks")
	}
	if err := m.mediator.ConsiderProxy(ctx, m.q); err != nil {
		return ProxyReplies{}, err
	}
	if err := m.handler.say(commandAgree, nil); err != nil {
		return ProxyReplies{}, err
	}
	ctx, cancel := sooner(ctx)
	defer cancel()
	targets, err := m.find(ctx)
	if err != nil {
		return ProxyReplies{}, err
	}
	return m.askAll(ctx, targets)
}

// find returns whom to ask.
func (m *mediation) find(ctx context.Context) ([]performatives.AgentID, error) {
	found, err := m.mediator.FindAgents(ctx, m.q)
	if err != nil {
		return nil, err
	}
	var targets []performatives.AgentID
	seen := make(map[performatives.AgentID]bool)
	for _, id := range found {
		if !seen[id.Fold()] && m.q.suits(id, m.recruits) {
			targets = append(targets, id)
		}
		seen[id.Fold()] = true
	}
	if len(targets) == 0 {
		return nil, &performatives.Refusal{Code: performatives.CodeNoMatch}
	}
	return targets, m.say(ProxyNews{Asked: targets})
}

// say passes news on to who asked.
func (m *mediation) say(n ProxyNews) error { return m.handler.say(commandReport, n.update()) }

// sooner returns a context that ends some time before ctx does, so that there is
// time to tell of what did not come in time.
func sooner(ctx context.Context) (context.Context, context.CancelFunc) {
	by, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, by.Add(-min(time.Until(by)/10, DefaultGrace)))
}

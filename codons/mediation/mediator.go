package mediation

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Mediator is an agent that finds other agents on behalf of an initiator: the responder of
// [BrokeringCodon] and [RecruitingCodon]. It decides which proxies it serves and finds the
// agents; the responder asks them and handles their answers. [Broker] is a ready-made
// Mediator. The methods run on a goroutine of the conversation: they must not use the agent's
// fields except by [actors.Self.Do], and should return soon after the end of ctx.
type Mediator interface {
	actors.Agent
	// ConsiderProxy returns nil to agree. A [*performatives.Refusal] is sent with its code
	// and text, as REFUSE, NOT_UNDERSTOOD or FAILURE according to the code; any other error,
	// or a panic, as FAILURE without its text.
	ConsiderProxy(ctx context.Context, q Proxied) error
	// FindAgents returns the agents to ask, the best first. The mediator itself, the
	// initiator and the designated receiver are left out. An error ends the conversation
	// with FAILURE, no agent with the code [performatives.CodeNoMatch].
	FindAgents(ctx context.Context, q Proxied) ([]performatives.AgentID, error)
}

// Proxied is a [Proxy] and its circumstances.
type Proxied struct {
	Proxy
	Message *performatives.Message // the PROXY: its Sender is the initiator, its ReplyBy the deadline
	Agent   actors.Self            // the handle of the mediator
}

// receiver returns the designated receiver; without one in the Proxy, that is its sender.
func (q Proxied) receiver() performatives.AgentID {
	return cmp.Or(q.Receiver, q.Message.Sender())
}

// admits reports whether a found agent may be asked.
func (q Proxied) admits(id performatives.AgentID, recruits bool) bool {
	if id == "" || id.Is(q.Agent.ID()) || id.Is(q.Message.Sender()) || recruits && id.Is(q.receiver()) {
		return false
	}
	return len(q.Agents) == 0 || slices.ContainsFunc(q.Agents, id.Is)
}

// BrokeringService makes every [Mediator] answer the PROXY of a brokering, and any PROXY without a
// protocol and without a designated receiver.
var BrokeringService = codons.NewService(BrokeringCodon, codons.ServiceOptions{
	Opens: func(m *performatives.Message) bool { return BrokeringCodon.OpenedBy(m, !hasReceiver(m)) },
}, func(self actors.Self, role Mediator, t codons.Times) actors.Responder {
	return newMediation(self, role, BrokeringCodon, t, false)
})

// RecruitingService makes every [Mediator] answer the PROXY of a recruiting, and any PROXY without
// a protocol but with a designated receiver.
var RecruitingService = codons.NewService(RecruitingCodon, codons.ServiceOptions{
	Opens: func(m *performatives.Message) bool { return RecruitingCodon.OpenedBy(m, hasReceiver(m)) },
}, func(self actors.Self, role Mediator, t codons.Times) actors.Responder {
	return newMediation(self, role, RecruitingCodon, t, true)
})

// hasReceiver reports whether m is a PROXY with a designated receiver.
func hasReceiver(m *performatives.Message) bool {
	if m.Performative() != performatives.ActProxy {
		return false
	}
	p, err := performatives.PayloadAs[Proxy](m)
	return err == nil && p.Receiver != ""
}

// mediation is the handler of one PROXY.
type mediation struct {
	mediator Mediator
	recruits bool
	grace    time.Duration
	handler  *codons.Handler
	q        Proxied
	share    codons.Option // of the budget, for each conversation with WantAll; else all that is left
}

// newMediation returns the responder of a mediator in one of the two codons.
func newMediation(self actors.Self, role Mediator, c *codons.Codon, t codons.Times, recruits bool) actors.Responder {
	return codons.AnswerWith(self, role, c, t, func(ctx context.Context, h *codons.Handler) codons.Command {
		p, err := performatives.PayloadAs[Proxy](h.Message())
		if err != nil {
			return h.TurnDown(err)
		}
		run := &mediation{
			mediator: role, recruits: recruits, grace: t.Grace,
			handler: h, q: Proxied{p, h.Message(), self},
		}
		replies, err := run.run(ctx)
		if err != nil {
			return h.TurnDown(err)
		}
		return h.Answer(standard.CommandAnswer, performatives.ActInform, replies)
	})
}

// run considers the proxy, finds the agents and asks them.
func (m *mediation) run(ctx context.Context) (ProxyReplies, error) {
	if m.recruits && !m.q.forTask() {
		return ProxyReplies{}, wrongProxy("payload.task", "a task: only its result can be delivered")
	}
	if !m.recruits && m.q.Receiver != "" && !m.q.Receiver.Is(m.q.Message.Sender()) {
		return ProxyReplies{}, wrongProxy("payload.designated_receiver", "none: a broker passes the answers on to the sender of the PROXY")
	}
	if err := m.mediator.ConsiderProxy(ctx, m.q); err != nil {
		return ProxyReplies{}, err
	}
	if err := m.handler.Agree(); err != nil {
		return ProxyReplies{}, err
	}
	ctx, cancel := withReserve(ctx)
	defer cancel()
	targets, err := m.find(ctx)
	if err != nil {
		return ProxyReplies{}, err
	}
	return m.askAll(ctx, targets)
}

// find returns the agents to ask, each once, and reports them as news.
func (m *mediation) find(ctx context.Context) ([]performatives.AgentID, error) {
	found, err := m.mediator.FindAgents(ctx, m.q)
	if err != nil {
		return nil, err
	}
	var targets []performatives.AgentID
	seen := make(map[performatives.AgentID]bool)
	for _, id := range found {
		if !seen[id.Fold()] && m.q.admits(id, m.recruits) {
			targets = append(targets, id)
		}
		seen[id.Fold()] = true
	}
	if len(targets) == 0 {
		return nil, &performatives.Refusal{Code: performatives.CodeNoMatch}
	}
	return targets, m.say(ProxyNews{Asked: targets})
}

// say sends news to the initiator.
func (m *mediation) say(n ProxyNews) error {
	return m.handler.Say(codons.Command{Name: standard.CommandReport, Data: n.update()})
}

// withReserve returns a context that ends before ctx does: the deadline reserve is the time to
// answer after its children have ended. It is a tenth of the time left, at most
// [codons.DefaultGrace].
func withReserve(ctx context.Context) (context.Context, context.CancelFunc) {
	by, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, by.Add(-min(time.Until(by)/10, codons.DefaultGrace)))
}

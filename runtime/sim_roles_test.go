package runtime_test

import (
	"context"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/approval"
	"github.com/ribosome-agents/ribosome/codons/auction"
	"github.com/ribosome-agents/ribosome/codons/contractnet"
	"github.com/ribosome-agents/ribosome/codons/discovery"
	"github.com/ribosome-agents/ribosome/codons/mediation"
	"github.com/ribosome-agents/ribosome/codons/query"
	requests "github.com/ribosome-agents/ribosome/codons/request"
	"github.com/ribosome-agents/ribosome/codons/subscribe"
	"github.com/ribosome-agents/ribosome/codons/tool"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// The roles of a simAgent besides worker: it answers most codons of the library.
var _ interface {
	contractnet.Bidder
	query.IfHandler
	query.RefHandler
	approval.ProposalHandler
	approval.Approver
	tool.Agent
	auction.Bidder
	requests.WhenHandler
	discovery.HandshakeHandler
	subscribe.Publisher
	subscribe.WheneverHandler
	mediation.Mediator
	mediation.DeliveryHandler
} = (*simAgent)(nil)

// answering is the context of one answer.
type answering struct {
	*simSwarm
	ctx  context.Context
	self actors.Self
	name string
}

// answer runs a random option before the agent answers m.
func (c *simAgent) answer(ctx context.Context, self actors.Self, m *p.Message) error {
	a := pick(c.swarm.dice, answers)
	c.swarm.deeds.count(a.name)
	return a.do(&answering{c.swarm, ctx, self, "answer " + string(c.id) + " " + string(m.ID())})
}

func (a *answering) later() error { return a.pause(a.ctx, a.name, a.dice.upTo(time.Second)) }

func (a *answering) regardless() error {
	a.idle(a.name, a.dice.upTo(2*time.Second))
	return nil
}

// withHelp sends a request to another agent first, in the same scope.
func (a *answering) withHelp() error {
	if codons.BudgetLeft(a.ctx)[codons.Depth] <= codons.DefaultDepth-2 {
		return nil
	}
	_, err := query.If(a.ctx, a.self, a.randomAgent(), "help?")
	a.sim.Yield(a.name)
	return err
}

// truth returns a random answer to a query.
func (c *simAgent) truth() bool { return !c.swarm.dice.oneIn(3) }

// ConsiderCall returns a proposal or refuses, at random.
func (c *simAgent) ConsiderCall(ctx context.Context, call contractnet.Called) (contractnet.Proposal, error) {
	err := c.answer(ctx, call.Agent, call.Message)
	proposal := contractnet.Proposal{Cost: float64(c.swarm.dice.n(10))}
	if c.swarm.dice.oneIn(4) {
		proposal.ValidUntil = time.Now().Add(c.swarm.dice.upTo(time.Second))
	}
	return proposal, err
}

// PerformAward performs the awarded task.
func (c *simAgent) PerformAward(ctx context.Context, a contractnet.Awarded) (p.InformResult, error) {
	return success, c.answer(ctx, a.Agent, a.Message)
}

// ConsiderPrice accepts a price at random.
func (c *simAgent) ConsiderPrice(ctx context.Context, o auction.Offered) (bool, error) {
	return c.swarm.dice.oneIn(2), c.answer(ctx, o.Agent, o.Message)
}

// SettlePurchase completes a purchase.
func (c *simAgent) SettlePurchase(ctx context.Context, b auction.Bought) (p.InformResult, error) {
	return success, c.answer(ctx, b.Agent, b.Message)
}

// HandleQueryIf returns a random truth value.
func (c *simAgent) HandleQueryIf(ctx context.Context, q query.AskedIf) (bool, error) {
	if err := c.agree(q.Agree, q.Message); err != nil {
		return false, err
	}
	return c.truth(), c.answer(ctx, q.Agent, q.Message)
}

// agree sends AGREE before the answer, at random.
func (c *simAgent) agree(agree func() error, m *p.Message) error {
	if !c.swarm.dice.oneIn(3) {
		return nil
	}
	err := agree()
	c.swarm.sim.Yield("agreed " + string(c.id) + " " + string(m.ID()))
	return err
}

// HandleQueryRef returns a value.
func (c *simAgent) HandleQueryRef(ctx context.Context, q query.AskedRef) (any, error) {
	return c.swarm.dice.n(10), c.answer(ctx, q.Agent, q.Message)
}

// ConsiderProposal returns a random verdict.
func (c *simAgent) ConsiderProposal(ctx context.Context, q approval.Proposed) (approval.Verdict, error) {
	return approval.Verdict{Accepted: c.truth()}, c.answer(ctx, q.Agent, q.Message)
}

// DecideStep returns a random verdict.
func (c *simAgent) DecideStep(ctx context.Context, s approval.ProposedStep) (approval.Verdict, error) {
	if err := c.agree(s.Seen, s.Message); err != nil {
		return approval.Verdict{}, err
	}
	return approval.Verdict{Accepted: c.truth()}, c.answer(ctx, s.Agent, s.Message)
}

// simToolArgs are the arguments of the tool, and its result.
type simToolArgs struct {
	N int `json:"n"`
}

// ToolSet returns the one tool of every simAgent.
func (c *simAgent) ToolSet() *tool.Tools { return c.swarm.tools }

// newTools returns the tools of the swarm. All agents share them, because the schemas of a tool
// cost more than an agent.
func (s *simSwarm) newTools() *tool.Tools {
	added, err := tool.New("double", "doubles a number", func(ctx context.Context, in simToolArgs) (simToolArgs, error) {
		call, _ := tool.CallerFrom(ctx)
		called := &simAgent{swarm: s, id: call.Agent.ID()}
		return simToolArgs{2 * in.N}, called.answer(ctx, call.Agent, call.Message)
	})
	if err != nil {
		s.t.Fatal(err)
	}
	tools, err := tool.NewSet(added)
	if err != nil {
		s.t.Fatal(err)
	}
	return tools
}

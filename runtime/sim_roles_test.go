package runtime_test

import (
	"context"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// What a citizen is beside a worker: it answers in most codons of the library.
var _ interface {
	codons.Bidder
	codons.QueryIfHandler
	codons.QueryRefHandler
	codons.ProposalHandler
	codons.Approver
	codons.ToolAgent
	codons.AuctionBidder
	codons.RequestWhenHandler
	codons.HandshakeHandler
	codons.Publisher
	codons.WheneverHandler
	codons.Mediator
	codons.DeliveryHandler
} = (*citizen)(nil)

// answering is an answer under way.
type answering struct {
	*simSwarm
	ctx  context.Context
	self actors.Self
	name string
}

// answer does what the dice say before the agent answers m.
func (c *citizen) answer(ctx context.Context, self actors.Self, m *p.Message) error {
	a := pick(c.swarm.dice, answers)
	c.swarm.deeds.count(a.name)
	return a.do(&answering{c.swarm, ctx, self, "answer " + string(c.id) + " " + string(m.ID())})
}

func (a *answering) later() error { return a.pause(a.ctx, a.name, a.dice.upTo(time.Second)) }

func (a *answering) regardless() error {
	a.idle(a.name, a.dice.upTo(2*time.Second))
	return nil
}

// withHelp asks someone else first, within the same work.
func (a *answering) withHelp() error {
	if codons.Left(a.ctx)[codons.Depth] <= codons.DefaultDepth-2 {
		return nil
	}
	_, err := codons.QueryIf(a.ctx, a.self, a.anyone(), "help?")
	a.sim.Yield(a.name)
	return err
}

// truth is what an answer is, if there is one.
func (c *citizen) truth() bool { return !c.swarm.dice.oneIn(3) }

// ConsiderCall bids.
func (c *citizen) ConsiderCall(ctx context.Context, call codons.Called) (codons.Proposal, error) {
	err := c.answer(ctx, call.Agent, call.Message)
	proposal := codons.Proposal{Cost: float64(c.swarm.dice.n(10))}
	if c.swarm.dice.oneIn(4) {
		proposal.ValidUntil = time.Now().Add(c.swarm.dice.upTo(time.Second))
	}
	return proposal, err
}

// PerformAward delivers.
func (c *citizen) PerformAward(ctx context.Context, a codons.Awarded) (p.InformResult, error) {
	return success, c.answer(ctx, a.Agent, a.Message)
}

// ConsiderPrice bids, or passes.
func (c *citizen) ConsiderPrice(ctx context.Context, o codons.Offered) (bool, error) {
	return c.swarm.dice.oneIn(2), c.answer(ctx, o.Agent, o.Message)
}

// SettlePurchase pays.
func (c *citizen) SettlePurchase(ctx context.Context, b codons.Bought) (p.InformResult, error) {
	return success, c.answer(ctx, b.Agent, b.Message)
}

// HandleQueryIf answers.
func (c *citizen) HandleQueryIf(ctx context.Context, q codons.AskedIf) (bool, error) {
	if err := c.agree(q.Agree, q.Message); err != nil {
		return false, err
	}
	return c.truth(), c.answer(ctx, q.Agent, q.Message)
}

// agree says that an answer will come, now and then.
func (c *citizen) agree(agree func() error, m *p.Message) error {
	if !c.swarm.dice.oneIn(3) {
		return nil
	}
	err := agree()
	c.swarm.sim.Yield("agreed " + string(c.id) + " " + string(m.ID()))
	return err
}

// HandleQueryRef answers.
func (c *citizen) HandleQueryRef(ctx context.Context, q codons.AskedRef) (any, error) {
	return c.swarm.dice.n(10), c.answer(ctx, q.Agent, q.Message)
}

// ConsiderProposal answers.
func (c *citizen) ConsiderProposal(ctx context.Context, q codons.Proposed) (codons.Verdict, error) {
	return codons.Verdict{Accepted: c.truth()}, c.answer(ctx, q.Agent, q.Message)
}

// DecideStep answers.
func (c *citizen) DecideStep(ctx context.Context, s codons.ProposedStep) (codons.Verdict, error) {
	if err := c.agree(s.Seen, s.Message); err != nil {
		return codons.Verdict{}, err
	}
	return codons.Verdict{Accepted: c.truth()}, c.answer(ctx, s.Agent, s.Message)
}

// simToolArgs are the arguments of the tool, and its result.
type simToolArgs struct {
	N int `json:"n"`
}

// ToolSet returns the one tool that citizens have.
func (c *citizen) ToolSet() *codons.Tools {
	tool, err := codons.NewTool("double", "doubles a number", func(ctx context.Context, in simToolArgs) (simToolArgs, error) {
		call, _ := codons.ToolCallFrom(ctx)
		return simToolArgs{2 * in.N}, c.answer(ctx, call.Agent, call.Message)
	})
	if err != nil {
		c.swarm.t.Error(err)
	}
	tools, err := codons.NewTools(tool)
	if err != nil {
		c.swarm.t.Error(err)
	}
	return tools
}

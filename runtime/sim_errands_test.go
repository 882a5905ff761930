package runtime_test

import (
	"context"
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/approval"
	"github.com/ribosome-agents/ribosome/codons/auction"
	"github.com/ribosome-agents/ribosome/codons/contractnet"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/discovery"
	"github.com/ribosome-agents/ribosome/codons/query"
	"github.com/ribosome-agents/ribosome/codons/saga"
	"github.com/ribosome-agents/ribosome/codons/scatter"
	"github.com/ribosome-agents/ribosome/codons/tool"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// randomAgents returns n different agents, which may or may not be running.
func (s *simSwarm) randomAgents(n int) []p.AgentID {
	first, ids := s.dice.n(simAgents), make([]p.AgentID, n)
	for i := range ids {
		ids[i] = simID((first + 7*i) % simAgents)
	}
	return ids
}

// within returns a context with a deadline.
func (x *simErrand) within(deadline time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), deadline)
}

// cancelledContext returns a context that is cancelled after a random time.
func (x *simErrand) cancelledContext() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	x.self.System().AfterFunc(x.dice.upTo(2*time.Second), cancel)
	return ctx, cancel
}

// tender sends a call for proposals to a few agents.
func (s *simSwarm) tender(ctx context.Context, self actors.Self, opts ...codons.Option) string {
	opts = append(opts, contractnet.WithProposalsWithin(s.dice.upTo(2*time.Second)))
	if s.dice.oneIn(3) {
		opts = append(opts, contractnet.WithReserve(), contractnet.WithResultWithin(s.dice.upTo(time.Second)))
	}
	a, err := contractnet.CallForProposals(ctx, self, s.randomAgents(2+s.dice.n(3)), contractnet.Call{Task: simTask(3)}, opts...)
	return simEnd(fmt.Sprint(len(a.Awards), " awards, ", len(a.Lost), " lost"), err)
}

func (x *simErrand) callForProposals() string {
	ctx, cancel := x.within(x.dice.upTo(5 * time.Second))
	defer cancel()
	return x.tender(ctx, x.self, contractnet.WithWinners(1+x.dice.n(2)))
}

func (x *simErrand) callAndWithdraw() string {
	ctx, cancel := x.cancelledContext()
	defer cancel()
	return x.tender(ctx, x.self)
}

func (x *simErrand) callInRounds() string {
	ctx, cancel := x.within(5 * time.Second)
	defer cancel()
	return x.tender(ctx, x.self, contractnet.WithRounds(3), contractnet.WithDecision(func(ctx context.Context, b contractnet.Bidding) contractnet.Selection {
		_ = x.pause(ctx, x.name+" deciding", x.dice.upTo(500*time.Millisecond))
		if b.Again && x.dice.oneIn(2) {
			return contractnet.Selection{Revise: []p.AgentID{b.Bids[0].Bidder}}
		}
		if x.dice.oneIn(10) {
			panic("deciding on bids")
		}
		return contractnet.LowestCost(ctx, b)
	}))
}

// lot returns the lot of an auction.
func (x *simErrand) lot() auction.Lot {
	return auction.Lot{Item: "it", Start: 30, Step: 10, Reserve: int64(x.dice.n(40)), RoundTime: x.dice.upTo(time.Second)}
}

func (x *simErrand) englishAuction() string {
	ctx, cancel := x.queryContext()
	defer cancel()
	sale, err := auction.English(ctx, x.self, x.randomAgents(3), x.lot())
	return simEnd(fmt.Sprint("sold to ", sale.Winner, " for ", sale.Price), err)
}

func (x *simErrand) dutchAuction() string {
	ctx, cancel := x.queryContext()
	defer cancel()
	lot := x.lot()
	lot.Reserve /= 2
	sale, err := auction.Dutch(ctx, x.self, x.randomAgents(3), lot)
	return simEnd(fmt.Sprint("sold to ", sale.Winner, " for ", sale.Price), err)
}

// scatterTo delegates to a few agents at once.
func (s *simSwarm) scatterTo(ctx context.Context, self actors.Self, hands int) (scatter.Scattered, error) {
	gather := []scatter.Gather{
		scatter.AllOf(), scatter.FirstOf(), scatter.Quorum(2),
		scatter.BestOf(func(a scatter.Answer) float64 { return float64(len(a.Agent)) }),
	}
	return scatter.Scatter(ctx, self, s.randomAgents(2+s.dice.n(3)), simTask(hands), gather[s.dice.n(len(gather))], codons.WithGrace(s.dice.upTo(time.Second)))
}

func (x *simErrand) scatter() string {
	ctx, cancel := x.within(x.dice.upTo(8 * time.Second))
	defer cancel()
	a, err := x.scatterTo(ctx, x.self, 2)
	return simEnd(fmt.Sprint(len(a.Answers), " answers"), err)
}

func (x *simErrand) scatterAndWithdraw() string {
	ctx, cancel := x.cancelledContext()
	defer cancel()
	a, err := x.scatterTo(ctx, x.self, 2)
	return simEnd(fmt.Sprint(len(a.Answers), " answers"), err)
}

func (x *simErrand) findAndDelegate() string {
	ctx, cancel := x.within(x.dice.upTo(10 * time.Second))
	defer cancel()
	opts := []codons.Option{codons.WithGrace(time.Second)}
	if x.dice.oneIn(3) {
		opts = append(opts, discovery.SafeToRepeat())
	}
	f, err := discovery.FindAndDelegate(ctx, x.self, discovery.Search{Among: discovery.Agents(x.randomAgents(3)), Need: []string{"simulation"}, AskTime: time.Second}, simTask(2), opts...)
	return simEnd(fmt.Sprint("done by ", f.Agent), err)
}

// queryContext returns the context of a query. Some queries are cancelled.
func (x *simErrand) queryContext() (context.Context, context.CancelFunc) {
	if x.dice.oneIn(3) {
		return x.cancelledContext()
	}
	return x.within(x.dice.upTo(3 * time.Second))
}

func (x *simErrand) queryIf() string {
	ctx, cancel := x.queryContext()
	defer cancel()
	v, err := query.If(ctx, x.self, x.randomAgent(), "it rains")
	return simEnd(fmt.Sprint(v), err)
}

func (x *simErrand) queryRef() string {
	ctx, cancel := x.queryContext()
	defer cancel()
	v, err := query.Ref[int](ctx, x.self, x.randomAgent(), "number")
	return simEnd(fmt.Sprint(v), err)
}

func (x *simErrand) propose() string {
	ctx, cancel := x.queryContext()
	defer cancel()
	v, err := approval.Propose(ctx, x.self, x.randomAgent(), p.Raw(`{}`))
	return simEnd(fmt.Sprint(v.Accepted), err)
}

func (x *simErrand) approve() string {
	ctx, cancel := x.queryContext()
	defer cancel()
	a, err := approval.Approve(ctx, x.self, x.randomAgent(), approval.Step{What: "go on"}, approval.WithEscalation(x.randomAgents(2)...), codons.WithGrace(x.dice.upTo(time.Second)))
	return simEnd(fmt.Sprint(a.Approved, " by ", a.By), err)
}

func (x *simErrand) callTool() string {
	ctx, cancel := x.queryContext()
	defer cancel()
	added := "double"
	if x.dice.oneIn(10) {
		added = "treble"
	}
	out, err := tool.Call[simToolArgs, simToolArgs](ctx, x.self, x.randomAgent(), added, simToolArgs{x.dice.n(10)})
	return simEnd(fmt.Sprint(out.N), err)
}

// steps returns a saga of three steps that query other agents. Each step is compensated
// by a tool call.
func (x *simErrand) steps() saga.Saga {
	var s saga.Saga
	s.Grace = 2 * time.Second
	for _, name := range []string{"one", "two", "three"} {
		s.Steps = append(s.Steps, saga.Step{
			Name: name,
			Do: func(ctx context.Context, _ map[string]any) (any, error) {
				return query.If(ctx, x.self, x.randomAgent(), name, codons.WithGrace(time.Second))
			},
			Undo: func(ctx context.Context, _ any) error {
				_, err := tool.Call[simToolArgs, simToolArgs](ctx, x.self, x.randomAgent(), "double", simToolArgs{})
				return err
			},
			UndoTime: 5 * time.Second,
			Retry:    codons.Retry{First: x.dice.upTo(time.Second)},
		})
	}
	return s
}

func (x *simErrand) runSaga(ctx context.Context) string {
	_, err := x.steps().Run(ctx, x.self)
	return simEnd("all done", err)
}

func (x *simErrand) saga() string {
	ctx, cancel := x.within(x.dice.upTo(10 * time.Second))
	defer cancel()
	return x.runSaga(ctx)
}

func (x *simErrand) sagaAndWithdraw() string {
	ctx, cancel := x.cancelledContext()
	defer cancel()
	return x.runSaga(ctx)
}

// delegateWithBudget delegates with a budget that may not be sufficient for the task and
// its children.
func (x *simErrand) delegateWithBudget() string {
	return x.delegate(context.Background(), append(x.options(), codons.WithBudget(codons.Budget{
		codons.Tokens: int64(x.dice.n(100)), codons.Calls: int64(x.dice.n(4)), codons.Depth: int64(x.dice.n(3)),
	}))...)
}

// scatter delegates the task to several agents, in the same scope.
func (j *job) scatter() (p.InformResult, error) {
	if j.task.Description != "0" {
		return success, nil
	}
	_, err := j.scatterTo(j.ctx, j.task.Agent, 3)
	j.sim.Yield(j.name)
	return success, err
}

// tender delegates the task to the best bidder, in the same scope.
func (j *job) tender() (p.InformResult, error) {
	ctx, cancel := context.WithTimeout(j.ctx, 5*time.Second)
	defer cancel()
	how := j.simSwarm.tender(ctx, j.task.Agent)
	j.sim.Yield(j.name)
	return p.InformResult{Status: p.StatusSuccess, Summary: how}, nil
}

// returnEarly returns while child tasks are running, which cancels them.
func (j *job) returnEarly() (p.InformResult, error) {
	for range 1 + j.dice.n(2) {
		if _, err := delegation.Start(j.ctx, j.task.Agent, j.randomAgent(), simTask(3)); err != nil {
			return p.InformResult{}, err
		}
	}
	return success, j.pause(j.ctx, j.name, j.dice.upTo(100*time.Millisecond))
}

// spend accounts for a part of the budget, if there is one.
func (j *job) spend() (p.InformResult, error) {
	err := codons.Spend(j.ctx, codons.Budget{codons.Tokens: int64(j.dice.n(60))})
	j.sim.Yield(j.name)
	if err != nil && j.dice.oneIn(2) {
		return p.InformResult{}, err
	}
	return j.delegate()
}

package runtime_test

import (
	"context"
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// some are n different agents that may run or not.
func (s *simSwarm) some(n int) []p.AgentID {
	first, ids := s.dice.n(simAgents), make([]p.AgentID, n)
	for i := range ids {
		ids[i] = simID((first + 7*i) % simAgents)
	}
	return ids
}

// within returns a context that ends by its deadline, or before by a cancel.
func (x *errand) within(deadline time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), deadline)
}

// fleeting returns a context that somebody cancels.
func (x *errand) fleeting() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	x.self.System().AfterFunc(x.dice.upTo(2*time.Second), cancel)
	return ctx, cancel
}

// tender calls a few for proposals.
func (s *simSwarm) tender(ctx context.Context, self actors.Self, opts ...codons.CallOption) string {
	opts = append(opts, codons.WithProposalsWithin(s.dice.upTo(2*time.Second)))
	if s.dice.oneIn(3) {
		opts = append(opts, codons.WithReserve(), codons.WithResultWithin(s.dice.upTo(time.Second)))
	}
	a, err := codons.CallForProposals(ctx, self, s.some(2+s.dice.n(3)), codons.Call{Task: simTask(3)}, opts...)
	return simEnd(fmt.Sprint(len(a.Awards), " awards, ", len(a.Lost), " lost"), err)
}

func (x *errand) callForProposals() string {
	ctx, cancel := x.within(x.dice.upTo(5 * time.Second))
	defer cancel()
	return x.tender(ctx, x.self, codons.WithWinners(1+x.dice.n(2)))
}

func (x *errand) callAndWithdraw() string {
	ctx, cancel := x.fleeting()
	defer cancel()
	return x.tender(ctx, x.self)
}

func (x *errand) callInRounds() string {
	ctx, cancel := x.within(5 * time.Second)
	defer cancel()
	return x.tender(ctx, x.self, codons.WithRounds(3), codons.WithDecision(func(ctx context.Context, b codons.Bidding) codons.Selection {
		_ = x.pause(ctx, x.name+" deciding", x.dice.upTo(500*time.Millisecond))
		if b.Again && x.dice.oneIn(2) {
			return codons.Selection{Revise: []p.AgentID{b.Bids[0].Bidder}}
		}
		if x.dice.oneIn(10) {
			panic("deciding on bids")
		}
		return codons.LowestCost(ctx, b)
	}))
}

// lot is what is sold.
func (x *errand) lot() codons.Lot {
	return codons.Lot{Item: "it", Start: 30, Step: 10, Reserve: int64(x.dice.n(40)), RoundTime: x.dice.upTo(time.Second)}
}

func (x *errand) englishAuction() string {
	ctx, cancel := x.question()
	defer cancel()
	sale, err := codons.EnglishAuction(ctx, x.self, x.some(3), x.lot())
	return simEnd(fmt.Sprint("sold to ", sale.Winner, " for ", sale.Price), err)
}

func (x *errand) dutchAuction() string {
	ctx, cancel := x.question()
	defer cancel()
	lot := x.lot()
	lot.Reserve /= 2
	sale, err := codons.DutchAuction(ctx, x.self, x.some(3), lot)
	return simEnd(fmt.Sprint("sold to ", sale.Winner, " for ", sale.Price), err)
}

// scatterTo delegates to a few at once.
func (s *simSwarm) scatterTo(ctx context.Context, self actors.Self, hands int) (codons.Scattered, error) {
	gather := []codons.Gather{
		codons.AllOf(), codons.FirstOf(), codons.Quorum(2),
		codons.BestOf(func(a codons.Answer) float64 { return float64(len(a.Agent)) }),
	}
	return codons.Scatter(ctx, self, s.some(2+s.dice.n(3)), simTask(hands), gather[s.dice.n(len(gather))], codons.WithGrace(s.dice.upTo(time.Second)))
}

func (x *errand) scatter() string {
	ctx, cancel := x.within(x.dice.upTo(8 * time.Second))
	defer cancel()
	a, err := x.scatterTo(ctx, x.self, 2)
	return simEnd(fmt.Sprint(len(a.Answers), " answers"), err)
}

func (x *errand) scatterAndWithdraw() string {
	ctx, cancel := x.fleeting()
	defer cancel()
	a, err := x.scatterTo(ctx, x.self, 2)
	return simEnd(fmt.Sprint(len(a.Answers), " answers"), err)
}

func (x *errand) findAndDelegate() string {
	ctx, cancel := x.within(x.dice.upTo(10 * time.Second))
	defer cancel()
	opts := []codons.DelegateOption{codons.WithGrace(time.Second)}
	if x.dice.oneIn(3) {
		opts = append(opts, codons.SafeToRepeat())
	}
	f, err := codons.FindAndDelegate(ctx, x.self, codons.Search{Among: codons.Agents(x.some(3)), Need: []string{"simulation"}, AskTime: time.Second}, simTask(2), opts...)
	return simEnd(fmt.Sprint("done by ", f.Agent), err)
}

// question returns a context of a question, some of which are withdrawn.
func (x *errand) question() (context.Context, context.CancelFunc) {
	if x.dice.oneIn(3) {
		return x.fleeting()
	}
	return x.within(x.dice.upTo(3 * time.Second))
}

func (x *errand) queryIf() string {
	ctx, cancel := x.question()
	defer cancel()
	v, err := codons.QueryIf(ctx, x.self, x.anyone(), "it rains")
	return simEnd(fmt.Sprint(v), err)
}

func (x *errand) queryRef() string {
	ctx, cancel := x.question()
	defer cancel()
	v, err := codons.QueryRef[int](ctx, x.self, x.anyone(), "number")
	return simEnd(fmt.Sprint(v), err)
}

func (x *errand) propose() string {
	ctx, cancel := x.question()
	defer cancel()
	v, err := codons.Propose(ctx, x.self, x.anyone(), p.Raw(`{}`))
	return simEnd(fmt.Sprint(v.Accepted), err)
}

func (x *errand) approve() string {
	ctx, cancel := x.question()
	defer cancel()
	a, err := codons.Approve(ctx, x.self, x.anyone(), codons.Step{What: "go on"}, codons.WithEscalation(x.some(2)...), codons.WithGrace(x.dice.upTo(time.Second)))
	return simEnd(fmt.Sprint(a.Approved, " by ", a.By), err)
}

func (x *errand) callTool() string {
	ctx, cancel := x.question()
	defer cancel()
	tool := "double"
	if x.dice.oneIn(10) {
		tool = "treble"
	}
	out, err := codons.CallTool[simToolArgs, simToolArgs](ctx, x.self, x.anyone(), tool, simToolArgs{x.dice.n(10)})
	return simEnd(fmt.Sprint(out.N), err)
}

// steps has others do three things, and undo them.
func (x *errand) steps() codons.Saga {
	var s codons.Saga
	s.Grace = 2 * time.Second
	for _, name := range []string{"one", "two", "three"} {
		s.Steps = append(s.Steps, codons.SagaStep{
			Name: name,
			Do: func(ctx context.Context, _ map[string]any) (any, error) {
				return codons.QueryIf(ctx, x.self, x.anyone(), name, codons.WithGrace(time.Second))
			},
			Undo: func(ctx context.Context, _ any) error {
				_, err := codons.CallTool[simToolArgs, simToolArgs](ctx, x.self, x.anyone(), "double", simToolArgs{})
				return err
			},
			UndoTime: 5 * time.Second,
			Retry:    codons.Retry{First: x.dice.upTo(time.Second)},
		})
	}
	return s
}

func (x *errand) runSaga(ctx context.Context) string {
	_, err := x.steps().Run(ctx, x.self)
	return simEnd("all done", err)
}

func (x *errand) saga() string {
	ctx, cancel := x.within(x.dice.upTo(10 * time.Second))
	defer cancel()
	return x.runSaga(ctx)
}

func (x *errand) sagaAndWithdraw() string {
	ctx, cancel := x.fleeting()
	defer cancel()
	return x.runSaga(ctx)
}

// delegateWithBudget gives the work, and what is below it, so little that it may not
// suffice.
func (x *errand) delegateWithBudget() string {
	return x.delegate(context.Background(), append(x.options(), codons.WithBudget(codons.Budget{
		codons.Tokens: int64(x.dice.n(100)), codons.Calls: int64(x.dice.n(4)), codons.Depth: int64(x.dice.n(3)),
	}))...)
}

// scatter has several others do it, within the same work.
func (j *job) scatter() (p.InformResult, error) {
	if j.task.Description != "0" {
		return success, nil
	}
	_, err := j.scatterTo(j.ctx, j.task.Agent, 3)
	j.sim.Yield(j.name)
	return success, err
}

// tender has the best do it, within the same work.
func (j *job) tender() (p.InformResult, error) {
	ctx, cancel := context.WithTimeout(j.ctx, 5*time.Second)
	defer cancel()
	how := j.simSwarm.tender(ctx, j.task.Agent)
	j.sim.Yield(j.name)
	return p.InformResult{Status: p.StatusSuccess, Summary: how}, nil
}

// leaveAPart returns while others are at work for it: they are withdrawn.
func (j *job) leaveAPart() (p.InformResult, error) {
	for range 1 + j.dice.n(2) {
		if _, err := codons.StartDelegation(j.ctx, j.task.Agent, j.anyone(), simTask(3)); err != nil {
			return p.InformResult{}, err
		}
	}
	return success, j.pause(j.ctx, j.name, j.dice.upTo(100*time.Millisecond))
}

// spend uses some of the budget, if there is one.
func (j *job) spend() (p.InformResult, error) {
	err := codons.Spend(j.ctx, codons.Budget{codons.Tokens: int64(j.dice.n(60))})
	j.sim.Yield(j.name)
	if err != nil && j.dice.oneIn(2) {
		return p.InformResult{}, err
	}
	return j.delegate()
}

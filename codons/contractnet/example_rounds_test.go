package contractnet_test

import (
	"context"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/contractnet"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// haggler is an agent that lowers its price with each round.
type haggler struct{ least float64 }

func (haggler) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (h haggler) ConsiderCall(_ context.Context, c contractnet.Called) (contractnet.Proposal, error) {
	return contractnet.Proposal{Cost: max(h.least, 100-20*float64(len(c.Previous)))}, nil
}

func (haggler) PerformAward(context.Context, contractnet.Awarded) (performatives.InformResult, error) {
	return performatives.InformResult{Status: performatives.StatusSuccess}, nil
}

// reviseAll lets all bidders bid again until the last round, and then takes the lowest cost.
func reviseAll(ctx context.Context, b contractnet.Bidding) contractnet.Selection {
	best := contractnet.LowestCost(ctx, b)
	if !b.Again {
		return best
	}
	var s contractnet.Selection
	for _, bid := range b.Bids {
		fmt.Println("round", b.Call.Round, bid.Bidder, bid.Proposal.Cost)
		s.Revise = append(s.Revise, bid.Bidder)
	}
	return s
}

func ExampleWithRounds() {
	ctx := context.Background()
	node, err := runtime.New(runtime.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = node.Stop(ctx) }()
	if err := node.Spawn(ctx, "Ada", func() actors.Agent { return haggler{least: 70} }); err != nil {
		panic(err)
	}
	if err := node.Spawn(ctx, "Bob", func() actors.Agent { return haggler{least: 40} }); err != nil {
		panic(err)
	}

	all, err := contractnet.CallForProposals(ctx, node, []performatives.AgentID{"Ada", "Bob"},
		contractnet.Call{Task: performatives.TaskRequest{TaskType: "paint"}},
		contractnet.WithRounds(3), contractnet.WithDecision(reviseAll))
	if err != nil {
		panic(err)
	}
	fmt.Println(all.Awards[0].Bidder, all.Awards[0].Proposal.Cost)
	// Output:
	// round 1 Ada 100
	// round 1 Bob 100
	// round 2 Ada 80
	// round 2 Bob 80
	// Bob 60
}

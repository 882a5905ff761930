package codons_test

import (
	"context"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// haggler is an agent that bids less when it is called again.
type haggler struct {
	painter
	least float64
}

func (a haggler) ConsiderCall(_ context.Context, c codons.Called) (codons.Proposal, error) {
	return codons.Proposal{Cost: max(a.least, 100-20*float64(len(c.Previous)))}, nil
}

func ExampleWithRounds() {
	ctx := context.Background()
	system, err := actors.NewSystem(actors.Options{Protocols: codons.Protocols(codons.Times{})})
	if err != nil {
		panic(err)
	}
	defer func() { _ = system.Stop(ctx) }()
	spawn(ctx, system, "Ada", haggler{least: 70})
	spawn(ctx, system, "Bob", haggler{least: 40})
	eliza := spawn(ctx, system, "Eliza", poet{})

	// All may bid again, until the third round.
	decide := func(ctx context.Context, b codons.Bidding) codons.Selection {
		best := codons.LowestCost(ctx, b)
		if !b.Again {
			return best
		}
		var v codons.Selection
		for _, bid := range b.Bids {
			fmt.Println("round", b.Call.Round, bid.Bidder, bid.Proposal.Cost)
			v.Revise = append(v.Revise, bid.Bidder)
		}
		return v
	}
	all, err := codons.CallForProposals(ctx, eliza, []p.AgentID{"Ada", "Bob"},
		codons.Call{Task: p.TaskRequest{TaskType: "paint"}}, codons.WithRounds(3), codons.WithDecision(decide))
	fmt.Println(all.Awards[0].Bidder, all.Awards[0].Proposal.Cost, err)
	// Output:
	// round 1 Ada 100
	// round 1 Bob 100
	// round 2 Ada 80
	// round 2 Bob 80
	// Bob 60 <nil>
}

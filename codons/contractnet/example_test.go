package contractnet_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/contractnet"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// painter is an agent that paints walls for a price per square metre.
type painter struct{ rate float64 }

func (painter) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{"Painting"}}
}

func (a painter) ConsiderCall(_ context.Context, c contractnet.Called) (contractnet.Proposal, error) {
	wall, err := performatives.Decode[struct {
		Metres float64 `json:"metres"`
	}](c.Task.Parameters)
	switch {
	case err != nil:
		return contractnet.Proposal{}, err // sends NOT_UNDERSTOOD with the reason
	case wall.Metres > 50:
		return contractnet.Proposal{}, &performatives.Refusal{Code: performatives.CodeIncapable, Text: "my ladder is too short"} // sends REFUSE
	}
	return contractnet.Proposal{Cost: a.rate * wall.Metres}, nil
}

func (a painter) PerformAward(_ context.Context, w contractnet.Awarded) (performatives.InformResult, error) {
	return performatives.InformResult{Status: performatives.StatusSuccess, Summary: fmt.Sprintf("painted for %v", w.Proposal.Cost)}, nil
}

// painting is a call for proposals to paint a wall of so many square metres.
func painting(metres float64) contractnet.Call {
	wall := performatives.ContentOf(map[string]any{"metres": metres})
	return contractnet.Call{Task: performatives.TaskRequest{TaskType: "paint", Parameters: wall}}
}

func ExampleCallForProposals() {
	ctx := context.Background()
	node, err := runtime.New(runtime.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = node.Stop(ctx) }()
	if err := node.Spawn(ctx, "Ada", func() actors.Agent { return painter{rate: 3} }); err != nil {
		panic(err)
	}
	if err := node.Spawn(ctx, "Bob", func() actors.Agent { return painter{rate: 2} }); err != nil {
		panic(err)
	}
	bidders := []performatives.AgentID{"Ada", "Bob"}

	all, _ := contractnet.CallForProposals(ctx, node, bidders, painting(20))
	fmt.Println(all.Awards[0].Bidder, all.Awards[0].Result.Summary)
	fmt.Println(all.Lost[0].Proposal.Cost, all.Lost[0].Err)

	_, err = contractnet.CallForProposals(ctx, node, bidders, painting(80))
	fmt.Println(errors.Is(err, contractnet.ErrNoAward), errors.Is(err, performatives.CodeIncapable))
	// Output:
	// Bob painted for 40
	// 60 contract-net with Ada: rejected: the proposal was not taken (rejected)
	// true true
}

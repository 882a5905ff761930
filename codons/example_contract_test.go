package codons_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// painter is an agent that paints walls for a price per square metre.
type painter struct {
	poet
	rate float64
}

func (a painter) ConsiderCall(_ context.Context, c codons.Called) (codons.Proposal, error) {
	wall, err := p.Decode[struct{ Metres float64 }](c.Task.Parameters)
	switch {
	case err != nil:
		return codons.Proposal{}, err // NOT_UNDERSTOOD, with the reason
	case wall.Metres > 50:
		return codons.Proposal{}, &p.Refusal{Code: p.CodeIncapable, Text: "my ladder is too short"} // REFUSE
	}
	return codons.Proposal{Cost: a.rate * wall.Metres}, nil
}

func (a painter) PerformAward(_ context.Context, w codons.Awarded) (p.InformResult, error) {
	return p.InformResult{Status: p.StatusSuccess, Summary: fmt.Sprintf("painted for %v", w.Proposal.Cost)}, nil
}

func ExampleCallForProposals() {
	ctx := context.Background()
	system, err := actors.NewSystem(actors.Options{Protocols: codons.Protocols(codons.Times{})})
	if err != nil {
		panic(err)
	}
	defer func() { _ = system.Stop(ctx) }()
	spawn(ctx, system, "Ada", painter{rate: 3})
	spawn(ctx, system, "Bob", painter{rate: 2})
	eliza := spawn(ctx, system, "Eliza", poet{})

	paint := func(metres float64) codons.Call {
		return codons.Call{Task: p.TaskRequest{TaskType: "paint", Parameters: p.ContentOf(map[string]any{"metres": metres})}}
	}
	all, _ := codons.CallForProposals(ctx, eliza, []p.AgentID{"Ada", "Bob"}, paint(20))
	fmt.Println(all.Awards[0].Bidder, all.Awards[0].Result.Summary)
	fmt.Println(all.Lost[0].Proposal.Cost, all.Lost[0].Err)

	_, err = codons.CallForProposals(ctx, eliza, []p.AgentID{"Ada", "Bob"}, paint(80))
	fmt.Println(errors.Is(err, codons.ErrNoAward), errors.Is(err, p.CodeIncapable))
	// Output:
	// Bob painted for 40
	// 60 contract-net with Ada: rejected: the proposal was not taken (rejected)
	// true true
}

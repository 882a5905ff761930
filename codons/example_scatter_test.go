package codons_test

import (
	"context"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// estimator is an agent with an opinion.
type estimator struct {
	poet
	says int
}

func (estimator) ConsiderTask(context.Context, codons.Task) codons.Decision { return codons.Accept() }

func (e estimator) PerformTask(context.Context, codons.Task) (p.InformResult, error) {
	return p.InformResult{Status: p.StatusSuccess, Details: p.ContentOf(Sum{e.says})}, nil
}

func ExampleScatter() {
	ctx := context.Background()
	system, err := actors.NewSystem(actors.Options{Protocols: codons.Protocols(codons.Times{})})
	if err != nil {
		panic(err)
	}
	defer func() { _ = system.Stop(ctx) }()
	spawn(ctx, system, "Ann", estimator{says: 30})
	spawn(ctx, system, "Ben", estimator{says: 20})
	eliza := spawn(ctx, system, "Eliza", poet{})

	cheapest := codons.BestOf(func(a codons.Answer) float64 {
		sum, _ := p.Decode[Sum](a.Result.Details)
		return float64(-sum.Sum)
	})
	got, err := codons.Scatter(ctx, eliza, []p.AgentID{"Ann", "Ben", "Gone"}, p.TaskRequest{TaskType: "estimate"}, cheapest)
	fmt.Println(got.Answers[got.Best].Agent, err)
	fmt.Println(got.Answers[2].Err)
	// Output:
	// Ben <nil>
	// task-delegation with Gone: rejected: there is no agent "Gone" (agent_not_found)
}

package scatter_test

import (
	"context"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/scatter"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// estimate is the answer of an estimator.
type estimate struct {
	Cost int `json:"cost"`
}

// estimator is an agent that estimates what a task costs.
type estimator struct{ cost int }

func (estimator) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (estimator) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	return delegation.Accept()
}

func (e estimator) PerformTask(context.Context, delegation.Task) (performatives.InformResult, error) {
	return performatives.InformResult{Status: performatives.StatusSuccess, Details: performatives.ContentOf(estimate{e.cost})}, nil
}

func ExampleScatter() {
	ctx := context.Background()
	node, err := runtime.New(runtime.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = node.Stop(ctx) }()
	if err := node.Spawn(ctx, "Ann", func() actors.Agent { return estimator{cost: 30} }); err != nil {
		panic(err)
	}
	if err := node.Spawn(ctx, "Ben", func() actors.Agent { return estimator{cost: 20} }); err != nil {
		panic(err)
	}

	cheapest := scatter.BestOf(func(a scatter.Answer) float64 {
		e, _ := performatives.Decode[estimate](a.Result.Details)
		return float64(-e.Cost)
	})
	got, err := scatter.Scatter(ctx, node, []performatives.AgentID{"Ann", "Ben", "Gone"}, performatives.TaskRequest{TaskType: "estimate"}, cheapest)
	fmt.Println(got.Answers[got.Best].Agent, err)
	fmt.Println(got.Answers[2].Err)
	// Output:
	// Ben <nil>
	// task-delegation with Gone: rejected: there is no agent "Gone" (agent_not_found)
}

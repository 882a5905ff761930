package codons_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// writer is an agent that pays for a model, and has a reviewer read the text.
type writer struct{}

func (writer) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (writer) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	return delegation.Accept()
}

func (writer) PerformTask(ctx context.Context, t delegation.Task) (performatives.InformResult, error) {
	if err := codons.Spend(ctx, codons.Budget{codons.Tokens: 700}); err != nil {
		return performatives.InformResult{}, err
	}
	// The review is a child of this conversation: it ends with it, by its deadline,
	// and out of its budget.
	_, err := delegation.Delegate(ctx, t.Agent, "Reviewer", performatives.TaskRequest{TaskType: "review"},
		codons.WithBudget(codons.Budget{codons.Tokens: 200}))
	return performatives.InformResult{Status: performatives.StatusSuccess}, err
}

// reviewer is an agent that reads.
type reviewer struct{}

func (reviewer) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (reviewer) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	return delegation.Accept()
}

func (reviewer) PerformTask(ctx context.Context, _ delegation.Task) (performatives.InformResult, error) {
	return performatives.InformResult{Status: performatives.StatusSuccess}, codons.Spend(ctx, codons.Budget{codons.Tokens: 150})
}

func ExampleWithBudget() {
	ctx := context.Background()
	node, err := runtime.New(runtime.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = node.Stop(ctx) }()
	if err := node.Spawn(ctx, "Writer", func() actors.Agent { return writer{} }); err != nil {
		panic(err)
	}
	if err := node.Spawn(ctx, "Reviewer", func() actors.Agent { return reviewer{} }); err != nil {
		panic(err)
	}

	for _, tokens := range []int64{1000, 800} {
		d, err := delegation.Start(ctx, node, "Writer", performatives.TaskRequest{TaskType: "write"},
			codons.WithBudget(codons.Budget{codons.Tokens: tokens}))
		if err != nil {
			panic(err)
		}
		_, err = d.Wait()
		fmt.Println(d.Spent(), errors.Is(err, performatives.CodeBudget), err)
	}
	// Output:
	// calls 1, tokens 850 false <nil>
	// tokens 700 true task-delegation with Writer: failed: tokens: 200 wanted, 100 left (budget_exceeded)
}

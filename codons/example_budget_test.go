package codons_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// writer is an agent that pays for a model, and has a reviewer read what it wrote.
type writer struct{ poet }

func (writer) ConsiderTask(context.Context, codons.Task) codons.Decision { return codons.Accept() }

func (writer) PerformTask(ctx context.Context, t codons.Task) (p.InformResult, error) {
	if err := codons.Spend(ctx, codons.Budget{codons.Tokens: 700}); err != nil {
		return p.InformResult{}, err
	}
	// The review is a child of this conversation: it ends with it, by its deadline,
	// and out of its budget.
	_, err := codons.Delegate(ctx, t.Agent, "Reviewer", p.TaskRequest{TaskType: "review"},
		codons.WithBudget(codons.Budget{codons.Tokens: 200}))
	return p.InformResult{Status: p.StatusSuccess}, err
}

// reviewer is an agent that reads.
type reviewer struct{ writer }

func (reviewer) PerformTask(ctx context.Context, _ codons.Task) (p.InformResult, error) {
	return p.InformResult{Status: p.StatusSuccess}, codons.Spend(ctx, codons.Budget{codons.Tokens: 150})
}

func ExampleWithBudget() {
	ctx := context.Background()
	system, err := actors.NewSystem(actors.Options{Protocols: codons.Protocols(codons.Times{})})
	if err != nil {
		panic(err)
	}
	defer func() { _ = system.Stop(ctx) }()
	spawn(ctx, system, "Writer", writer{})
	spawn(ctx, system, "Reviewer", reviewer{})
	eliza := spawn(ctx, system, "Eliza", poet{})

	for _, tokens := range []int64{1000, 800} {
		d, err := codons.StartDelegation(ctx, eliza, "Writer", p.TaskRequest{TaskType: "write"},
			codons.WithBudget(codons.Budget{codons.Tokens: tokens}))
		if err != nil {
			panic(err)
		}
		_, err = d.Wait()
		fmt.Println(d.Spent(), errors.Is(err, p.CodeBudget), err)
	}
	// Output:
	// calls 1, tokens 850 false <nil>
	// tokens 700 true task-delegation with Writer: failed: tokens: 200 wanted, 100 left (budget_exceeded)
}

package codons_test

import (
	"context"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// releaser is an agent that asks before it releases.
type releaser struct{ debugger }

func (releaser) PerformTask(ctx context.Context, t codons.Task) (p.InformResult, error) {
	answer, err := t.NeedInput(ctx, "which branch?")
	if err != nil {
		return p.InformResult{}, err
	}
	return p.InformResult{Status: p.StatusSuccess, Summary: "released " + answer.Description}, nil
}

// captain is an agent that knows.
type captain struct{ poet }

func (captain) HandleRequest(_ context.Context, r codons.Requested) (any, error) {
	needed, err := p.PayloadAs[codons.InputNeeded](r.Message)
	if err != nil {
		return nil, err
	}
	fmt.Println(needed.Worker, "asks", needed.Question)
	return codons.InputGiven{Text: "main"}, nil
}

func ExampleTask_NeedInput() {
	ctx := context.Background()
	system, err := actors.NewSystem(actors.Options{Protocols: codons.Protocols(codons.Times{})})
	if err != nil {
		panic(err)
	}
	defer func() { _ = system.Stop(ctx) }()
	spawn(ctx, system, "Jules", releaser{})
	spawn(ctx, system, "Captain", captain{})
	eliza := spawn(ctx, system, "Eliza", poet{})

	result, err := codons.Delegate(ctx, eliza, "Jules", p.TaskRequest{TaskType: "debug_code"}, codons.WithInputFrom("Captain"))
	fmt.Println(result.Summary, err)
	// Output:
	// Jules asks which branch?
	// released main <nil>
}

package delegation_test

import (
	"context"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/request"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// releaser is an agent that asks for the branch before it releases.
type releaser struct{}

func (releaser) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (releaser) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	return delegation.Accept()
}

func (releaser) PerformTask(ctx context.Context, t delegation.Task) (performatives.InformResult, error) {
	answer, err := t.NeedInput(ctx, "which branch?")
	if err != nil {
		return performatives.InformResult{}, err
	}
	return performatives.InformResult{Status: performatives.StatusSuccess, Summary: "released " + answer.Description}, nil
}

// captain is an agent that knows the branch.
type captain struct{}

func (captain) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (captain) HandleRequest(_ context.Context, r request.Requested) (any, error) {
	needed, err := performatives.PayloadAs[delegation.InputNeeded](r.Message)
	if err != nil {
		return nil, err
	}
	fmt.Println(needed.Worker, "asks", needed.Question)
	return delegation.InputGiven{Text: "main"}, nil
}

func ExampleTask_NeedInput() {
	ctx := context.Background()
	node, err := runtime.New(runtime.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = node.Stop(ctx) }()
	if err := node.Spawn(ctx, "Jules", func() actors.Agent { return releaser{} }); err != nil {
		panic(err)
	}
	if err := node.Spawn(ctx, "Captain", func() actors.Agent { return captain{} }); err != nil {
		panic(err)
	}

	result, err := delegation.Delegate(ctx, node, "Jules", performatives.TaskRequest{TaskType: "release"},
		delegation.WithInputFrom("Captain"))
	fmt.Println(result.Summary, err)
	// Output:
	// Jules asks which branch?
	// released main <nil>
}

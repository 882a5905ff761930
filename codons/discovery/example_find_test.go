package discovery_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/discovery"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// debugger is an agent that debugs Python, unless it is busy.
type debugger struct{ busy bool }

func (debugger) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{"Debugging", "Python"}}
}

func (d debugger) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	if d.busy {
		return delegation.Reject(performatives.CodeBusy, "after lunch")
	}
	return delegation.Accept()
}

func (debugger) PerformTask(_ context.Context, t delegation.Task) (performatives.InformResult, error) {
	return performatives.InformResult{Status: performatives.StatusSuccess, Summary: "fixed: " + t.Description}, nil
}

func ExampleFindAndDelegate() {
	ctx := context.Background()
	node, err := runtime.New(runtime.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = node.Stop(ctx) }()
	if err := node.Spawn(ctx, "Tim", func() actors.Agent { return debugger{busy: true} }); err != nil {
		panic(err)
	}
	if err := node.Spawn(ctx, "Jules", func() actors.Agent { return debugger{} }); err != nil {
		panic(err)
	}

	found, err := discovery.FindAndDelegate(ctx, node,
		discovery.Search{Among: discovery.Agents{"Tim", "Jules"}, Need: []string{"debugging"}},
		performatives.TaskRequest{TaskType: "debug_code", Description: "an IndexError"})
	fmt.Println(found.Agent, found.Result.Summary, err)
	for _, a := range found.Earlier {
		fmt.Println(a.Agent, errors.Is(a.Err, performatives.CodeBusy))
	}
	// Output:
	// Jules fixed: an IndexError <nil>
	// Tim true
}

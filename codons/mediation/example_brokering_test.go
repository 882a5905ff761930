package mediation_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/mediation"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// debugger is an agent that debugs.
type debugger struct{}

func (debugger) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{"Debugging"}}
}

func (debugger) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	return delegation.Accept()
}

func (debugger) PerformTask(_ context.Context, t delegation.Task) (performatives.InformResult, error) {
	return performatives.InformResult{Status: performatives.StatusSuccess, Summary: "fixed: " + t.Description}, nil
}

func ExampleAskThrough() {
	ctx := context.Background()
	node, err := runtime.New(runtime.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = node.Stop(ctx) }()
	broker := &mediation.Broker{Agents: func(context.Context) ([]performatives.AgentID, error) {
		return node.Directory().IDs(), nil
	}}
	if err := node.Spawn(ctx, "Jules", func() actors.Agent { return debugger{} }); err != nil {
		panic(err)
	}
	if err := node.Spawn(ctx, "Broker", func() actors.Agent { return broker }); err != nil {
		panic(err)
	}

	replies, err := mediation.AskThrough(ctx, node, "Broker", mediation.Proxy{
		Capabilities: []string{"debugging"},
		Task:         performatives.TaskRequest{TaskType: "debug_code", Description: "an IndexError"},
	})
	for _, r := range replies {
		result, err := r.Result()
		fmt.Println(r.Agent, result.Summary, err)
	}
	fmt.Println(err)

	_, err = mediation.AskThrough(ctx, node, "Broker", mediation.Proxy{
		Capabilities: []string{"welding"},
		Task:         performatives.TaskRequest{TaskType: "weld"},
	})
	fmt.Println(errors.Is(err, performatives.CodeNoMatch), err)
	// Output:
	// Jules fixed: an IndexError <nil>
	// <nil>
	// true brokering with Broker: failed: no agent was found for this (no_match)
}

package delegation_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// debugger is an agent that debugs Python.
type debugger struct{}

func (debugger) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{"Debugging", "Python"}}
}

func (debugger) ConsiderTask(_ context.Context, t delegation.Task) delegation.Decision {
	if t.TaskType != "debug_code" {
		return delegation.Reject(performatives.CodeIncapable, "I only debug")
	}
	return delegation.Accept()
}

func (debugger) PerformTask(_ context.Context, t delegation.Task) (performatives.InformResult, error) {
	if err := t.Progress(50, "reading the traceback"); err != nil {
		return performatives.InformResult{}, err
	}
	return performatives.InformResult{Status: performatives.StatusSuccess, Summary: "fixed: " + t.Description}, nil
}

func ExampleDelegate() {
	ctx := context.Background()
	node, err := runtime.New(runtime.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = node.Stop(ctx) }()
	if err := node.Spawn(ctx, "Jules", func() actors.Agent { return debugger{} }); err != nil {
		panic(err)
	}

	result, err := delegation.Delegate(ctx, node, "Jules",
		performatives.TaskRequest{TaskType: "debug_code", Description: "an IndexError"},
		delegation.WithProgress(func(u performatives.StatusUpdate) { fmt.Println(*u.Progress, "%:", u.Description) }))
	fmt.Println(result.Status, result.Summary, err)

	_, err = delegation.Delegate(ctx, node, "Jules", performatives.TaskRequest{TaskType: "write_poem"})
	fmt.Println(errors.Is(err, performatives.CodeIncapable), err)
	// Output:
	// 50 %: reading the traceback
	// success fixed: an IndexError <nil>
	// true task-delegation with Jules: rejected: I only debug (incapable)
}

package saga_test

import (
	"context"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/saga"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// agency is an agent that books, and cancels, one kind of thing.
type agency struct{ full bool }

func (agency) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (a agency) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	if a.full {
		return delegation.Reject(performatives.CodeBusy, "nothing left")
	}
	return delegation.Accept()
}

func (agency) PerformTask(_ context.Context, t delegation.Task) (performatives.InformResult, error) {
	fmt.Println(t.Agent.ID(), t.TaskType)
	return performatives.InformResult{Status: performatives.StatusSuccess}, nil
}

func ExampleSaga() {
	ctx := context.Background()
	node, err := runtime.New(runtime.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = node.Stop(ctx) }()
	if err := node.Spawn(ctx, "Hotel", func() actors.Agent { return agency{} }); err != nil {
		panic(err)
	}
	if err := node.Spawn(ctx, "Car", func() actors.Agent { return agency{} }); err != nil {
		panic(err)
	}
	if err := node.Spawn(ctx, "Flight", func() actors.Agent { return agency{full: true} }); err != nil {
		panic(err)
	}

	book := func(at performatives.AgentID) saga.Step {
		ask := func(ctx context.Context, what string) (any, error) {
			return delegation.Delegate(ctx, node, at, performatives.TaskRequest{TaskType: what})
		}
		return saga.Step{
			Name: string(at),
			Do:   func(ctx context.Context, _ map[string]any) (any, error) { return ask(ctx, "book") },
			Undo: func(ctx context.Context, _ any) error { _, err := ask(ctx, "cancel"); return err },
		}
	}
	_, err = saga.Saga{Steps: []saga.Step{book("Hotel"), book("Car"), book("Flight")}}.Run(ctx, node)
	fmt.Println(err)
	// Output:
	// Hotel book
	// Car book
	// Car cancel
	// Hotel cancel
	// saga: step Flight: task-delegation with Flight: rejected: nothing left (busy); undone: Car, Hotel
}

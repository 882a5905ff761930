package codons_test

import (
	"context"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// agency is an agent that books, and cancels, one kind of thing.
type agency struct {
	poet
	full bool
}

func (a agency) ConsiderTask(context.Context, codons.Task) codons.Decision {
	if a.full {
		return codons.Reject(p.CodeBusy, "nothing left")
	}
	return codons.Accept()
}

func (agency) PerformTask(_ context.Context, t codons.Task) (p.InformResult, error) {
	fmt.Println(t.Agent.ID(), t.TaskType)
	return p.InformResult{Status: p.StatusSuccess}, nil
}

func ExampleSaga() {
	ctx := context.Background()
	system, err := actors.NewSystem(actors.Options{Protocols: codons.Protocols(codons.Times{})})
	if err != nil {
		panic(err)
	}
	defer func() { _ = system.Stop(ctx) }()
	spawn(ctx, system, "Hotel", agency{})
	spawn(ctx, system, "Car", agency{})
	spawn(ctx, system, "Flight", agency{full: true})
	eliza := spawn(ctx, system, "Eliza", poet{})

	book := func(at p.AgentID) codons.SagaStep {
		have := func(ctx context.Context, what string) (any, error) {
			return codons.Delegate(ctx, eliza, at, p.TaskRequest{TaskType: what})
		}
		return codons.SagaStep{
			Name: string(at),
			Do:   func(ctx context.Context, _ map[string]any) (any, error) { return have(ctx, "book") },
			Undo: func(ctx context.Context, _ any) error { _, err := have(ctx, "cancel"); return err },
		}
	}
	_, err = codons.Saga{Steps: []codons.SagaStep{book("Hotel"), book("Car"), book("Flight")}}.Run(ctx, eliza)
	fmt.Println(err)
	// Output:
	// Hotel book
	// Car book
	// Car cancel
	// Hotel cancel
	// codons: saga: step Flight: task-delegation with Flight: rejected: nothing left (busy); undone: Car, Hotel
}

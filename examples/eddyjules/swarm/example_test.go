package swarm_test

import (
	"context"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// Rubber is an agent that asks the user to explain the problem.
type Rubber struct{ swarm.Eliza }

func (Rubber) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{"Python", "Debugging"}}
}

func (Rubber) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	return delegation.Accept()
}

func (Rubber) PerformTask(_ context.Context, t delegation.Task) (performatives.InformResult, error) {
	return performatives.InformResult{Status: performatives.StatusSuccess, Summary: "Say it aloud: " + t.Description}, nil
}

// A node hosts the swarm with another agent in the place of Jules. Eddy finds that agent
// by its topics.
func ExampleNew() {
	ctx := context.Background()
	node, err := runtime.New(runtime.Options{Name: "n1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = node.Stop(ctx) }()

	known := runtime.Swarms{swarm.New(swarm.Options{
		Replace: map[performatives.AgentID]func() actors.Agent{
			swarm.JulesID: func() actors.Agent { return Rubber{} },
		},
	})}
	if err := known.Host(ctx, node, swarm.Name); err != nil {
		fmt.Println(err)
		return
	}
	result, err := node.Delegate(ctx, swarm.EddyID, performatives.TaskRequest{
		TaskType:    swarm.TaskDebugCode,
		Description: "the list is empty when I index it",
		Parameters:  performatives.ContentOf(swarm.Problem{Code: "print([][0])"}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s: %s\n", result.Status, result.Summary)
	// Output: success: Say it aloud: the list is empty when I index it
}

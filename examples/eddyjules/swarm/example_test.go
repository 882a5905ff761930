package swarm_test

import (
	"context"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// Rubber debugs by having the problem explained to it.
type Rubber struct{ swarm.Eliza }

func (Rubber) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{"Python", "Debugging"}}
}

func (Rubber) ConsiderTask(context.Context, codons.Task) codons.Decision { return codons.Accept() }

func (Rubber) PerformTask(_ context.Context, t codons.Task) (performatives.InformResult, error) {
	return performatives.InformResult{Status: performatives.StatusSuccess, Summary: "Say it aloud: " + t.Description}, nil
}

// The swarm runs on a node of yours, and an agent of yours takes Jules's place.
// Eddy finds it by what it says that it can do.
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

// Package delegation_test is the second program of docs/tutorial.md.
package delegation_test

// readme:start
import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/discovery"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// Worker is an agent that accepts every task.
type Worker struct{ topic string }

func (w Worker) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{w.topic}}
}

func (Worker) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	return delegation.Accept()
}

// Counter is a Worker that counts words.
type Counter struct{ Worker }

func (Counter) PerformTask(_ context.Context, t delegation.Task) (performatives.InformResult, error) {
	n := len(strings.Fields(t.Description))
	return performatives.InformResult{Status: performatives.StatusSuccess, Summary: fmt.Sprint(n, " words")}, nil
}

// Editor is a Worker that has a text counted by another agent.
type Editor struct {
	Worker
	agents discovery.Directory
}

func (e Editor) PerformTask(ctx context.Context, t delegation.Task) (performatives.InformResult, error) {
	if err := t.Progress(10, "looking for an agent that counts"); err != nil {
		return performatives.InformResult{}, err
	}
	found, err := discovery.FindAndDelegate(ctx, t.Agent, discovery.Search{Among: e.agents, Need: []string{"counting"}},
		performatives.TaskRequest{TaskType: "count_words", Description: t.Description})
	if err != nil {
		return performatives.InformResult{}, err
	}
	summary := fmt.Sprintf("%s says: %s", found.Agent, found.Result.Summary)
	return performatives.InformResult{Status: performatives.StatusSuccess, Summary: summary}, nil
}

func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	node, err := runtime.New(runtime.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = node.Stop(ctx) }()
	for id, agent := range map[performatives.AgentID]actors.Agent{
		"Counter": Counter{Worker{"counting"}},
		"Editor":  Editor{Worker{"editing"}, discovery.Agents{"Counter"}},
	} {
		if err := node.Spawn(ctx, id, func() actors.Agent { return agent }); err != nil {
			panic(err)
		}
	}

	result, err := node.Delegate(ctx, "Editor", performatives.TaskRequest{TaskType: "edit", Description: "one two three"},
		delegation.WithProgress(func(u performatives.StatusUpdate) { fmt.Println(u.Description) }),
		codons.WithBudget(codons.Budget{codons.Calls: 5}))
	fmt.Println(result.Summary, err)
	// Output:
	// looking for an agent that counts
	// Counter says: 3 words <nil>
}

// readme:end

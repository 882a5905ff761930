// Package agent_test is the first program of docs/tutorial.md.
package agent_test

// readme:start
import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// Counter is an agent that counts the words of a text.
type Counter struct{}

// Describe returns the capabilities that discovery shows to other agents.
func (Counter) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{"counting"}}
}

// ConsiderTask accepts or rejects a task. It runs on the agent's own actor and must not block.
func (Counter) ConsiderTask(_ context.Context, t delegation.Task) delegation.Decision {
	if t.TaskType != "count_words" {
		return delegation.Reject(performatives.CodeIncapable, "I only count words")
	}
	return delegation.Accept()
}

// PerformTask performs an accepted task. It runs in a goroutine of its own and may take long.
func (Counter) PerformTask(_ context.Context, t delegation.Task) (performatives.InformResult, error) {
	n := len(strings.Fields(t.Description))
	return performatives.InformResult{Status: performatives.StatusSuccess, Summary: fmt.Sprint(n, " words")}, nil
}

func Example() {
	ctx := context.Background()
	node, err := runtime.New(runtime.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = node.Stop(ctx) }()
	if err := node.Spawn(ctx, "Counter", func() actors.Agent { return Counter{} }); err != nil {
		panic(err)
	}

	result, err := node.Delegate(ctx, "Counter", performatives.TaskRequest{
		TaskType: "count_words", Description: "an agent is a Go type",
	})
	fmt.Println(result.Summary, err)

	_, err = node.Delegate(ctx, "Counter", performatives.TaskRequest{TaskType: "write_poem"})
	fmt.Println(errors.Is(err, performatives.CodeIncapable), err)
	// Output:
	// 6 words <nil>
	// true task-delegation with Counter: rejected: I only count words (incapable)
}

// readme:end

// Command hello runs a node with one agent and delegates a task to it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// readme:start

// Hello is an agent that performs tasks: it greets people.
type Hello struct{}

// Describe returns the capabilities for discovery.
func (Hello) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{"greeting"}}
}

// ConsiderTask accepts or rejects a task. It runs on the agent's own actor.
func (Hello) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	return delegation.Accept()
}

// PerformTask performs an accepted task, in a goroutine of the conversation.
func (Hello) PerformTask(_ context.Context, t delegation.Task) (performatives.InformResult, error) {
	return performatives.InformResult{Status: performatives.StatusSuccess, Summary: "Hello, " + t.Description + "!"}, nil
}

func run(ctx context.Context, w io.Writer) (err error) {
	node, err := runtime.New(runtime.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, node.Stop(ctx)) }()
	if err := node.Spawn(ctx, "Hello", func() actors.Agent { return Hello{} }); err != nil {
		return err
	}
	result, err := node.Delegate(ctx, "hello", performatives.TaskRequest{TaskType: "greet", Description: "world"})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, result.Summary)
	return err
}

// readme:end

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "hello:", err)
		os.Exit(1)
	}
}

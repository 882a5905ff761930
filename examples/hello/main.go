// Command hello runs one agent and asks it to do something.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// readme:start

// Greeter is an agent that performs tasks: it greets people.
type Greeter struct{}

// Describe is what discovery sees.
func (Greeter) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{"greeting"}}
}

// ConsiderTask runs on the agent's own actor, before the task is taken on.
func (Greeter) ConsiderTask(context.Context, codons.Task) codons.Decision { return codons.Accept() }

// PerformTask does the work, in the conversation's own goroutine.
func (Greeter) PerformTask(_ context.Context, t codons.Task) (performatives.InformResult, error) {
	return performatives.InformResult{Status: performatives.StatusSuccess, Summary: "Hello, " + t.Description + "!"}, nil
}

func hello(ctx context.Context, w io.Writer) (err error) {
	node, err := runtime.New(runtime.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, node.Stop(ctx)) }()
	if err := node.Spawn(ctx, "Greeter", func() actors.Agent { return Greeter{} }); err != nil {
		return err
	}
	result, err := node.Delegate(ctx, "greeter", performatives.TaskRequest{TaskType: "greet", Description: "world"})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, result.Summary)
	return err
}

// readme:end

func main() {
	if err := hello(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "hello:", err)
		os.Exit(1)
	}
}

// Package middleware_test is the program of docs/middleware.md.
package middleware_test

// readme:start

import (
	"context"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// Clerk is an agent that replies to each request with its own name.
type Clerk struct{ name string }

// Describe returns no capabilities: nobody looks for the clerk.
func (Clerk) Describe() performatives.Capabilities { return performatives.Capabilities{} }

// Receive replies to a task.
func (c Clerk) Receive(ctx *actors.Context, m *performatives.Message) {
	if task, err := performatives.PayloadAs[performatives.TaskRequest](m); err == nil {
		_ = ctx.Reply(m, performatives.InformResult{Status: performatives.StatusSuccess, Summary: c.name + " does " + task.TaskType})
	}
}

// forbidDeletes refuses one type of task.
func forbidDeletes(_ context.Context, m *performatives.Message) (*performatives.Message, error) {
	if task, err := performatives.PayloadAs[performatives.TaskRequest](m); err == nil && task.TaskType == "delete" {
		return nil, &performatives.Refusal{Code: performatives.CodeForbidden, Text: "nothing is deleted today"}
	}
	return m, nil
}

// toClerk gives what is for the desk to a clerk.
func toClerk(_ context.Context, m *performatives.Message) (*performatives.Message, error) {
	if !m.Receiver().Is("desk") {
		return m, nil
	}
	return m.With(func(e *performatives.Envelope) { e.Receiver = "Ann" })
}

func Example() {
	ctx := context.Background()
	node, err := runtime.New(runtime.Options{Middleware: []runtime.Middleware{
		{Name: "no deletes", Handle: forbidDeletes},
		{Name: "desk", Handle: toClerk},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = node.Stop(ctx) }()
	if err := node.Spawn(ctx, "Ann", func() actors.Agent { return Clerk{"Ann"} }); err != nil {
		fmt.Println(err)
		return
	}
	for _, task := range []string{"copy", "delete"} {
		answer, err := node.Ask(ctx, "desk", performatives.TaskRequest{TaskType: task})
		if err != nil {
			fmt.Println(err)
			continue
		}
		result, err := performatives.PayloadAs[performatives.InformResult](answer)
		fmt.Println(answer.Sender(), "says:", result.Summary, err)
	}
	// Output:
	// desk says: Ann does copy <nil>
	// nothing is deleted today (forbidden)
}

// readme:end

package runtime_test

import (
	"context"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// librarian answers what it is asked, message by message.
type librarian struct{}

func (librarian) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{"books"}}
}

func (librarian) Receive(c *actors.Context, m *performatives.Message) {
	q, err := performatives.PayloadAs[performatives.TaskRequest](m)
	if err != nil {
		return
	}
	_ = c.Reply(m, performatives.InformResult{Status: performatives.StatusSuccess, Summary: "on " + q.Description})
}

func ExampleNew() {
	ctx := context.Background()
	node, err := runtime.New(runtime.Options{Name: "n1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = node.Stop(ctx) }()
	if err := node.Spawn(ctx, "Librarian", func() actors.Agent { return librarian{} }); err != nil {
		fmt.Println(err)
		return
	}
	answer, err := node.Ask(ctx, "librarian", performatives.TaskRequest{TaskType: "find", Description: "shelf 3"})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := performatives.PayloadAs[performatives.InformResult](answer)
	fmt.Println(answer.Sender(), "says:", result.Summary, err)

	_, err = node.Ask(ctx, "nobody", performatives.TaskRequest{TaskType: "find", Description: "it"})
	fmt.Println(err)
	// Output:
	// Librarian says: on shelf 3 <nil>
	// there is no agent "nobody" (agent_not_found)
}

func ExampleNode_Events() {
	ctx := context.Background()
	node, err := runtime.New(runtime.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = node.Stop(ctx) }()
	refused := actors.Subscribe[actors.MessageRefused](node.Events(), 16)
	defer refused.Stop()

	_, _ = node.Ask(ctx, "nobody", performatives.TaskRequest{TaskType: "find", Description: "it"})
	e := <-refused.C
	fmt.Println(e.Message.Performative(), "to", e.Message.Receiver(), "refused:", e.Refusal.Code)
	// Output: TASK_REQUEST to nobody refused: agent_not_found
}

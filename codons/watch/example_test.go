package watch_test

import (
	"context"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/watch"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// hasty is an agent that answers each message at once and skips the acceptance.
type hasty struct{}

func (hasty) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (hasty) Receive(c *actors.Context, m *performatives.Message) {
	_ = c.Reply(m, performatives.InformResult{Status: performatives.StatusSuccess, Summary: "done already"})
}

func ExampleNew() {
	ctx := context.Background()
	node, err := runtime.New(runtime.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = node.Stop(ctx) }()
	if err := node.Spawn(ctx, "Hasty", func() actors.Agent { return hasty{} }); err != nil {
		panic(err)
	}

	w, err := watch.New(node.Events(), watch.Options{Codons: []*codons.Codon{delegation.Codon}})
	if err != nil {
		panic(err)
	}
	violations := node.Events().Subscribe(events.SubscribeOptions{Kinds: []events.Kind{lifecycle.KindViolation}})
	defer violations.Close()

	result, err := delegation.Delegate(ctx, node, "Hasty", performatives.TaskRequest{TaskType: "write_poem"})
	fmt.Println(result.Summary, err) // the initiator's table accepts it
	if err := w.Stop(ctx); err != nil {
		panic(err)
	}
	v, err := events.Next[lifecycle.Violation](ctx, violations)
	if err != nil {
		panic(err)
	}
	fmt.Println(v.Sender, "to", v.Receiver)
	fmt.Println(v)
	fmt.Println(w.Counts().Messages, "messages,", w.Counts().Violations, "violation")
	// Output:
	// done already <nil>
	// Hasty to node
	// machine: task-delegation: responder: INFORM_RESULT is not legal here, expected FAILURE, NOT_UNDERSTOOD, TASK_ACCEPT, TASK_REJECT
	// 2 messages, 1 violation
}

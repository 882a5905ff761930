package approval_test

import (
	"context"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/approval"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// clerk is an approver on holiday.
type clerk struct{}

func (clerk) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (clerk) DecideStep(context.Context, approval.ProposedStep) (approval.Verdict, error) {
	return approval.Verdict{}, &performatives.Refusal{Code: performatives.CodeBusy, Text: "back on Monday"}
}

func ExampleApprove() {
	ctx := context.Background()
	node, err := runtime.New(runtime.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = node.Stop(ctx) }()
	manager := &approval.Queue{} // holds the steps until a person decides
	if err := node.Spawn(ctx, "Clerk", func() actors.Agent { return clerk{} }); err != nil {
		panic(err)
	}
	if err := node.Spawn(ctx, "Manager", func() actors.Agent { return manager }); err != nil {
		panic(err)
	}

	go func() { // the terminal or the web page of that person
		step, err := manager.Next(ctx, 0)
		fmt.Println(step.From, "wants to:", step.Step.What, err)
		_ = manager.Deny(step.ID, "the auditors need it")
	}()
	decision, err := approval.Approve(ctx, node, "Clerk", approval.Step{What: "delete the archive"},
		approval.WithEscalation("Manager"), approval.WithDefault(false))
	fmt.Println(decision.Approved, decision.By, decision.Reason, err)
	// Output:
	// node wants to: delete the archive <nil>
	// false Manager the auditors need it <nil>
}

package codons_test

import (
	"context"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// away is an approver on holiday.
type away struct{ poet }

func (away) DecideStep(context.Context, codons.ProposedStep) (codons.Verdict, error) {
	return codons.Verdict{}, &p.Refusal{Code: p.CodeBusy, Text: "back on Monday"}
}

func ExampleApprove() {
	ctx := context.Background()
	system, err := actors.NewSystem(actors.Options{Protocols: codons.Protocols(codons.Times{})})
	if err != nil {
		panic(err)
	}
	defer func() { _ = system.Stop(ctx) }()
	manager := &codons.ApprovalQueue{} // a person's: answered by program code
	spawn(ctx, system, "Clerk", away{})
	spawn(ctx, system, "Manager", manager)
	janitor := spawn(ctx, system, "Janitor", poet{})

	go func() { // what a terminal or a web page does
		step, err := manager.Next(ctx, 0)
		fmt.Println(step.From, "wants to:", step.Step.What, err)
		_ = manager.Deny(step.ID, "the auditors need it")
	}()
	decision, err := codons.Approve(ctx, janitor, "Clerk", codons.Step{What: "delete the archive"},
		codons.WithEscalation("Manager"), codons.WithDefault(false))
	fmt.Println(decision.Approved, decision.By, decision.Reason, err)
	// Output:
	// Janitor wants to: delete the archive <nil>
	// false Manager the auditors need it <nil>
}

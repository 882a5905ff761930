package approval_test

import (
	"context"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/approval"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// painting is a plan for a wall.
type painting struct {
	Color string `json:"color"`
}

// landlady is an agent that accepts all colors but black.
type landlady struct{}

func (landlady) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (landlady) ConsiderProposal(_ context.Context, q approval.Proposed) (approval.Verdict, error) {
	wall, err := performatives.PayloadAs[painting](q.Message)
	if wall.Color == "black" {
		return approval.Verdict{Reason: "too dark"}, err
	}
	return approval.Verdict{Accepted: true}, err
}

func ExamplePropose() {
	ctx := context.Background()
	node, err := runtime.New(runtime.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = node.Stop(ctx) }()
	if err := node.Spawn(ctx, "Landlady", func() actors.Agent { return landlady{} }); err != nil {
		panic(err)
	}

	for _, color := range []string{"white", "black"} {
		verdict, err := approval.Propose(ctx, node, "Landlady", painting{Color: color})
		fmt.Println(color, verdict.Accepted, verdict.Reason, err)
	}
	// Output:
	// white true  <nil>
	// black false too dark <nil>
}

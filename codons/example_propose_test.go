package codons_test

import (
	"context"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// Painting is what somebody would do to a wall.
type Painting struct {
	Color string `json:"color"`
}

// landlady is an agent that likes some colors.
type landlady struct{ poet }

func (landlady) ConsiderProposal(_ context.Context, q codons.Proposed) (codons.Verdict, error) {
	wall, err := p.PayloadAs[Painting](q.Message)
	if wall.Color == "black" {
		return codons.Verdict{Reason: "too dark"}, err
	}
	return codons.Verdict{Accepted: true}, err
}

func ExamplePropose() {
	ctx := context.Background()
	system, err := actors.NewSystem(actors.Options{Protocols: codons.Protocols(codons.Times{})})
	if err != nil {
		panic(err)
	}
	defer func() { _ = system.Stop(ctx) }()
	spawn(ctx, system, "Landlady", landlady{})
	tenant := spawn(ctx, system, "Tenant", poet{})

	for _, color := range []string{"white", "black"} {
		verdict, err := codons.Propose(ctx, tenant, "Landlady", Painting{Color: color})
		fmt.Println(color, verdict.Accepted, verdict.Reason, err)
	}
	// Output:
	// white true  <nil>
	// black false too dark <nil>
}

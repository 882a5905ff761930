package codons_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// Terms and Sum are the arguments of a tool, and its result.
type (
	Terms struct {
		A int `json:"a"`
		B int `json:"b" jsonschema:"what is added"`
	}
	Sum struct {
		Sum int `json:"sum"`
	}
)

// calculator is an agent whose skill is its tools.
type calculator struct{ *codons.Tools }

func newCalculator() calculator {
	add, err := codons.NewTool("add", "adds two numbers", func(_ context.Context, in Terms) (Sum, error) {
		return Sum{in.A + in.B}, nil
	})
	if err != nil {
		panic(err)
	}
	tools, err := codons.NewTools(add)
	if err != nil {
		panic(err)
	}
	return calculator{tools}
}

func ExampleCallTool() {
	ctx := context.Background()
	system, err := actors.NewSystem(actors.Options{Protocols: codons.Protocols(codons.Times{})})
	if err != nil {
		panic(err)
	}
	defer func() { _ = system.Stop(ctx) }()
	spawn(ctx, system, "Calc", newCalculator())
	eliza := spawn(ctx, system, "Eliza", poet{})

	sum, err := codons.CallTool[Terms, Sum](ctx, eliza, "Calc", "add", Terms{A: 2, B: 3})
	fmt.Println(sum.Sum, err)

	_, err = codons.CallTool[p.Raw, Sum](ctx, eliza, "Calc", "add", p.Raw(`{"a": 2, "b": "three"}`))
	fmt.Println(errors.Is(err, p.CodeInvalidPayload), err)
	// Output:
	// 5 <nil>
	// true tool-call with Calc: not_understood: task_parameters.b: type: three has type "string", want "integer" (invalid_payload_structure)
}

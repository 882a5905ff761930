package tool_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/tool"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// terms are the arguments of the tool add, and sum its result.
type (
	terms struct {
		A int `json:"a"`
		B int `json:"b" jsonschema:"the number to add to a"`
	}
	sum struct {
		Sum int `json:"sum"`
	}
)

func add(_ context.Context, in terms) (sum, error) { return sum{in.A + in.B}, nil }

// calculator is an agent with a set of tools.
type calculator struct{ *tool.Tools }

func ExampleCall() {
	adder, err := tool.New("add", "adds two numbers", add)
	if err != nil {
		panic(err)
	}
	tools, err := tool.NewSet(adder)
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	node, err := runtime.New(runtime.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = node.Stop(ctx) }()
	if err := node.Spawn(ctx, "Calc", func() actors.Agent { return calculator{tools} }); err != nil {
		panic(err)
	}

	got, err := tool.Call[terms, sum](ctx, node, "Calc", "add", terms{A: 2, B: 3})
	fmt.Println(got.Sum, err)

	_, err = tool.Call[performatives.Raw, sum](ctx, node, "Calc", "add", performatives.Raw(`{"a": 2, "b": "three"}`))
	fmt.Println(errors.Is(err, performatives.CodeInvalidPayload), err)
	// Output:
	// 5 <nil>
	// true tool-call with Calc: not_understood: task_parameters.b: type: three has type "string", want "integer" (invalid_payload_structure)
}

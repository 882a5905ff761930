package discovery_test

import (
	"context"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/discovery"
	"github.com/ribosome-agents/ribosome/codons/request"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// loan is the request that a banker answers.
type loan struct {
	Amount int `json:"amount"`
}

// banker is an agent that refuses requests of agents without a handshake.
type banker struct{}

func (banker) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{"Loans"}}
}

func (banker) RequiresHandshake() bool { return true }

func (banker) ConsiderHandshake(_ context.Context, g discovery.Greeting) error {
	if len(g.Capabilities.Match([]string{"Poetry"})) > 0 {
		return &performatives.Refusal{Code: performatives.CodeForbidden, Text: "no poets"}
	}
	return nil
}

func (banker) HandleRequest(_ context.Context, r request.Requested) (any, error) {
	return performatives.PayloadAs[loan](r.Message)
}

// poet is an agent that the banker does not deal with.
type poet struct{}

func (poet) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{"Poetry"}}
}

func ExampleHandshake() {
	ctx := context.Background()
	node, err := runtime.New(runtime.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = node.Stop(ctx) }()
	if err := node.Spawn(ctx, "Banker", func() actors.Agent { return banker{} }); err != nil {
		panic(err)
	}
	eliza, err := node.System().Spawn(ctx, actors.Spec{ID: "Eliza", New: func() actors.Agent { return poet{} }})
	if err != nil {
		panic(err)
	}

	_, err = request.Request[loan](ctx, node, "Banker", loan{Amount: 100})
	fmt.Println(err)

	theirs, err := discovery.Handshake(ctx, node, "Banker")
	fmt.Println(theirs.Topics, err)

	granted, err := request.Request[loan](ctx, node, "Banker", loan{Amount: 100})
	fmt.Println(granted.Amount, err)

	_, err = discovery.Handshake(ctx, eliza, "Banker")
	fmt.Println(err)
	// Output:
	// request with Banker: refused: shake hands first (handshake_required)
	// [Loans] <nil>
	// 100 <nil>
	// handshake with Banker: refused: no poets (forbidden)
}

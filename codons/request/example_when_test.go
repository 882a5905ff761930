package request_test

import (
	"context"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/request"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// kettle is an agent that whistles when the water is hot enough. heat gets each temperature.
type kettle struct{ heat <-chan int }

func (kettle) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (kettle) ConsiderWhen(_ context.Context, r request.RequestedWhen) error {
	degrees, err := performatives.Decode[int](r.Condition)
	if degrees > 100 {
		return &performatives.Refusal{Code: performatives.CodeIncapable, Text: "water does not get that hot"}
	}
	return err
}

func (k kettle) AwaitCondition(ctx context.Context, r request.RequestedWhen) error {
	want, err := performatives.Decode[int](r.Condition)
	for now := 0; err == nil && now < want; {
		select {
		case now = <-k.heat:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	return err
}

func (kettle) PerformWhen(context.Context, request.RequestedWhen) (any, error) {
	return performatives.Receipt{Text: "whistled"}, nil
}

func ExampleAskWhen() {
	ctx := context.Background()
	node, err := runtime.New(runtime.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = node.Stop(ctx) }()
	heat := make(chan int, 3)
	heat <- 20
	heat <- 60
	heat <- 100
	if err := node.Spawn(ctx, "Kettle", func() actors.Agent { return kettle{heat: heat} }); err != nil {
		panic(err)
	}

	for _, degrees := range []int{96, 300} {
		when := request.When{Condition: performatives.ContentOf(degrees), Action: performatives.ContentOf("whistle")}
		done, err := request.AskWhen[performatives.Receipt](ctx, node, "Kettle", when)
		fmt.Println(done.Text, err)
	}
	// Output:
	// whistled <nil>
	//  request-when with Kettle: refused: water does not get that hot (incapable)
}

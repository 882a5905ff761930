package codons_test

import (
	"context"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// kettle is an agent that says when the water boils. heat gets each temperature.
type kettle struct {
	poet
	heat <-chan int
}

func (kettle) ConsiderWhen(_ context.Context, r codons.RequestedWhen) error {
	degrees, err := p.Decode[int](r.Condition)
	if degrees > 100 {
		return &p.Refusal{Code: p.CodeIncapable, Text: "water does not get that hot"}
	}
	return err
}

func (k kettle) AwaitCondition(ctx context.Context, r codons.RequestedWhen) error {
	want, err := p.Decode[int](r.Condition)
	for now := 0; err == nil && now < want; {
		select {
		case now = <-k.heat:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	return err
}

func (kettle) PerformWhen(context.Context, codons.RequestedWhen) (any, error) {
	return p.Receipt{Text: "whistled"}, nil
}

func ExampleRequestWhen() {
	ctx := context.Background()
	system, err := actors.NewSystem(actors.Options{Protocols: codons.Protocols(codons.Times{})})
	if err != nil {
		panic(err)
	}
	defer func() { _ = system.Stop(ctx) }()
	heat := make(chan int, 3)
	heat <- 20
	heat <- 60
	heat <- 100
	spawn(ctx, system, "Kettle", kettle{heat: heat})
	cook := spawn(ctx, system, "Cook", poet{})

	for _, degrees := range []int{96, 300} {
		when := codons.When{Condition: p.ContentOf(degrees), Action: p.ContentOf("whistle")}
		done, err := codons.RequestWhen[p.Receipt](ctx, cook, "Kettle", when)
		fmt.Println(done.Text, err)
	}
	// Output:
	// whistled <nil>
	//  request-when with Kettle: refused: water does not get that hot (incapable)
}

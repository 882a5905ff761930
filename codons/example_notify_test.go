package codons_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// Weather is what agents are told.
type Weather struct {
	Text string `json:"text"`
}

// gardener is an agent that listens to the weather.
type gardener struct {
	poet
	heard chan string
}

func (g gardener) HandleNotice(_ context.Context, n codons.Notice) {
	w, err := p.PayloadAs[Weather](n.Message)
	if err != nil {
		return // not for a gardener
	}
	g.heard <- fmt.Sprintf("%s says: %s", n.Message.Sender(), w.Text)
}

func ExampleNotify() {
	ctx := context.Background()
	system, err := actors.NewSystem(actors.Options{Protocols: codons.Protocols(codons.Times{})})
	if err != nil {
		panic(err)
	}
	defer func() { _ = system.Stop(ctx) }()
	heard := make(chan string, 1)
	spawn(ctx, system, "Gardener", gardener{heard: heard})
	eliza := spawn(ctx, system, "Eliza", poet{})

	err = codons.Notify(eliza, "Gardener", Weather{"rain tonight"})
	fmt.Println(<-heard, err)

	err = codons.Notify(eliza, "Sailor", Weather{"rain tonight"})
	fmt.Println(errors.Is(err, p.CodeUnknownAgent), err)
	// Output:
	// Eliza says: rain tonight <nil>
	// true there is no agent "Sailor" (agent_not_found)
}

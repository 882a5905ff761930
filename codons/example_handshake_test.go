package codons_test

import (
	"context"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// banker is an agent that talks only to who has introduced itself.
type banker struct{ clerk }

func (banker) Describe() p.Capabilities { return p.Capabilities{Topics: []string{"Loans"}} }

func (banker) RequiresHandshake() bool { return true }

func (banker) ConsiderHandshake(_ context.Context, g codons.Greeting) error {
	if len(g.Capabilities.Match([]string{"Poetry"})) > 0 {
		return &p.Refusal{Code: p.CodeForbidden, Text: "no poets"}
	}
	return nil
}

func ExampleHandshake() {
	ctx := context.Background()
	system, err := actors.NewSystem(actors.Options{Protocols: codons.Protocols(codons.Times{})})
	if err != nil {
		panic(err)
	}
	defer func() { _ = system.Stop(ctx) }()
	spawn(ctx, system, "Banker", banker{})
	broker := spawn(ctx, system, "Broker", banker{})
	eliza := spawn(ctx, system, "Eliza", poet{})

	_, err = codons.Request[Ticket](ctx, broker, "Banker", Booking{To: "Rome", Seats: 1})
	fmt.Println(err)

	theirs, err := codons.Handshake(ctx, broker, "Banker")
	fmt.Println(theirs.Topics, err)

	ticket, err := codons.Request[Ticket](ctx, broker, "Banker", Booking{To: "Rome", Seats: 1})
	fmt.Println(ticket.Number, err)

	_, err = codons.Handshake(ctx, eliza, "Banker")
	fmt.Println(err)
	// Output:
	// request with Banker: refused: shake hands first (handshake_required)
	// [Loans] <nil>
	// Rome-1 <nil>
	// handshake with Banker: refused: no poets (forbidden)
}

package codons_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// Booking and Ticket are what a booking clerk is asked, and answers.
type (
	Booking struct {
		To    string `json:"to"`
		Seats int    `json:"seats"`
	}
	Ticket struct {
		Number string `json:"number"`
	}
)

// clerk is an agent that books seats.
type clerk struct{ poet }

func (clerk) HandleRequest(_ context.Context, r codons.Requested) (any, error) {
	b, err := p.PayloadAs[Booking](r.Message)
	switch {
	case err != nil:
		return nil, err // NOT_UNDERSTOOD, with the reason
	case b.Seats > 4:
		return nil, &p.Refusal{Code: p.CodeForbidden, Text: "at most 4 seats"} // REFUSE
	}
	return Ticket{Number: b.To + "-1"}, nil
}

func ExampleRequest() {
	ctx := context.Background()
	system, err := actors.NewSystem(actors.Options{Protocols: codons.Protocols(codons.Times{})})
	if err != nil {
		panic(err)
	}
	defer func() { _ = system.Stop(ctx) }()
	spawn(ctx, system, "Clerk", clerk{})
	eliza := spawn(ctx, system, "Eliza", poet{})

	ticket, err := codons.Request[Ticket](ctx, eliza, "Clerk", Booking{To: "Rome", Seats: 2})
	fmt.Println(ticket.Number, err)

	_, err = codons.Request[Ticket](ctx, eliza, "Clerk", Booking{To: "Rome", Seats: 9})
	fmt.Println(errors.Is(err, p.CodeForbidden), err)
	// Output:
	// Rome-1 <nil>
	// true request with Clerk: refused: at most 4 seats (forbidden)
}

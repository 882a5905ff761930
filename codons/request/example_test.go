package request_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/request"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// booking is the request of a ticket, and ticket the answer.
type (
	booking struct {
		To    string `json:"to"`
		Seats int    `json:"seats"`
	}
	ticket struct {
		Number string `json:"number"`
	}
)

// clerk is an agent that books seats.
type clerk struct{}

func (clerk) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (clerk) HandleRequest(_ context.Context, r request.Requested) (any, error) {
	b, err := performatives.PayloadAs[booking](r.Message)
	switch {
	case err != nil:
		return nil, err // sends NOT_UNDERSTOOD with the reason
	case b.Seats > 4:
		return nil, &performatives.Refusal{Code: performatives.CodeForbidden, Text: "at most 4 seats"} // sends REFUSE
	}
	return ticket{Number: b.To + "-1"}, nil
}

func ExampleRequest() {
	ctx := context.Background()
	node, err := runtime.New(runtime.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = node.Stop(ctx) }()
	if err := node.Spawn(ctx, "Clerk", func() actors.Agent { return clerk{} }); err != nil {
		panic(err)
	}

	booked, err := request.Request[ticket](ctx, node, "Clerk", booking{To: "Rome", Seats: 2})
	fmt.Println(booked.Number, err)

	_, err = request.Request[ticket](ctx, node, "Clerk", booking{To: "Rome", Seats: 9})
	fmt.Println(errors.Is(err, performatives.CodeForbidden), err)
	// Output:
	// Rome-1 <nil>
	// true request with Clerk: refused: at most 4 seats (forbidden)
}

package auction_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/auction"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// miner is an agent that buys hours of a machine, up to the price that they are worth to it.
type miner struct{ worth int64 }

func (miner) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (a miner) ConsiderPrice(_ context.Context, o auction.Offered) (bool, error) {
	if o.Lot.Item != "an hour" {
		return false, &performatives.Refusal{Code: performatives.CodeIncapable, Text: "no use for it"} // leaves the auction
	}
	return o.Price <= a.worth, nil
}

func (a miner) SettlePurchase(_ context.Context, b auction.Bought) (performatives.InformResult, error) {
	summary := fmt.Sprintf("%s paid %d cents", b.Agent.ID(), b.Price)
	return performatives.InformResult{Status: performatives.StatusSuccess, Summary: summary}, nil
}

func ExampleEnglish() {
	ctx := context.Background()
	node, err := runtime.New(runtime.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = node.Stop(ctx) }()
	if err := node.Spawn(ctx, "Ada", func() actors.Agent { return miner{worth: 70} }); err != nil {
		panic(err)
	}
	if err := node.Spawn(ctx, "Bob", func() actors.Agent { return miner{worth: 95} }); err != nil {
		panic(err)
	}
	if err := node.Spawn(ctx, "Cleo", func() actors.Agent { return miner{worth: 40} }); err != nil {
		panic(err)
	}
	bidders := []performatives.AgentID{"Ada", "Bob", "Cleo"}

	sale, err := auction.English(ctx, node, bidders, auction.Lot{Item: "an hour", Start: 10, Step: 10, Reserve: 50})
	fmt.Println(sale.Winner, sale.Price, sale.Result.Summary, err)

	_, err = auction.English(ctx, node, bidders, auction.Lot{Item: "an hour", Start: 10, Step: 10, Reserve: 200})
	fmt.Println(errors.Is(err, auction.ErrNoSale))
	// Output:
	// Bob 80 Bob paid 80 cents <nil>
	// true
}

func ExampleDutch() {
	ctx := context.Background()
	node, err := runtime.New(runtime.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = node.Stop(ctx) }()
	if err := node.Spawn(ctx, "Ada", func() actors.Agent { return miner{worth: 70} }); err != nil {
		panic(err)
	}
	if err := node.Spawn(ctx, "Bob", func() actors.Agent { return miner{worth: 95} }); err != nil {
		panic(err)
	}
	if err := node.Spawn(ctx, "Cleo", func() actors.Agent { return miner{worth: 40} }); err != nil {
		panic(err)
	}
	bidders := []performatives.AgentID{"Ada", "Bob", "Cleo"}

	sale, err := auction.Dutch(ctx, node, bidders, auction.Lot{Item: "an hour", Start: 200, Step: 15, Reserve: 50})
	fmt.Println(sale.Winner, sale.Price, sale.Rounds, sale.Result.Summary, err)
	// Output:
	// Bob 95 8 Bob paid 95 cents <nil>
}

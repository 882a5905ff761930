package codons_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// miner is an agent that buys hours of a machine, up to what they are worth to it.
type miner struct {
	poet
	worth int64
}

func (a miner) ConsiderPrice(_ context.Context, o codons.Offered) (bool, error) {
	if o.Lot.Item != "an hour" {
		return false, &p.Refusal{Code: p.CodeIncapable, Text: "no use for it"} // REFUSE, and it is out
	}
	return o.Price <= a.worth, nil // or passes, for now
}

func (a miner) SettlePurchase(_ context.Context, b codons.Bought) (p.InformResult, error) {
	return p.InformResult{Status: p.StatusSuccess, Summary: fmt.Sprintf("%s paid %d cents", b.Agent.ID(), b.Price)}, nil
}

// miners returns a system with three of them, and who sells to them.
func miners(ctx context.Context) (*actors.System, actors.Self, []p.AgentID) {
	system, err := actors.NewSystem(actors.Options{Protocols: codons.Protocols(codons.Times{})})
	if err != nil {
		panic(err)
	}
	spawn(ctx, system, "Ada", miner{worth: 70})
	spawn(ctx, system, "Bob", miner{worth: 95})
	spawn(ctx, system, "Cleo", miner{worth: 40})
	return system, spawn(ctx, system, "Eliza", poet{}), []p.AgentID{"Ada", "Bob", "Cleo"}
}

func ExampleEnglishAuction() {
	ctx := context.Background()
	system, eliza, bidders := miners(ctx)
	defer func() { _ = system.Stop(ctx) }()

	sale, err := codons.EnglishAuction(ctx, eliza, bidders, codons.Lot{Item: "an hour", Start: 10, Step: 10, Reserve: 50})
	fmt.Println(sale.Winner, sale.Price, sale.Result.Summary, err)

	_, err = codons.EnglishAuction(ctx, eliza, bidders, codons.Lot{Item: "an hour", Start: 10, Step: 10, Reserve: 200})
	fmt.Println(errors.Is(err, codons.ErrNoSale))
	// Output:
	// Bob 80 Bob paid 80 cents <nil>
	// true
}

func ExampleDutchAuction() {
	ctx := context.Background()
	system, eliza, bidders := miners(ctx)
	defer func() { _ = system.Stop(ctx) }()

	sale, err := codons.DutchAuction(ctx, eliza, bidders, codons.Lot{Item: "an hour", Start: 200, Step: 15, Reserve: 50})
	fmt.Println(sale.Winner, sale.Price, sale.Rounds, sale.Result.Summary, err)
	// Output:
	// Bob 95 8 Bob paid 95 cents <nil>
}

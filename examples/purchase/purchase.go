// Purchase is a codon of its own: a purchase order, from the quote to the payment or the refund.
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// Goods is the payload of most messages: the goods of the order.
type Goods struct{ Item, Price string }

// Purchase is the codon. The buyer asks, and the seller answers.
var Purchase = codons.MustDefine(definition())

func definition() codons.Definition {
	buyer, seller, command, got, run, send := machine.Asks, machine.Answers, machine.Commanded, machine.ReceiveTagged, machine.Run, machine.SendTagged
	cfp, request, inform := performatives.ActCFP, performatives.ActRequest, performatives.ActInform
	unsent, expiry := []machine.Cause{machine.At(machine.Initiator, machine.Undelivered(request))}, []machine.Cause{machine.At(machine.Responder, machine.Timeout("validity"))}
	ask, tell, bare := codons.Says[Goods](request), codons.Says[Goods](inform), codons.Says[struct{}](inform)
	return codons.Definition{Messages: codons.Messages{
		"QUOTE_REQUEST": codons.Says[Goods](cfp),
		"ORDER":         ask, "DECLINE": ask, "WITHDRAW": ask, "PAYMENT": ask, "KEEP": ask, "RETURN": ask,
		"QUOTE": tell, "INVOICE": tell, "TOO_LATE": tell, "PAID": tell, "LAPSED": bare, "DECLINED": bare, "WITHDRAWN": bare, "CLOSED": bare, "REFUND": bare,
	}, Table: machine.Table{
		Name: "purchase-order", Title: "Purchase order", Purpose: "A buyer orders goods of a seller, pays, and keeps or returns them.", Source: "this example",
		Terminal: []machine.State{"kept", "refunded", "declined", "lapsed", "withdrawn"},
		Timers:   []machine.Timer{{Role: machine.Initiator, Name: "patience", Doc: "until the buyer lets the quote lapse", After: 2 * time.Minute}, {Role: machine.Responder, Name: "validity", Doc: "until the quote has lapsed", After: time.Minute}},
		Agree:    []machine.Pair{{Initiator: "refused", Responder: "not_understood", After: unsent}, {Initiator: "refused", Responder: "lapsed", After: expiry}},
		Jobs: []machine.Job{
			{Role: machine.Initiator, Name: "decide", Ends: []string{"order", "decline"}, Doc: "the buyer decides about the quote"},
			{Role: machine.Initiator, Name: "pay", Ends: []string{"pay"}, Doc: "the buyer pays"},
			{Role: machine.Initiator, Name: "inspect", Ends: []string{"keep", "return"}, Doc: "the buyer inspects the goods"},
			{Role: machine.Responder, Name: "quote", Ends: []string{"quote"}, Doc: "the seller finds a price"},
			{Role: machine.Responder, Name: "ship", Ends: []string{"invoice"}, Doc: "the seller ships the goods and writes the invoice"},
			{Role: machine.Responder, Name: "insist", Ends: []string{"too_late"}, Doc: "the seller says that the goods are shipped, and repeats the invoice"},
			{Role: machine.Responder, Name: "book", Ends: []string{"confirm"}, Doc: "the seller books the payment"},
		},
		Rows: []machine.Row{
			buyer(machine.Idle).When(command(machine.CommandStart)).Goto("inquiring", machine.Send(cfp)).Because("the buyer wants a price"),
			buyer("inquiring").When(got(inform, "QUOTE")).Goto("deciding", machine.Arm("patience"), run("decide")).Because("there is a price"),
			buyer("deciding").When(command("order")).Goto("ordered", machine.Disarm("patience"), send(request, "ORDER")).Because("the buyer takes the quote"),
			buyer("deciding").When(command("decline")).Goto("declining", machine.Disarm("patience"), send(request, "DECLINE")).Because("the buyer does not take it"),
			buyer("deciding").When(machine.Timeout("patience")).Goto("declining", machine.Stop("decide"), send(request, "DECLINE")).Because("the buyer lets it lapse"),
			buyer("ordered", "declining", "withdrawing").When(got(inform, "LAPSED")).Goto("lapsed").Because("the quote had lapsed before"),
			buyer("declining").When(got(inform, "DECLINED")).Goto("declined").Because("the seller knows it"),
			buyer("ordered").When(command("withdraw")).Goto("withdrawing", send(request, "WITHDRAW")).Because("the buyer wants it no more"),
			buyer("ordered").When(got(inform, "INVOICE")).Goto("paying", run("pay")).Because("the goods are shipped"),
			buyer("withdrawing").When(got(inform, "WITHDRAWN")).Goto("withdrawn").Because("it was in time"),
			buyer("withdrawing").When(got(inform, "TOO_LATE")).Goto("paying", run("pay")).Because("it was too late: the order goes on"),
			buyer("paying").When(command("pay")).Goto("paid", send(request, "PAYMENT")).Because("the invoice is right"),
			buyer("paid").When(got(inform, "PAID")).Goto("inspecting", run("inspect")).Because("the payment is confirmed"),
			buyer("inspecting").When(command("keep")).Goto("keeping", send(request, "KEEP")).Because("the goods are good"),
			buyer("inspecting").When(command("return")).Goto("returning", send(request, "RETURN")).Because("the goods are not"),
			buyer("keeping").When(got(inform, "CLOSED")).Goto("kept").Because("the purchase is complete"),
			buyer("returning").When(got(inform, "REFUND")).Goto("refunded").Because("the money is back"),
			seller(machine.Idle).When(machine.Receive(cfp)).Goto("quoting", run("quote")).Because("somebody wants a price"),
			seller("quoting").When(command("quote")).Goto("quoted", machine.Arm("validity"), send(inform, "QUOTE")).Because("the price is known"),
			seller("quoted").When(machine.Timeout("validity")).Goto("expired").Because("the quote is valid for a limited time"),
			seller("expired").When(got(request, "ORDER"), got(request, "DECLINE"), got(request, "WITHDRAW")).Goto("lapsed", send(inform, "LAPSED")).Because("it comes after the quote has lapsed"),
			seller("quoted").When(got(request, "DECLINE")).Goto("declined", send(inform, "DECLINED")).Because("the buyer does not take it"),
			seller("quoted").When(got(request, "WITHDRAW")).Goto("withdrawn", send(inform, "WITHDRAWN")).Because("it has overtaken the order"),
			seller("quoted").When(got(request, "ORDER")).Goto("shipping", machine.Disarm("validity"), run("ship")).Because("the quote is taken"),
			seller("shipping").When(got(request, "WITHDRAW")).Goto("withdrawn", machine.Stop("ship"), send(inform, "WITHDRAWN")).Because("it is in time"),
			seller("shipping").When(command("invoice")).Goto("invoiced", send(inform, "INVOICE")).Because("the goods are on their way"),
			seller("invoiced").When(got(request, "WITHDRAW")).Goto("insisting", run("insist")).Because("it is too late"),
			seller("insisting").When(command("too_late")).Goto("invoiced", send(inform, "TOO_LATE")).Because("the order goes on"),
			seller("invoiced").When(got(request, "PAYMENT")).Goto("booking", run("book")).Because("the buyer has paid"),
			seller("booking").When(command("confirm")).Goto("confirmed", send(inform, "PAID")).Because("the payment is booked"),
			seller("confirmed").When(got(request, "KEEP")).Goto("kept", send(inform, "CLOSED")).Because("the purchase is complete"),
			seller("confirmed").When(got(request, "RETURN")).Goto("refunded", send(inform, "REFUND")).Because("the goods come back"),
		},
	}}
}

// Seller is the role: what an agent implements to sell.
type Seller interface {
	actors.Agent
	Quote(ctx context.Context, t codons.Turn[Goods]) (codons.Command, error)
	Ship(ctx context.Context, t codons.Turn[Goods]) (codons.Command, error)
}

// Shop is a seller. It tells Packing that it packs a piano, which takes longer than anybody waits.
type Shop struct{ Packing chan struct{} }

// Describe returns the capabilities for discovery.
func (Shop) Describe() performatives.Capabilities { return performatives.Capabilities{} }

// Quote has one price for all goods.
func (Shop) Quote(_ context.Context, t codons.Turn[Goods]) (codons.Command, error) {
	return codons.Command{Name: "quote", Data: Goods{t.Content.Item, "99.00"}}, nil
}

// Ship ships the goods, unless the order is withdrawn while they are packed.
func (s Shop) Ship(ctx context.Context, t codons.Turn[Goods]) (codons.Command, error) {
	if t.Content.Item == "piano" {
		s.Packing <- struct{}{}
		<-ctx.Done()
	}
	return codons.Command{Name: "invoice", Data: t.Content}, nil
}

// seller and buyer end a job with one command. The buyer has no time for the quote of a house.
func seller(job, command string) codons.AnswerJob {
	return codons.Method(job, func(_ Seller, _ context.Context, t codons.Turn[Goods]) (codons.Command, error) {
		return codons.Command{Name: command, Data: t.Content}, nil
	})
}

func buyer(job, command string) codons.Option {
	return codons.On(job, func(ctx context.Context, t codons.Turn[Goods]) (codons.Command, error) {
		if t.Content.Item == "house" {
			<-ctx.Done()
		}
		return codons.Command{Name: command, Data: t.Content}, nil
	})
}

func main() {
	ctx, packing := context.Background(), make(chan struct{})
	role := Purchase.Answer(codons.Method("quote", Seller.Quote), codons.Method("ship", Seller.Ship), seller("insist", "too_late"), seller("book", "confirm"))
	node := must(runtime.New(runtime.Options{Codons: []*codons.Service{role.WithTimer("validity", time.Second)}}))
	defer func() { _ = node.Stop(ctx) }()
	must[any](nil, node.Spawn(ctx, "Shop", func() actors.Agent { return Shop{packing} }))
	for _, b := range []struct{ item, end string }{{"bike", "keep"}, {"shoes", "return"}, {"house", ""}, {"piano", ""}} {
		asked := must(Purchase.Start(ctx, node, "Shop", Goods{Item: b.item}, codons.WithTimer("patience", 2*time.Second), buyer("decide", "order"), buyer("pay", "pay"), buyer("inspect", b.end)))
		if b.item == "piano" {
			<-packing
			asked.Tell("withdraw", Goods{Item: b.item})
		}
		fmt.Println(b.item, must(asked.Wait()).State)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

package codons_test

import (
	"context"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// Quote is what an exchange publishes.
type Quote struct {
	Share string `json:"share"`
	Price int    `json:"price"`
}

// exchange is an agent that publishes what shares cost.
type exchange struct {
	poet
	quotes *codons.Topic[Quote]
}

func (x exchange) ConsiderSubscription(_ context.Context, s codons.Subscribing) (codons.Feed, error) {
	if s.Topic != "quotes" {
		return codons.Feed{}, &p.Refusal{Code: p.CodeIncapable, Text: "only quotes"}
	}
	return x.quotes.Feed(), nil
}

func (x exchange) ConsiderWhenever(_ context.Context, s codons.Subscribing) (codons.Feed, error) {
	limit, err := p.Decode[int](s.Parameters)
	return x.quotes.Whenever(func(q Quote) bool { return q.Price < limit }), err
}

func ExampleSubscribe() {
	ctx := context.Background()
	system, err := actors.NewSystem(actors.Options{Protocols: codons.Protocols(codons.Times{})})
	if err != nil {
		panic(err)
	}
	defer func() { _ = system.Stop(ctx) }()
	x := exchange{quotes: codons.NewTopic[Quote](codons.TopicOptions{})}
	spawn(ctx, system, "Exchange", x)
	eliza := spawn(ctx, system, "Eliza", poet{})

	stream, err := codons.Subscribe[Quote](ctx, eliza, "Exchange", codons.Subscription{Topic: "quotes"})
	if err != nil {
		panic(err)
	}
	x.quotes.Publish(Quote{"ACME", 10})
	x.quotes.Publish(Quote{"ACME", 12})
	for e := range stream.Events() {
		fmt.Println(e.Seq, e.Value.Share, e.Value.Price, "lost:", e.Lost)
		if e.Value.Price == 12 {
			break
		}
	}
	fmt.Println(stream.Unsubscribe(), x.quotes.Subscribers())

	_, err = codons.Subscribe[Quote](ctx, eliza, "Exchange", codons.Subscription{Topic: "gossip"})
	fmt.Println(err)
	// Output:
	// 1 ACME 10 lost: 0
	// 2 ACME 12 lost: 0
	// <nil> 0
	// subscribe with Exchange: refused: only quotes (incapable)
}

func ExampleRequestWhenever() {
	ctx := context.Background()
	system, err := actors.NewSystem(actors.Options{Protocols: codons.Protocols(codons.Times{})})
	if err != nil {
		panic(err)
	}
	defer func() { _ = system.Stop(ctx) }()
	x := exchange{quotes: codons.NewTopic[Quote](codons.TopicOptions{})}
	spawn(ctx, system, "Exchange", x)
	eliza := spawn(ctx, system, "Eliza", poet{})

	below := codons.Subscription{Topic: "price below", Parameters: p.ContentOf(10)}
	stream, err := codons.RequestWhenever[Quote](ctx, eliza, "Exchange", below)
	if err != nil {
		panic(err)
	}
	for _, price := range []int{12, 9, 8, 11, 7} {
		x.quotes.Publish(Quote{"ACME", price})
	}
	for range 2 {
		e, err := stream.Next(ctx)
		fmt.Println(e.Value.Price, err)
	}
	fmt.Println(stream.Unsubscribe())
	// Output:
	// 9 <nil>
	// 7 <nil>
	// <nil>
}

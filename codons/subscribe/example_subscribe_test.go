package subscribe_test

import (
	"context"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/subscribe"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// quote is an event of an exchange: the price of a share.
type quote struct {
	Share string `json:"share"`
	Price int    `json:"price"`
}

// exchange is an agent that publishes the prices of shares.
type exchange struct{ quotes *subscribe.Topic[quote] }

func (exchange) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{"quotes"}}
}

func (x exchange) ConsiderSubscription(_ context.Context, s subscribe.Subscribing) (subscribe.Feed, error) {
	if s.Topic != "quotes" {
		return subscribe.Feed{}, &performatives.Refusal{Code: performatives.CodeIncapable, Text: "only quotes"}
	}
	return x.quotes.Feed(), nil
}

func (x exchange) ConsiderWhenever(_ context.Context, s subscribe.Subscribing) (subscribe.Feed, error) {
	limit, err := performatives.Decode[int](s.Parameters)
	return x.quotes.Whenever(func(q quote) bool { return q.Price < limit }), err
}

func ExampleSubscribe() {
	ctx := context.Background()
	node, err := runtime.New(runtime.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = node.Stop(ctx) }()
	x := exchange{quotes: subscribe.NewTopic[quote](subscribe.TopicOptions{})}
	if err := node.Spawn(ctx, "Exchange", func() actors.Agent { return x }); err != nil {
		panic(err)
	}

	stream, err := subscribe.Subscribe[quote](ctx, node, "Exchange", subscribe.Subscription{Topic: "quotes"})
	if err != nil {
		panic(err)
	}
	x.quotes.Publish(quote{"ACME", 10})
	x.quotes.Publish(quote{"ACME", 12})
	for e := range stream.Events() {
		fmt.Println(e.Seq, e.Value.Share, e.Value.Price, "lost:", e.Lost)
		if e.Value.Price == 12 {
			break
		}
	}
	fmt.Println(stream.Unsubscribe(), x.quotes.Subscribers())

	_, err = subscribe.Subscribe[quote](ctx, node, "Exchange", subscribe.Subscription{Topic: "gossip"})
	fmt.Println(err)
	// Output:
	// 1 ACME 10 lost: 0
	// 2 ACME 12 lost: 0
	// <nil> 0
	// subscribe with Exchange: refused: only quotes (incapable)
}

func ExampleRequestWhenever() {
	ctx := context.Background()
	node, err := runtime.New(runtime.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = node.Stop(ctx) }()
	x := exchange{quotes: subscribe.NewTopic[quote](subscribe.TopicOptions{})}
	if err := node.Spawn(ctx, "Exchange", func() actors.Agent { return x }); err != nil {
		panic(err)
	}

	below := subscribe.Subscription{Topic: "price below", Parameters: performatives.ContentOf(10)}
	stream, err := subscribe.RequestWhenever[quote](ctx, node, "Exchange", below)
	if err != nil {
		panic(err)
	}
	for _, price := range []int{12, 9, 8, 11, 7} {
		x.quotes.Publish(quote{"ACME", price})
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

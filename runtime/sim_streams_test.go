package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// ConsiderHandshake answers.
func (c *citizen) ConsiderHandshake(ctx context.Context, g codons.Greeting) error {
	return c.answer(ctx, g.Agent, g.Message)
}

// ConsiderWhen answers.
func (c *citizen) ConsiderWhen(ctx context.Context, r codons.RequestedWhen) error {
	return c.answer(ctx, r.Agent, r.Message)
}

// AwaitCondition waits.
func (c *citizen) AwaitCondition(ctx context.Context, r codons.RequestedWhen) error {
	return c.swarm.pause(ctx, "condition "+string(c.id)+" "+string(r.Message.ID()), c.swarm.dice.upTo(2*time.Second))
}

// PerformWhen answers.
func (c *citizen) PerformWhen(ctx context.Context, r codons.RequestedWhen) (any, error) {
	return p.Raw(`{}`), c.answer(ctx, r.Agent, r.Message)
}

// ConsiderSubscription lets most have the news.
func (c *citizen) ConsiderSubscription(context.Context, codons.Subscribing) (codons.Feed, error) {
	return c.feed(c.swarm.news[c.id].Feed())
}

// ConsiderWhenever lets most know of every turn of the news.
func (c *citizen) ConsiderWhenever(context.Context, codons.Subscribing) (codons.Feed, error) {
	return c.feed(c.swarm.news[c.id].Whenever(func(n int) bool { return n%3 == 0 }))
}

func (c *citizen) feed(f codons.Feed) (codons.Feed, error) {
	switch c.swarm.dice.n(20) {
	case 0:
		return codons.Feed{}, &p.Refusal{Code: p.CodeForbidden}
	case 1:
		return codons.Feed{}, errors.New("considering a subscription")
	case 2:
		panic("considering a subscription")
	}
	return f, nil
}

// ConsiderProxy answers.
func (c *citizen) ConsiderProxy(ctx context.Context, q codons.Proxied) error {
	return c.answer(ctx, q.Agent, q.Message)
}

// FindAgents names a few, or asks them first.
func (c *citizen) FindAgents(ctx context.Context, q codons.Proxied) ([]p.AgentID, error) {
	ids := c.swarm.some(1 + c.swarm.dice.n(4))
	if c.swarm.dice.oneIn(2) {
		return ids, nil
	}
	broker := codons.Broker{Agents: func(context.Context) ([]p.AgentID, error) { return ids, nil }}
	found, err := broker.FindAgents(ctx, q)
	c.swarm.sim.Yield("broker " + string(c.id) + " " + string(q.Message.ID()))
	return found, err
}

// HandleDelivery answers.
func (c *citizen) HandleDelivery(ctx context.Context, d codons.Delivery) error {
	return c.answer(ctx, c.swarm.node.Self(), d.Message)
}

func (x *errand) handshake() string {
	ctx, cancel := x.question()
	defer cancel()
	_, err := codons.Handshake(ctx, x.self, x.anyone())
	return simEnd("met", err)
}

func (x *errand) requestWhen() string {
	ctx, cancel := x.question()
	defer cancel()
	_, err := codons.RequestWhen[p.Raw](ctx, x.self, x.anyone(), codons.When{Condition: p.ContentOf("dawn"), Action: p.ContentOf("crow")})
	return simEnd("done", err)
}

// hears is how a stream is begun.
type hears func(context.Context, codons.Party, p.AgentID, codons.Subscription, ...codons.StreamOption) (*codons.Stream[int], error)

// follow reads what is new for a while, and unsubscribes, or is cut off.
func (x *errand) follow(begin hears) string {
	ctx, cancel := x.within(x.dice.upTo(20 * time.Second))
	defer cancel()
	s, err := begin(ctx, x.self, x.anyone(), codons.Subscription{Topic: "news"},
		codons.WithBuffer(2), codons.WithHeartbeat(x.dice.upTo(2*time.Second)),
		codons.WithResume(codons.Retry{First: x.dice.upTo(time.Second)}, 2), codons.WithGrace(time.Second))
	if err != nil {
		return err.Error()
	}
	heard, lost := 0, uint64(0)
	for until := x.dice.n(6); heard < until; heard++ {
		e, err := s.Next(ctx)
		x.sim.Yield(x.name)
		if err != nil {
			break
		}
		lost += e.Lost
	}
	how := s.Unsubscribe()
	return fmt.Sprint(heard, " heard, ", lost, " lost: ", how)
}

func (x *errand) subscribe() string { return x.follow(codons.Subscribe[int]) }

func (x *errand) requestWhenever() string { return x.follow(codons.RequestWhenever[int]) }

// publish tells the news of all agents.
func (s *simSwarm) publish() {
	for start := time.Now(); time.Since(start) < simBusy; {
		s.idle("publish", s.dice.upTo(time.Second))
		for i := range simAgents {
			s.news[simID(i)].Publish(s.dice.n(10))
		}
	}
}

// proxy is what is asked of a mediator.
func (x *errand) proxy() codons.Proxy {
	q := codons.Proxy{Capabilities: []string{"simulation"}, Task: simTask(2)}
	if x.dice.oneIn(2) {
		q.Want = codons.WantAll
	}
	return q
}

func (x *errand) askThrough() string {
	ctx, cancel := x.question()
	defer cancel()
	q := x.proxy()
	if x.dice.oneIn(3) {
		q.Task, q.Request = p.TaskRequest{}, p.ContentOf(map[string]any{"do": "it"})
	}
	replies, err := codons.AskThrough(ctx, x.self, x.anyone(), q)
	return simEnd(fmt.Sprint(len(replies), " replies"), err)
}

func (x *errand) recruit() string {
	ctx, cancel := x.question()
	defer cancel()
	q := x.proxy()
	if x.dice.oneIn(3) {
		q.Receiver = x.anyone()
	}
	got, err := codons.Recruit(ctx, x.self, x.anyone(), q)
	return simEnd(fmt.Sprint(len(got.Deliveries), " deliveries"), err)
}

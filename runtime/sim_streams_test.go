package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/discovery"
	"github.com/ribosome-agents/ribosome/codons/mediation"
	requests "github.com/ribosome-agents/ribosome/codons/request"
	"github.com/ribosome-agents/ribosome/codons/subscribe"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// ConsiderHandshake accepts or refuses at random.
func (c *simAgent) ConsiderHandshake(ctx context.Context, g discovery.Greeting) error {
	return c.answer(ctx, g.Agent, g.Message)
}

// ConsiderWhen accepts or refuses at random.
func (c *simAgent) ConsiderWhen(ctx context.Context, r requests.RequestedWhen) error {
	return c.answer(ctx, r.Agent, r.Message)
}

// AwaitCondition waits for a random time.
func (c *simAgent) AwaitCondition(ctx context.Context, r requests.RequestedWhen) error {
	return c.swarm.pause(ctx, "condition "+string(c.id)+" "+string(r.Message.ID()), c.swarm.dice.upTo(2*time.Second))
}

// PerformWhen succeeds or fails at random.
func (c *simAgent) PerformWhen(ctx context.Context, r requests.RequestedWhen) (any, error) {
	return p.Raw(`{}`), c.answer(ctx, r.Agent, r.Message)
}

// ConsiderSubscription accepts most subscriptions.
func (c *simAgent) ConsiderSubscription(context.Context, subscribe.Subscribing) (subscribe.Feed, error) {
	return c.feed(c.swarm.news[c.id].Feed())
}

// ConsiderWhenever accepts most subscriptions to changes.
func (c *simAgent) ConsiderWhenever(context.Context, subscribe.Subscribing) (subscribe.Feed, error) {
	return c.feed(c.swarm.news[c.id].Whenever(func(n int) bool { return n%3 == 0 }))
}

func (c *simAgent) feed(f subscribe.Feed) (subscribe.Feed, error) {
	switch c.swarm.dice.n(20) {
	case 0:
		return subscribe.Feed{}, &p.Refusal{Code: p.CodeForbidden}
	case 1:
		return subscribe.Feed{}, errors.New("considering a subscription")
	case 2:
		panic("considering a subscription")
	}
	return f, nil
}

// ConsiderProxy accepts or refuses at random.
func (c *simAgent) ConsiderProxy(ctx context.Context, q mediation.Proxied) error {
	return c.answer(ctx, q.Agent, q.Message)
}

// FindAgents returns a few random agents, or queries them first.
func (c *simAgent) FindAgents(ctx context.Context, q mediation.Proxied) ([]p.AgentID, error) {
	ids := c.swarm.randomAgents(1 + c.swarm.dice.n(4))
	if c.swarm.dice.oneIn(2) {
		return ids, nil
	}
	broker := mediation.Broker{Agents: func(context.Context) ([]p.AgentID, error) { return ids, nil }}
	found, err := broker.FindAgents(ctx, q)
	c.swarm.sim.Yield("broker " + string(c.id) + " " + string(q.Message.ID()))
	return found, err
}

// HandleDelivery accepts or refuses at random.
func (c *simAgent) HandleDelivery(ctx context.Context, d mediation.Delivery) error {
	return c.answer(ctx, c.swarm.node.Self(), d.Message)
}

func (x *simErrand) handshake() string {
	ctx, cancel := x.queryContext()
	defer cancel()
	_, err := discovery.Handshake(ctx, x.self, x.randomAgent())
	return simEnd("met", err)
}

func (x *simErrand) requestWhen() string {
	ctx, cancel := x.queryContext()
	defer cancel()
	_, err := requests.AskWhen[p.Raw](ctx, x.self, x.randomAgent(), requests.When{Condition: p.ContentOf("dawn"), Action: p.ContentOf("crow")})
	return simEnd("done", err)
}

// streamOpener is a function that opens a stream.
type streamOpener func(context.Context, codons.Party, p.AgentID, subscribe.Subscription, ...codons.Option) (*subscribe.Stream[int], error)

// follow reads a stream for a while and then unsubscribes, unless the stream ends first.
func (x *simErrand) follow(begin streamOpener) string {
	ctx, cancel := x.within(x.dice.upTo(20 * time.Second))
	defer cancel()
	s, err := begin(ctx, x.self, x.randomAgent(), subscribe.Subscription{Topic: "news"},
		subscribe.WithBuffer(2), subscribe.WithHeartbeat(x.dice.upTo(2*time.Second)),
		subscribe.WithResume(codons.Retry{First: x.dice.upTo(time.Second)}, 2), codons.WithGrace(time.Second))
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

func (x *simErrand) subscribe() string { return x.follow(subscribe.Subscribe[int]) }

func (x *simErrand) requestWhenever() string { return x.follow(subscribe.RequestWhenever[int]) }

// publish publishes to the topics of all agents.
func (s *simSwarm) publish() {
	for start := time.Now(); time.Since(start) < simBusy; {
		s.idle("publish", s.dice.upTo(time.Second))
		for i := range simAgents {
			s.news[simID(i)].Publish(s.dice.n(10))
		}
	}
}

// proxy returns a request for a mediator.
func (x *simErrand) proxy() mediation.Proxy {
	q := mediation.Proxy{Capabilities: []string{"simulation"}, Task: simTask(2)}
	if x.dice.oneIn(2) {
		q.Want = mediation.WantAll
	}
	return q
}

func (x *simErrand) askThrough() string {
	ctx, cancel := x.queryContext()
	defer cancel()
	q := x.proxy()
	if x.dice.oneIn(3) {
		q.Task, q.Request = p.TaskRequest{}, p.ContentOf(map[string]any{"do": "it"})
	}
	replies, err := mediation.AskThrough(ctx, x.self, x.randomAgent(), q)
	return simEnd(fmt.Sprint(len(replies), " replies"), err)
}

func (x *simErrand) recruit() string {
	ctx, cancel := x.queryContext()
	defer cancel()
	q := x.proxy()
	if x.dice.oneIn(3) {
		q.Receiver = x.randomAgent()
	}
	got, err := mediation.Recruit(ctx, x.self, x.randomAgent(), q)
	return simEnd(fmt.Sprint(len(got.Deliveries), " deliveries"), err)
}

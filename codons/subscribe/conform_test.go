package subscribe_test

import (
	"context"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/codontest"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/subscribe"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// TestConform runs subscriptions and standing requests of at most ten minutes over a bad network.
func TestConform(t *testing.T) {
	codontest.Conform(t, subscribe.Codon, kit.Seeds(), codontest.Agents(1, newChancePublisher, subscribe.Service), reading(subscribe.Subscribe[beat]))
	codontest.Conform(t, subscribe.WheneverCodon, kit.Seeds(), codontest.Agents(1, newChancePublisher, subscribe.WheneverService), reading(subscribe.RequestWhenever[beat]))
}

type begin func(context.Context, codons.Party, p.AgentID, subscribe.Subscription, ...codons.Option) (*subscribe.Stream[beat], error)

// reading reads the events of a stream until it ends.
func reading(begin begin) codontest.Option {
	return codontest.Calling(func(ctx context.Context, s *codontest.Script) error {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
		defer cancel()
		stream, err := begin(ctx, s.Self(), s.Peers()[0], subscribe.Subscription{Topic: "beats", Parameters: p.ContentOf(1)}, subscribe.WithResume(codons.Retry{}, 2))
		if err != nil {
			return err
		}
		for range stream.Events() {
		}
		return stream.Err()
	})
}

// chancePublisher publishes a few beats to each subscriber, and then ends the subscription or
// leaves it open.
type chancePublisher struct {
	kit.Plain
	script  *codontest.Script
	running context.Context //nolint:containedctx // it ends with the agent
	stop    context.CancelFunc
}

func newChancePublisher(s *codontest.Script) actors.Agent {
	running, stop := context.WithCancel(context.Background())
	return &chancePublisher{script: s, running: running, stop: stop}
}

// Stop ends the goroutines that publish.
func (s *chancePublisher) Stop(*actors.Context) { s.stop() }

func (s *chancePublisher) ConsiderSubscription(_ context.Context, sub subscribe.Subscribing) (subscribe.Feed, error) {
	topic, chance := s.begin(sub.Message)
	return topic.Feed(), chance.Err()
}

func (s *chancePublisher) ConsiderWhenever(_ context.Context, sub subscribe.Subscribing) (subscribe.Feed, error) {
	topic, chance := s.begin(sub.Message)
	return topic.Whenever(func(b beat) bool { return b.N%2 == 1 }), chance.Err()
}

// begin publishes on a goroutine of its own, which ends with the agent.
func (s *chancePublisher) begin(m *p.Message) (*subscribe.Topic[beat], *codontest.Chance) {
	topic := subscribe.NewTopic[beat](subscribe.TopicOptions{})
	chance := s.script.About(m, "publish")
	go func() {
		for n := range chance.IntN(6) {
			if chance.Pause(s.running) != nil {
				return
			}
			topic.Publish(beat{N: n})
		}
		if chance.IntN(2) == 0 {
			topic.Close("that is all")
		}
	}()
	return topic, s.script.About(m, "consider")
}

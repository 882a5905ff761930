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
	codontest.Conform(t, subscribe.Codon, kit.Seeds(), codontest.Agents(1, newChanceStation, subscribe.Role), reading(subscribe.Subscribe[kit.Beat]))
	codontest.Conform(t, subscribe.WheneverCodon, kit.Seeds(), codontest.Agents(1, newChanceStation, subscribe.WheneverRole), reading(subscribe.RequestWhenever[kit.Beat]))
}

type begin func(context.Context, codons.Party, p.AgentID, subscribe.Subscription, ...codons.Option) (*subscribe.Stream[kit.Beat], error)

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

// chanceStation publishes a few beats to each subscriber, and then ends the subscription or leaves
// it open.
type chanceStation struct {
	kit.Plain
	script *codontest.Script
}

func newChanceStation(s *codontest.Script) actors.Agent { return &chanceStation{script: s} }

func (s *chanceStation) ConsiderSubscription(ctx context.Context, sub subscribe.Subscribing) (subscribe.Feed, error) {
	topic, chance := s.begin(context.WithoutCancel(ctx), sub.Message)
	return topic.Feed(), chance.Err()
}

func (s *chanceStation) ConsiderWhenever(ctx context.Context, sub subscribe.Subscribing) (subscribe.Feed, error) {
	topic, chance := s.begin(context.WithoutCancel(ctx), sub.Message)
	return topic.Whenever(func(b kit.Beat) bool { return b.N%2 == 1 }), chance.Err()
}

// begin publishes on a goroutine of its own, which ends within ten minutes.
func (s *chanceStation) begin(ctx context.Context, m *p.Message) (*subscribe.Topic[kit.Beat], *codontest.Chance) {
	topic := subscribe.NewTopic[kit.Beat](subscribe.TopicOptions{})
	chance := s.script.About(m, "publish")
	go func() {
		for n := range chance.IntN(6) {
			_ = chance.Pause(ctx) // its ctx never ends
			topic.Publish(kit.Beat{N: n})
		}
		if chance.IntN(2) == 0 {
			topic.Close("that is all")
		}
	}()
	return topic, s.script.About(m, "consider")
}

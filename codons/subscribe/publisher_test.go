package subscribe_test

import (
	"context"

	"github.com/ribosome-agents/ribosome/codons/subscribe"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// beat is the publication of a [publisher].
type beat struct {
	N int `json:"n"`
}

// publisher is a publisher of beats. consider decides about subscriptions; nil accepts each.
type publisher struct {
	topic    *subscribe.Topic[beat]
	consider func(subscribe.Subscribing) (subscribe.Feed, error)
	max      int
}

// newPublisher returns a publisher with a topic of those options.
func newPublisher(o subscribe.TopicOptions) *publisher {
	return &publisher{topic: subscribe.NewTopic[beat](o)}
}

// Describe returns no capabilities.
func (*publisher) Describe() p.Capabilities { return p.Capabilities{} }

// MaxTasks returns max.
func (s *publisher) MaxTasks() int { return s.max }

// ConsiderSubscription calls consider.
func (s *publisher) ConsiderSubscription(_ context.Context, sub subscribe.Subscribing) (subscribe.Feed, error) {
	if s.consider != nil {
		return s.consider(sub)
	}
	return s.topic.Feed(), nil
}

// ConsiderWhenever subscribes to the beats over a number.
func (s *publisher) ConsiderWhenever(_ context.Context, sub subscribe.Subscribing) (subscribe.Feed, error) {
	over, err := p.Decode[int](sub.Parameters)
	if err != nil {
		return subscribe.Feed{}, err
	}
	return s.topic.Whenever(func(b beat) bool { return b.N > over }), nil
}

// publish publishes the beats from one number to another.
func (s *publisher) publish(from, to int) {
	for n := from; n <= to; n++ {
		s.topic.Publish(beat{n})
	}
}

// everyNth has the publisher send only every n-th beat to a subscriber whose parameter is n.
func (s *publisher) everyNth() {
	s.consider = func(sub subscribe.Subscribing) (subscribe.Feed, error) {
		n, err := p.Decode[int](sub.Parameters)
		return s.topic.Where(func(b beat) bool { return b.N%n == 0 }), err
	}
}

package kit

import (
	"context"

	"github.com/ribosome-agents/ribosome/codons/subscribe"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// Beat is the publication of a [Station].
type Beat struct {
	N int `json:"n"`
}

// Station is a publisher of beats. Consider decides about subscriptions; nil accepts each.
type Station struct {
	Topic    *subscribe.Topic[Beat]
	Consider func(subscribe.Subscribing) (subscribe.Feed, error)
	Max      int
}

// NewStation returns a station with a topic of those options.
func NewStation(o subscribe.TopicOptions) *Station {
	return &Station{Topic: subscribe.NewTopic[Beat](o)}
}

// Describe returns no capabilities.
func (*Station) Describe() p.Capabilities { return p.Capabilities{} }

// MaxTasks returns Max.
func (s *Station) MaxTasks() int { return s.Max }

// ConsiderSubscription calls Consider.
func (s *Station) ConsiderSubscription(_ context.Context, sub subscribe.Subscribing) (subscribe.Feed, error) {
	if s.Consider != nil {
		return s.Consider(sub)
	}
	return s.Topic.Feed(), nil
}

// ConsiderWhenever subscribes to the beats over a number.
func (s *Station) ConsiderWhenever(_ context.Context, sub subscribe.Subscribing) (subscribe.Feed, error) {
	over, err := p.Decode[int](sub.Parameters)
	if err != nil {
		return subscribe.Feed{}, err
	}
	return s.Topic.Whenever(func(b Beat) bool { return b.N > over }), nil
}

// Publish publishes the beats from one number to another.
func (s *Station) Publish(from, to int) {
	for n := from; n <= to; n++ {
		s.Topic.Publish(Beat{n})
	}
}

// EveryNth has the station publish only every n-th beat to a subscriber whose parameter is n.
func (s *Station) EveryNth() {
	s.Consider = func(sub subscribe.Subscribing) (subscribe.Feed, error) {
		n, err := p.Decode[int](sub.Parameters)
		return s.Topic.Where(func(b Beat) bool { return b.N%n == 0 }), err
	}
}

// News is the content of notices.
type News struct {
	Text string `json:"text"`
}

package events

import (
	"testing"
	"time"
)

// BenchmarkPublish is the cost of one event for its publisher: the baseline is an atomic
// load, which is what a stream without subscriptions is to cost. "kept" has a subscriber
// that receives, "full" one whose queue is full.
func BenchmarkPublish(b *testing.B) {
	kinds := []Kind{KindAgentStopped}
	at := At{time.Now()}
	b.Run("baseline", func(b *testing.B) {
		var e Stream
		n := 0
		for b.Loop() {
			if e.routes.Load() != nil {
				n++
			}
		}
	})
	for _, c := range []struct {
		name  string
		setup func(*Stream) (stop func())
	}{
		{"no subscription", func(*Stream) func() { return func() {} }},
		{"another kind", func(e *Stream) func() { return e.Subscribe(SubscribeOptions{Kinds: []Kind{KindAgentStarted}}).Close }},
		{"kept", func(e *Stream) func() {
			h := e.Subscribe(SubscribeOptions{Kinds: kinds}).Handle(func(Record) {})
			return func() { _ = h.Stop(b.Context()) }
		}},
		{"full", func(e *Stream) func() { return e.Subscribe(SubscribeOptions{Capacity: 1, Kinds: kinds}).Close }},
		{"four subscriptions", func(e *Stream) func() {
			var all []*Handler
			for range 4 {
				all = append(all, e.Subscribe(SubscribeOptions{}).Handle(func(Record) {}))
			}
			return func() {
				for _, h := range all {
					_ = h.Stop(b.Context())
				}
			}
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var e Stream
			stop := c.setup(&e)
			defer stop()
			b.ReportAllocs()
			for b.Loop() {
				if Wants[AgentStopped](&e) {
					e.Publish(AgentStopped{at, "a"})
				}
			}
		})
	}
}

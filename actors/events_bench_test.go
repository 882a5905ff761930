package actors

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
		var e Events
		n := 0
		for b.Loop() {
			if e.routes.Load() != nil {
				n++
			}
		}
	})
	for _, c := range []struct {
		name  string
		setup func(*Events) (stop func())
	}{
		{"no subscription", func(*Events) func() { return func() {} }},
		{"another kind", func(e *Events) func() { return e.Subscribe(SubscribeOptions{Kinds: []Kind{KindAgentStarted}}).Close }},
		{"kept", func(e *Events) func() {
			h := e.Subscribe(SubscribeOptions{Kinds: kinds}).Handle(func(Record) {})
			return func() { _ = h.Stop(b.Context()) }
		}},
		{"full", func(e *Events) func() { return e.Subscribe(SubscribeOptions{Capacity: 1, Kinds: kinds}).Close }},
		{"four subscriptions", func(e *Events) func() {
			var all []*EventHandler
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
			var e Events
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

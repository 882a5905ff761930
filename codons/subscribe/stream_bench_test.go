package subscribe_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/notify"
	"github.com/ribosome-agents/ribosome/codons/subscribe"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// counter is an agent that counts notices.
type counter struct {
	kit.Poet
	heard chan struct{}
}

func (c counter) HandleNotice(context.Context, notify.Notice) { c.heard <- struct{}{} }

// BenchmarkNotify measures notices to one agent, as many under way as its channel
// holds, beside the channel alone.
func BenchmarkNotify(b *testing.B) {
	const underWay = 1024
	b.Run("notify", func(b *testing.B) {
		s := kit.BenchSystem(b)
		c := counter{heard: make(chan struct{}, underWay)}
		kit.Spawn(b.Context(), s, "Counter", c)
		from := kit.Spawn(b.Context(), s, "From", kit.Poet{})
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			if n++; n > underWay {
				<-c.heard
			}
			if err := notify.Notify(from, "Counter", "x"); err != nil {
				b.Fatal(err)
			}
		}
		for range min(n, underWay) {
			<-c.heard
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "notices/s")
	})
	b.Run("channel", func(b *testing.B) {
		in, out := make(chan string, underWay), make(chan struct{}, underWay)
		go func() {
			defer close(out)
			for range in {
				out <- struct{}{}
			}
		}()
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			if n++; n > underWay {
				<-out
			}
			in <- "x"
		}
		close(in)
		for range out {
			continue // until it is closed
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "notices/s")
	})
}

// BenchmarkSubscribe measures events to so many subscribers, each of which reads all,
// beside as many channels. Between two rounds the slowest is waited for, so that
// nothing is lost. One op is one event to all.
func BenchmarkSubscribe(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprintf("%d subscribers", n), func(b *testing.B) { benchSubscribe(b, n) })
		b.Run(fmt.Sprintf("%d channels", n), func(b *testing.B) { benchChannels(b, n) })
	}
}

// eventsARound is how many are published before the slowest is waited for.
const eventsARound = 512

func benchSubscribe(b *testing.B, n int) {
	s := kit.BenchSystem(b)
	st := newPublisher(subscribe.TopicOptions{})
	kit.Spawn(b.Context(), s, "Station", st)
	var round, reading sync.WaitGroup
	defer reading.Wait() // once all below have unsubscribed
	for i := range n {
		self := kit.Spawn(b.Context(), s, p.AgentID(fmt.Sprint("reader", i)), kit.Poet{})
		stream, err := subscribe.Subscribe[beat](b.Context(), self, "Station", beats)
		if err != nil {
			b.Fatal(err)
		}
		reading.Go(func() {
			for e := range stream.Events() {
				if e.Lost > 0 {
					b.Errorf("lost %d events", e.Lost)
				}
				if e.Value.N == 0 {
					round.Done()
				}
			}
		})
		defer func() { _ = stream.Unsubscribe() }()
	}
	fanOut(b, n, &round, st.topic.Publish)
}

func benchChannels(b *testing.B, n int) {
	var round, reading sync.WaitGroup
	defer reading.Wait()
	channels := make([]chan beat, n)
	for i := range channels {
		channels[i] = make(chan beat, subscribe.DefaultBuffer)
		reading.Go(func() {
			for e := range channels[i] {
				if e.N == 0 {
					round.Done()
				}
			}
		})
		defer close(channels[i])
	}
	fanOut(b, n, &round, func(e beat) {
		for _, c := range channels {
			c <- e
		}
	})
}

// fanOut publishes round after round, each of which ends with a zero.
func fanOut(b *testing.B, n int, round *sync.WaitGroup, publish func(beat)) {
	b.ReportAllocs()
	sent := 0
	for b.Loop() {
		if sent++; sent%eventsARound != 0 {
			publish(beat{N: sent})
			continue
		}
		round.Add(n)
		publish(beat{N: 0})
		round.Wait()
	}
	round.Add(n)
	publish(beat{N: 0})
	round.Wait()
	b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "events/s")
}

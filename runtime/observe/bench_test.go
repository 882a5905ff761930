package observe_test

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/runtime/observe"
	"github.com/ribosome-agents/ribosome/runtime/observe/telemetry"
)

// BenchmarkDelegate delegates without a recorder, the baseline, with one, with one and metrics, and
// with a HealthCounter that has been asked: one delegation at a time, and 64 at a time on each
// core.
func BenchmarkDelegate(b *testing.B) {
	for _, underWay := range []string{"one", "many"} {
		for _, observed := range []string{"alone", "recorded", "measured", "counted"} {
			b.Run(underWay+"/"+observed, func(b *testing.B) { benchmarkDelegate(b, observed, underWay == "many") })
		}
	}
}

func benchmarkDelegate(b *testing.B, observed string, many bool) {
	n := nodeWithWorker(b)
	if observed == "counted" {
		c := observe.NewHealthCounter(n)
		defer c.Close()
		c.Health("w")
	}
	if observed == "recorded" || observed == "measured" {
		r, err := observe.New(n, observe.Options{})
		if err != nil {
			b.Fatal(err)
		}
		defer func() {
			r.Close()
			b.ReportMetric(float64(r.Counts().Lost)/float64(b.N), "lost/op")
		}()
	}
	if observed == "measured" {
		m, err := telemetry.New(n, telemetry.Options{Meters: sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))})
		if err != nil {
			b.Fatal(err)
		}
		defer func() {
			m.Close()
			b.ReportMetric(float64(m.Lost())/float64(b.N), "uncounted/op")
		}()
	}
	delegate := func() {
		if _, err := n.Delegate(b.Context(), "w", performatives.TaskRequest{TaskType: "work"}); err != nil {
			b.Error(err)
		}
	}
	b.ReportAllocs()
	began := cpuTime(b)
	defer func() { b.ReportMetric(float64((cpuTime(b)-began).Nanoseconds())/float64(b.N), "cpu-ns/op") }()
	if !many {
		for b.Loop() {
			delegate()
		}
		return
	}
	b.SetParallelism(64)
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			delegate()
		}
	})
}

// BenchmarkView makes the views of a node with 10,000 conversations under way, of which the
// recorder keeps 1,000: the list of all, and one of them with its children.
func BenchmarkView(b *testing.B) {
	n := nodeWithWorker(b)
	r, err := observe.New(n, observe.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	begun := make(chan struct{})
	busy := func() actors.Agent {
		return worker(func(ctx context.Context) (performatives.InformResult, error) {
			begun <- struct{}{}
			<-ctx.Done()
			return performatives.InformResult{}, context.Cause(ctx)
		})
	}
	var one performatives.ConversationID
	for i := range 10_000 {
		agent := performatives.AgentID(fmt.Sprint("busy", i/1000)) // an agent has 2,048 tasks at most
		if i%1000 == 0 {
			if err := n.Spawn(b.Context(), agent, busy); err != nil {
				b.Fatal(err)
			}
		}
		d, err := delegation.Start(b.Context(), n, agent, performatives.TaskRequest{TaskType: "work"})
		if err != nil {
			b.Fatal(err)
		}
		<-begun
		one = d.Conversation()
	}
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			if len(r.Conversations()) < 10_000 {
				b.Fatal("not all are listed")
			}
		}
	})
	b.Run("one", func(b *testing.B) {
		for b.Loop() {
			if _, found := r.Conversation(one); !found || len(r.Children(one)) > 0 {
				b.Fatal("it is not found")
			}
		}
	})
}

// nodeWithWorker returns a node with an agent w whose tasks take no time. It is stopped when the
// benchmark ends.
func nodeWithWorker(b *testing.B) *runtime.Node {
	n, err := runtime.New(runtime.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = n.Stop(context.Background()) })
	err = n.Spawn(b.Context(), "w", func() actors.Agent {
		return worker(func(context.Context) (performatives.InformResult, error) {
			return performatives.InformResult{Status: performatives.StatusSuccess}, nil
		})
	})
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// cpuTime returns the time that the processors have spent on the process: other than the time of
// the clock, it hardly depends on what else the machine does.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkReplay publishes the events of delegations again, on one goroutine, to a recorder, to
// metrics, and to both. It measures what they add to BenchmarkDelegate, without the contention of
// two cores and without the garbage of the delegations, which vary more. After every 512
// delegations, which fill less than a queue, it waits until all their events are recorded: none is
// lost.
func BenchmarkReplay(b *testing.B) {
	all := delegated(b)
	for _, observed := range []string{"recorded", "metrics", "both"} {
		b.Run(observed, func(b *testing.B) { benchmarkReplay(b, all, observed != "metrics", observed != "recorded") })
	}
}

func benchmarkReplay(b *testing.B, all [][]events.Event, recorded, measured bool) {
	n := nodeWithWorker(b)
	var settle []func() // each returns when the events so far are recorded
	if recorded {
		r, err := observe.New(n, observe.Options{})
		if err != nil {
			b.Fatal(err)
		}
		defer func() {
			if r.Close(); r.Counts().Lost > 0 {
				b.Errorf("the recorder has lost %d events", r.Counts().Lost)
			}
		}()
		settle = append(settle, func() { r.Counts() })
	}
	if measured {
		reader := sdkmetric.NewManualReader()
		m, err := telemetry.New(n, telemetry.Options{Meters: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))})
		if err != nil {
			b.Fatal(err)
		}
		defer func() {
			if m.Close(); m.Lost() > 0 {
				b.Errorf("the metrics have lost %d events", m.Lost())
			}
		}()
		var read metricdata.ResourceMetrics
		settle = append(settle, func() {
			if err := reader.Collect(b.Context(), &read); err != nil {
				b.Error(err)
			}
		})
	}
	b.ReportAllocs()
	const most = 512 // of 12 events each
	i, began := 0, cpuTime(b)
	for b.Loop() {
		for _, ev := range all[i%len(all)] {
			republish(n.Events(), ev)
		}
		if i++; i%most == 0 {
			for _, wait := range settle {
				wait()
			}
		}
	}
	for _, wait := range settle {
		wait()
	}
	b.ReportMetric(float64((cpuTime(b)-began).Nanoseconds())/float64(b.N), "cpu-ns/op")
}

// delegated returns the events of each of 2,048 delegations.
func delegated(b *testing.B) [][]events.Event {
	n := nodeWithWorker(b)
	const most = 32
	s := n.Events().Subscribe(events.SubscribeOptions{Capacity: most, Kinds: []events.Kind{
		events.KindMessageSent, events.KindMessageReceived, lifecycle.KindTransition, lifecycle.KindEnded, lifecycle.KindJobEnded,
	}})
	defer s.Close()
	all := make([][]events.Event, 2048)
	for i := range all {
		if _, err := n.Delegate(b.Context(), "w", performatives.TaskRequest{TaskType: "work"}); err != nil {
			b.Fatal(err)
		}
		for sides := 0; sides < 2; {
			r := <-s.C
			all[i] = append(all[i], r.Event)
			if _, ended := r.Event.(lifecycle.Ended); ended {
				sides++
			}
		}
	}
	return all
}

func republish(stream *events.Stream, ev events.Event) {
	switch ev := ev.(type) {
	case events.MessageSent:
		publish(stream, ev)
	case events.MessageReceived:
		publish(stream, ev)
	case lifecycle.Transition:
		publish(stream, ev)
	case lifecycle.Ended:
		publish(stream, ev)
	case lifecycle.JobEnded:
		publish(stream, ev)
	}
}

func publish[E events.Event](stream *events.Stream, ev E) {
	if events.Wants[E](stream) {
		events.Publish(stream, ev)
	}
}

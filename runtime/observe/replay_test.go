package observe_test

import (
	"context"
	goruntime "runtime"
	"testing"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/runtime/observe"
	"github.com/ribosome-agents/ribosome/runtime/observe/telemetry"
)

// BenchmarkReplay publishes the events of delegations again, on one goroutine, to a recorder, to metrics and to both: what BenchmarkDelegate has more with
// them than without, apart from what two cores share and from the memory of the events' makers.
func BenchmarkReplay(b *testing.B) {
	all := delegated(b)
	for _, observed := range []string{"recorded", "metrics", "both"} {
		b.Run(observed, func(b *testing.B) {
			n, err := runtime.New(runtime.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = n.Stop(context.Background()) }()
			if observed != "metrics" {
				r, err := observe.New(n, observe.Options{})
				if err != nil {
					b.Fatal(err)
				}
				defer r.Close()
				defer func() { b.ReportMetric(float64(r.Counts().Lost)/float64(b.N), "lost/op") }()
			}
			if observed != "recorded" {
				m, err := telemetry.New(n, telemetry.Options{Meters: sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))})
				if err != nil {
					b.Fatal(err)
				}
				defer m.Close()
				defer func() { b.ReportMetric(float64(m.Lost())/float64(b.N), "uncounted/op") }()
			}
			b.ReportAllocs()
			i, began := 0, cpuTime(b)
			defer func() { b.ReportMetric(float64((cpuTime(b)-began).Nanoseconds())/float64(b.N), "cpu-ns/op") }()
			for b.Loop() {
				for _, ev := range all[i] {
					republish(n.Events(), ev)
				}
				if i++; i == len(all) {
					i = 0
				}
				if i%32 == 0 {
					goruntime.Gosched() // the receivers of the events, which are woken after 512
				}
			}
		})
	}
}

// delegated returns the events of each of 2,048 delegations.
func delegated(b *testing.B) [][]actors.Event {
	n, err := runtime.New(runtime.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = n.Stop(context.Background()) }()
	err = n.Spawn(b.Context(), "w", func() actors.Agent {
		return worker(func(context.Context) (performatives.InformResult, error) {
			return performatives.InformResult{Status: performatives.StatusSuccess}, nil
		})
	})
	if err != nil {
		b.Fatal(err)
	}
	const most = 32
	s := n.Events().Subscribe(actors.SubscribeOptions{Capacity: most, Kinds: []actors.Kind{
		actors.KindMessageSent, actors.KindMessageReceived, codons.KindTransition, codons.KindBegan, codons.KindEnded, codons.KindJobEnded,
	}})
	defer s.Close()
	all := make([][]actors.Event, 2048)
	for i := range all {
		if _, err := n.Delegate(b.Context(), "w", performatives.TaskRequest{TaskType: "work"}); err != nil {
			b.Fatal(err)
		}
		for sides := 0; sides < 2; {
			r := <-s.C
			all[i] = append(all[i], r.Event)
			if _, ended := r.Event.(codons.Ended); ended {
				sides++
			}
		}
	}
	return all
}

func republish(events *actors.Events, ev actors.Event) {
	switch ev := ev.(type) {
	case actors.MessageSent:
		if actors.Wants[actors.MessageSent](events) {
			actors.Publish(events, ev)
		}
	case actors.MessageReceived:
		if actors.Wants[actors.MessageReceived](events) {
			actors.Publish(events, ev)
		}
	case codons.Transition:
		if actors.Wants[codons.Transition](events) {
			actors.Publish(events, ev)
		}
	case codons.Began:
		if actors.Wants[codons.Began](events) {
			actors.Publish(events, ev)
		}
	case codons.Ended:
		if actors.Wants[codons.Ended](events) {
			actors.Publish(events, ev)
		}
	case codons.JobEnded:
		if actors.Wants[codons.JobEnded](events) {
			actors.Publish(events, ev)
		}
	}
}

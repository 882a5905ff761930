package observe_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/runtime/observe"
	"github.com/ribosome-agents/ribosome/runtime/observe/telemetry"
)

// BenchmarkDelegate delegates without a recorder, the baseline, with one, with one and metrics, and with a HealthCounter that has been asked: one
// delegation at a time, and 64 at a time on each core.
func BenchmarkDelegate(b *testing.B) {
	for _, underWay := range []string{"one", "many"} {
		for _, observed := range []string{"alone", "recorded", "measured", "counted"} {
			b.Run(underWay+"/"+observed, func(b *testing.B) { benchmarkDelegate(b, observed, underWay == "many") })
		}
	}
}

func benchmarkDelegate(b *testing.B, observed string, many bool) {
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

// cpuTime returns the time that the processors have spent on the process: other than the time of the clock, it hardly depends on what
// else the machine does.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

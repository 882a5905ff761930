package observe_test

import (
	"context"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/runtime/observe"
)

// BenchmarkDelegate delegates without a recorder, the baseline, and with one.
func BenchmarkDelegate(b *testing.B) {
	for _, recorded := range []bool{false, true} {
		name := map[bool]string{false: "alone", true: "recorded"}[recorded]
		b.Run(name, func(b *testing.B) {
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
			if recorded {
				r, err := observe.New(n, observe.Options{})
				if err != nil {
					b.Fatal(err)
				}
				defer func() {
					r.Close()
					b.ReportMetric(float64(r.Counts().Lost)/float64(b.N), "lost/op")
				}()
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := n.Delegate(b.Context(), "w", performatives.TaskRequest{TaskType: "work"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

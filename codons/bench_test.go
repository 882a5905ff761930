package codons_test

import (
	"context"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
)

// doer is a worker whose work takes no time.
type doer struct{}

func (doer) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (doer) ConsiderTask(context.Context, codons.Task) codons.Decision { return codons.Accept() }

func (doer) PerformTask(context.Context, codons.Task) (performatives.InformResult, error) {
	return performatives.InformResult{Status: performatives.StatusSuccess}, nil
}

// BenchmarkDelegate measures full delegations (request, accept, result) on one
// node: one at a time, and with many under way.
func BenchmarkDelegate(b *testing.B) {
	s, err := actors.NewSystem(actors.Options{Protocols: []actors.Protocol{codons.Delegation{}}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Stop(context.Background()) })
	asker, err := s.Spawn(b.Context(), actors.Spec{ID: "asker", New: func() actors.Agent { return doer{} }})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := s.Spawn(b.Context(), actors.Spec{ID: "worker", New: func() actors.Agent { return doer{} }}); err != nil {
		b.Fatal(err)
	}
	task := performatives.TaskRequest{TaskType: "nothing"}
	b.Run("one at a time", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := codons.Delegate(b.Context(), asker, "worker", task); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "delegations/s")
	})
	b.Run("64 under way", func(b *testing.B) {
		b.ReportAllocs()
		b.SetParallelism(32)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := codons.Delegate(b.Context(), asker, "worker", task); err != nil {
					b.Error(err)
				}
			}
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "delegations/s")
	})
}

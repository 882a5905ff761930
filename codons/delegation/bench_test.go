package delegation_test

import (
	"context"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/library"
	"github.com/ribosome-agents/ribosome/performatives"
)

// BenchmarkDelegate measures whole delegations (request, acceptance, result) on one node, one at
// a time and 64 at a time.
func BenchmarkDelegate(b *testing.B) {
	s, err := actors.NewSystem(actors.Options{Protocols: library.Protocols(codons.Times{})})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Stop(context.Background()) })
	initiator, err := s.Spawn(b.Context(), actors.Spec{ID: "initiator", New: func() actors.Agent { return kit.Doer{} }})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := s.Spawn(b.Context(), actors.Spec{ID: "worker", New: func() actors.Agent { return kit.Doer{} }}); err != nil {
		b.Fatal(err)
	}
	task := performatives.TaskRequest{TaskType: "nothing"}
	b.Run("one at a time", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := delegation.Delegate(b.Context(), initiator, "worker", task); err != nil {
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
				if _, err := delegation.Delegate(b.Context(), initiator, "worker", task); err != nil {
					b.Error(err)
				}
			}
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "delegations/s")
	})
}

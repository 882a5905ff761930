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

// TestDelegationAllocs bounds the allocations of a whole delegation, of both sides and the handler.
func TestDelegationAllocs(t *testing.T) {
	if codons.CheckPayloads.Load() {
		t.Skip("the race detector is on, with which payloads are checked")
	}
	s, err := actors.NewSystem(actors.Options{Protocols: library.Protocols(codons.Times{})})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Stop(context.Background()) }()
	initiator := kit.Spawn(t.Context(), s, "initiator", kit.Doer{})
	kit.Spawn(t.Context(), s, "worker", kit.Doer{})
	delegate := func() {
		if _, err := delegation.Delegate(t.Context(), initiator, "worker", performatives.TaskRequest{TaskType: "nothing"}); err != nil {
			t.Fatal(err)
		}
	}
	for range 500 { // the tombstones and the pools reach their sizes
		delegate()
	}
	if n := testing.AllocsPerRun(500, delegate); n > 45 { // 43 when this was written
		t.Errorf("a delegation needs %v allocations", n)
	}
}

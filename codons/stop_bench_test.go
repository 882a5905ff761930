package codons_test

import (
	"context"
	"fmt"
	goruntime "runtime"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/library"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// BenchmarkEnds measures how long n delegations under way between two agents take to end: when
// their caller withdraws all of them at once, until each has its receipt, and when the system
// stops, until nothing runs any more. Each is two conversations and a handler that waits for its
// ctx. They have the default retries and grace, or none that could hide or cost a receipt.
func BenchmarkEnds(b *testing.B) {
	alone := []codons.Option{codons.WithRetry(codons.Retry{First: -1}), codons.WithGrace(time.Minute)}
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("withdraw/%d", n), func(b *testing.B) { withdrawals(b, n, alone...) })
		b.Run(fmt.Sprintf("withdraw with defaults/%d", n), func(b *testing.B) { withdrawals(b, n) })
		b.Run(fmt.Sprintf("stop/%d", n), func(b *testing.B) { stops(b, n, alone...) })
	}
}

// withdrawals withdraws n delegations under way.
func withdrawals(b *testing.B, n int, options ...codons.Option) {
	var took time.Duration
	receipts := 0
	for b.Loop() {
		s, begun, cancel := manyUnderWay(b, n, options...)
		start := time.Now()
		cancel()
		for _, d := range begun {
			if _, err := d.Wait(); p.RefusalOf(err) != nil && p.RefusalOf(err).Code == p.CodeCanceled {
				receipts++
			}
		}
		took += time.Since(start)
		_ = s.Stop(b.Context())
	}
	b.ReportMetric(float64(took.Milliseconds())/float64(b.N), "ms/end")
	b.ReportMetric(float64(receipts)/float64(b.N*n), "receipts")
}

// stops stops a system with n delegations under way.
func stops(b *testing.B, n int, options ...codons.Option) {
	var took time.Duration
	for b.Loop() {
		s, _, cancel := manyUnderWay(b, n, options...)
		start := time.Now()
		ctx, end := context.WithCancel(context.Background())
		end() // do not wait for the conversations
		_ = s.Stop(ctx)
		if err := s.Stop(context.Background()); err != nil {
			b.Fatal(err)
		}
		took += time.Since(start)
		cancel()
	}
	b.ReportMetric(float64(took.Milliseconds())/float64(b.N), "ms/end")
}

// manyUnderWay begins n delegations between two agents.
func manyUnderWay(b *testing.B, n int, options ...codons.Option) (s *actors.System, begun []*delegation.Delegated, cancel context.CancelFunc) {
	b.Helper()
	s, err := actors.NewSystem(actors.Options{Protocols: library.Protocols(codons.Times{})})
	if err != nil {
		b.Fatal(err)
	}
	worker := &multitude{crowd{noise: make(chan struct{})}}
	kit.Spawn(b.Context(), s, "worker", worker)
	asker := kit.Spawn(b.Context(), s, "asker", &kit.Doer{})
	ctx, cancel := context.WithTimeout(b.Context(), time.Hour)
	for i := range n {
		d, err := delegation.Start(ctx, asker, "worker", p.TaskRequest{TaskType: "wait"}, options...)
		if err != nil {
			b.Fatal(err)
		}
		begun = append(begun, d)
		for int(worker.waiting.Load()) < i-2000 { // no mailbox is to overflow
			goruntime.Gosched()
		}
	}
	for int(worker.waiting.Load()) < n {
		goruntime.Gosched()
	}
	return s, begun, cancel
}

// multitude is a crowd without a limit.
type multitude struct{ crowd }

func (*multitude) MaxTasks() int { return 1 << 20 }

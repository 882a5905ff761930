package runtime_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// noticeCounter is an agent that counts notices, and says when a batch is complete.
type noticeCounter struct {
	scripted
	n        atomic.Int64
	complete chan struct{}
}

const noticeBatch = 512

func newNoticeCounter(t testing.TB, o runtime.Options) (*runtime.Node, *noticeCounter) {
	t.Helper()
	n := newNode(t, o)
	c := &noticeCounter{complete: make(chan struct{}, 1)}
	c.receive = func(*actors.Context, *performatives.Message) {
		if c.n.Add(1)%noticeBatch == 0 {
			c.complete <- struct{}{}
		}
	}
	if err := n.Spawn(context.Background(), "Jules", returning(c)); err != nil {
		t.Fatal(err)
	}
	return n, c
}

// sendBatch sends a batch of notices and waits until they have arrived.
func (c *noticeCounter) sendBatch(t testing.TB, n *runtime.Node, m *performatives.Message) {
	for range noticeBatch {
		if err := n.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	<-c.complete
}

// chainOf returns middleware that passes everything on.
func chainOf(length int, timeout time.Duration) (all []runtime.Middleware) {
	for i := range length {
		all = append(all, runtime.Middleware{
			Name: fmt.Sprint("m", i), Timeout: timeout,
			Handle: func(_ context.Context, m *performatives.Message) (*performatives.Message, error) { return m, nil },
		})
	}
	return all
}

// BenchmarkMiddleware sends a notice from one agent to another, through chains of several lengths.
func BenchmarkMiddleware(b *testing.B) {
	for _, c := range []struct {
		name string
		all  []runtime.Middleware
	}{{"none", nil}, {"one", chainOf(1, 0)}, {"five", chainOf(5, 0)}, {"one that may wait", chainOf(1, time.Minute)}} {
		b.Run(c.name, func(b *testing.B) {
			n, agent := newNoticeCounter(b, runtime.Options{Middleware: c.all})
			m := message(b, "Ann", "Jules", performatives.ActInform)
			b.ReportAllocs()
			for b.Loop() {
				agent.sendBatch(b, n, m)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/noticeBatch, "ns/message")
		})
	}
}

// TestMiddlewareAllocations: middleware that waits for nothing costs no memory. The one allocation
// a message is the receiver's.
func TestMiddlewareAllocations(t *testing.T) {
	if racetest.Enabled {
		t.Skip("the race detector allocates")
	}
	for _, length := range []int{0, 3} {
		n, agent := newNoticeCounter(t, runtime.Options{Middleware: chainOf(length, 0)})
		m := message(t, "Ann", "Jules", performatives.ActInform)
		if got := testing.AllocsPerRun(20, func() { agent.sendBatch(t, n, m) }) / noticeBatch; got > 1.1 {
			t.Errorf("%d middleware: %v allocations a message", length, got)
		}
	}
}

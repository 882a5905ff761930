package runtime_test

import (
	"context"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/internal/exhaustive"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// The load of one agent: so many requests a second for so many seconds, from so many callers.
const (
	loadRate    = 40_000
	loadSeconds = 60
	loadCallers = 32
)

// loaded is one agent that is asked to perform tasks that take no time.
type loaded struct {
	node   *runtime.Node
	runs   atomic.Int64
	failed atomic.Pointer[error]
	first  atomic.Pointer[performatives.Message] // the first request
}

func newLoaded(t testing.TB) *loaded {
	t.Helper()
	l := &loaded{node: newNode(t, runtime.Options{})}
	perform := func(_ context.Context, task delegation.Task) (performatives.InformResult, error) {
		l.runs.Add(1)
		l.first.CompareAndSwap(nil, task.Message)
		return performatives.InformResult{Status: performatives.StatusSuccess}, nil
	}
	if err := l.node.Spawn(t.Context(), "Jules", returning(worker{perform})); err != nil {
		t.Fatal(err)
	}
	return l
}

// ask sends n requests, each with the default deadline, and waits for the answers.
func (l *loaded) ask(ctx context.Context, n int) {
	var asking sync.WaitGroup
	for i := range loadCallers {
		asking.Go(func() {
			for range (n + i) / loadCallers {
				if _, err := l.node.Delegate(ctx, "Jules", performatives.TaskRequest{TaskType: "x"}); err != nil {
					l.failed.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	asking.Wait()
}

func heapInUse() int64 {
	goruntime.GC()
	goruntime.GC()
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestRequestLoad has one agent take 40,000 requests a second for a minute, in virtual time. None
// is refused, and each is remembered: the first does not run again. The short form has a small part
// of them.
func TestRequestLoad(t *testing.T) {
	racetest.Skip(t) // it measures memory
	perSecond := loadRate / 400
	if exhaustive.Enabled() {
		perSecond = loadRate
	}
	synctest.Test(t, func(t *testing.T) {
		l := newLoaded(t)
		l.ask(t.Context(), loadRate/400) // what a node with any load has
		before := heapInUse()
		start := time.Now()
		for i := range loadSeconds {
			l.ask(t.Context(), perSecond)
			time.Sleep(time.Until(start.Add(time.Duration(i+1) * time.Second)))
		}
		if err := l.failed.Load(); err != nil {
			t.Errorf("a request failed: %v", *err)
		}
		all := loadRate/400 + loadSeconds*perSecond
		if n := int(l.runs.Load()); n != all {
			t.Errorf("%d tasks ran, want %d", n, all)
		}
		if c := l.node.Counts(); c.Refused != 0 || c.Open != 0 {
			t.Errorf("got %+v", c)
		}
		if err := l.node.System().Send(l.first.Load()); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if n := int(l.runs.Load()); n != all || l.node.Counts().Refused != 1 {
			t.Errorf("after a repetition of the first: %d tasks ran, %+v", n, l.node.Counts())
		}
		each := float64(heapInUse()-before) / float64(loadSeconds*perSecond)
		t.Logf("%d requests, %.0f B each", loadSeconds*perSecond, each)
		if each > 250 {
			t.Errorf("a request leaves %.0f B behind", each)
		}
	})
}

// BenchmarkRequestLoad measures the same load in real time, as fast as the machine can: the
// requests a second, and the memory that each leaves behind. Without RIBOSOME_EXHAUSTIVE it is that
// of one second.
func BenchmarkRequestLoad(b *testing.B) {
	seconds := 1
	if exhaustive.Enabled() {
		seconds = loadSeconds
	}
	var took time.Duration
	var left int64
	requests := 0
	for b.Loop() {
		l := newLoaded(b)
		before := heapInUse()
		start := time.Now()
		l.ask(b.Context(), seconds*loadRate)
		took += time.Since(start)
		left += heapInUse() - before
		requests += int(l.runs.Load())
		if err := l.failed.Load(); err != nil {
			b.Fatal(*err)
		}
	}
	b.ReportMetric(float64(requests)/took.Seconds(), "requests/s")
	b.ReportMetric(float64(left)/float64(requests), "B/request")
}

package codons_test

import (
	"context"
	"fmt"
	goruntime "runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/library"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// underWay is how many conversations go on while one more is begun.
const underWay = 10_000

// crowd is a worker whose tasks of type "wait" go on until they are cancelled, and
// report as they are told to; all others are done at once.
type crowd struct {
	kit.Doer
	waiting atomic.Int64
	noise   chan struct{} // each token is one report by one of them
}

func (*crowd) MaxTasks() int { return 2 * underWay }

func (c *crowd) PerformTask(ctx context.Context, t delegation.Task) (p.InformResult, error) {
	if t.TaskType != "wait" {
		return p.InformResult{Status: p.StatusSuccess}, nil
	}
	c.waiting.Add(1)
	for {
		select {
		case <-c.noise:
			_ = t.Progress(1, "still waiting")
		case <-ctx.Done():
			return p.InformResult{}, context.Cause(ctx)
		}
	}
}

// BenchmarkManyConversations measures 10,000 delegations under way on one node, 100
// for each of 100 askers: the memory of each, both its sides and its handler, and
// how long an URGENT one takes beside them, while they are silent and while each
// reports progress once a second.
func BenchmarkManyConversations(b *testing.B) {
	s, err := actors.NewSystem(actors.Options{Protocols: library.Protocols(codons.Times{})})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Stop(context.Background()) })
	worker := &crowd{noise: make(chan struct{})}
	kit.Spawn(b.Context(), s, "worker", worker)
	asker := kit.Spawn(b.Context(), s, "asker", &kit.Doer{})
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	before := heap()
	for i := range 100 {
		self := kit.Spawn(ctx, s, p.AgentID(fmt.Sprint("asker-", i)), &kit.Doer{})
		for range underWay / 100 {
			if _, err := delegation.Start(ctx, self, "worker", p.TaskRequest{TaskType: "wait"}); err != nil {
				b.Fatal(err)
			}
			for int(worker.waiting.Load()) < i*100-500 { // no mailbox is to overflow
				goruntime.Gosched()
			}
		}
	}
	for worker.waiting.Load() < underWay {
		goruntime.Gosched()
	}
	each := float64(heap()-before) / underWay
	b.Run("silent", func(b *testing.B) { urgent(b, asker, each) })
	b.Run("each reports once a second", func(b *testing.B) {
		stop := make(chan struct{})
		defer close(stop)
		go worker.clatter(stop, underWay)
		urgent(b, asker, each)
	})
}

// clatter has the tasks report, so many times a second together.
func (c *crowd) clatter(stop <-chan struct{}, perSecond int) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		for range perSecond / 1000 {
			select {
			case c.noise <- struct{}{}:
			case <-stop:
				return
			}
		}
		select {
		case <-tick.C:
		case <-stop:
			return
		}
	}
}

// urgent delegates an URGENT task at a time, and reports the distribution of the
// times.
func urgent(b *testing.B, asker actors.Self, each float64) {
	var times []time.Duration
	for b.Loop() {
		start := time.Now()
		if _, err := delegation.Delegate(b.Context(), asker, "worker", p.TaskRequest{TaskType: "now"}, codons.WithPriority(p.Urgent)); err != nil {
			b.Fatal(err)
		}
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	b.ReportMetric(each, "B/conversation")
	b.ReportMetric(float64(times[len(times)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), "p99-µs")
}

// heap is how much memory is in use, stacks included.
func heap() uint64 {
	goruntime.GC()
	goruntime.GC()
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// BenchmarkEndedConversations measures what is left of ended delegations: the memory of a busy
// worker, which has ended more than it remembers, of a busy asker, and of each conversation. That
// includes the ids of the requests and what the maps of the engine grow by. The answers are short
// or long.
func BenchmarkEndedConversations(b *testing.B) {
	const agents, each = 100, 300
	for name, length := range map[string]int{"short answers": 10, "long answers": 10_000} {
		b.Run(name, func(b *testing.B) {
			var workers, askers uint64
			runs := uint64(0)
			for b.Loop() {
				runs++
				workers += endedConversations(b, length, agents, each, true) / agents
				askers += endedConversations(b, length, agents, each, false) / agents
			}
			b.ReportMetric(float64(workers/runs), "B/worker")
			b.ReportMetric(float64(askers/runs), "B/asker")
			b.ReportMetric(float64((workers+askers)/runs)/2/each, "B/conversation")
		})
	}
}

// endedConversations ends conversations of many workers with one asker, or of one worker with many
// askers, and returns the memory that is left.
func endedConversations(b *testing.B, length, agents, each int, workers bool) uint64 {
	b.Helper()
	s := kit.BenchSystem(b)
	one := kit.Spawn(b.Context(), s, "one", &talker{length})
	var many []actors.Self
	for i := range agents {
		many = append(many, kit.Spawn(b.Context(), s, p.AgentID(fmt.Sprint("many-", i)), &talker{length}))
	}
	delegate := func(asker, worker actors.Self, n int) {
		for range n {
			if _, err := delegation.Delegate(b.Context(), asker, worker.ID(), p.TaskRequest{TaskType: "x"}); err != nil {
				b.Fatal(err)
			}
		}
	}
	for _, other := range many {
		delegate(one, other, 1)
		delegate(other, one, 1)
	}
	delegate(one, one, agents*each) // the maps of the engine reach their size
	before := allocated()
	for _, other := range many {
		if workers {
			delegate(one, other, each)
		} else {
			delegate(other, one, each)
		}
	}
	after := allocated()
	if err := s.Stop(b.Context()); err != nil {
		b.Fatal(err)
	}
	return max(after, before) - before
}

// talker is a worker whose answers have a length.
type talker struct{ length int }

func (talker) Describe() p.Capabilities { return p.Capabilities{} }

func (talker) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	return delegation.Accept()
}

func (t talker) PerformTask(context.Context, delegation.Task) (p.InformResult, error) {
	return p.InformResult{Status: p.StatusSuccess, Summary: string(make([]byte, t.length))}, nil
}

// allocated is the memory of all objects that are in use.
func allocated() uint64 {
	goruntime.GC()
	goruntime.GC()
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return m.HeapAlloc
}

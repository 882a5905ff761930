package runtime_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/ribosome-agents/ribosome/cluster/placement"
	"github.com/ribosome-agents/ribosome/internal/patience"
	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// BenchmarkDrain measures how long a node of three needs to hand over 1,000 agents with their state
// and to leave, while each gets a task. All agents continue to count, so that nothing was lost.
func BenchmarkDrain(b *testing.B) {
	const agents = 1_000
	for b.Loop() {
		b.StopTimer()
		h, nodes := newHall(), join(b, 3, newPatientMember)
		h.keepState = true
		h.host(b, nodes...)
		var ids []p.AgentID
		for i := 0; len(ids) < agents; i++ {
			if id := p.AgentID(fmt.Sprint("counter/", i)); placement.Pick(id, []string{"n1", "n2", "n3"}) == "n3" {
				ids = append(ids, id)
			}
		}
		each := func(n *runtime.Node, want int) {
			var wait sync.WaitGroup
			for _, id := range ids {
				wait.Go(func() {
					if got := count(b, n, id); got != want {
						b.Errorf("%s counts %d, want %d", id, got, want)
					}
				})
			}
			wait.Wait()
		}
		each(nodes[0], 1)
		b.StartTimer()
		var meanwhile sync.WaitGroup
		meanwhile.Go(func() { each(nodes[1], 2) })
		if err := nodes[2].Drain(patience.Context(b)); err != nil {
			b.Error(err)
		}
		meanwhile.Wait()
		b.StopTimer()
		each(nodes[0], 3)
		for _, n := range nodes[:2] {
			if err := n.Stop(patience.Context(b)); err != nil {
				b.Error(err)
			}
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/drain")
}

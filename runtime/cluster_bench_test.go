package runtime_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/internal/patience"
	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// BenchmarkTwoNodes compares work for an agent of the same node with work for one of another node,
// on loopback without TLS: a request that is answered in Receive, and a delegation, with 64 under
// way.
func BenchmarkTwoNodes(b *testing.B) {
	nodes := newCluster(b, 2)
	echo := always(scripted{topics: []string{"x"}, receive: func(c *actors.Context, m *p.Message) {
		if m.Performative().ExpectsReply() {
			_ = c.ReplyAs(m, p.ActAgree, nil)
		}
	}})
	for i, n := range nodes {
		spawn(b, n, p.AgentID(fmt.Sprint("echo", i)), echo)
		spawn(b, n, p.AgentID(fmt.Sprint("worker", i)), func() actors.Agent { return colleague{} })
	}
	knowsTopic(b, nodes[0], "echo1")
	knowsTopic(b, nodes[0], "worker1")
	for i, where := range []string{"here", "there"} {
		b.Run("ask/"+where, func(b *testing.B) {
			to := p.AgentID(fmt.Sprint("echo", i))
			underWay(b, func() error {
				_, err := nodes[0].Ask(b.Context(), to, p.Raw(`{}`), runtime.WithAct(p.ActRequest))
				return err
			})
		})
		b.Run("delegate/"+where, func(b *testing.B) {
			to := p.AgentID(fmt.Sprint("worker", i))
			underWay(b, func() error {
				_, err := nodes[0].Delegate(b.Context(), to, p.TaskRequest{TaskType: "review"})
				return err
			})
		})
	}
}

// underWay runs b.N calls, 64 at a time.
func underWay(b *testing.B, call func() error) {
	b.ReportAllocs()
	b.SetParallelism(32) // on two cores
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := call(); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// BenchmarkDirectoryConvergence measures how long it takes until all nodes know 10,000 agents that
// begin, as many on each, at the same time, and until a node that comes later knows them.
func BenchmarkDirectoryConvergence(b *testing.B) {
	const agents = 10_000
	for _, size := range []int{3, 10, 30} {
		b.Run(fmt.Sprint("nodes=", size), func(b *testing.B) {
			var known, late time.Duration
			for range b.N {
				b.StopTimer()
				nodes := newCluster(b, size)
				b.StartTimer()
				begin := time.Now()
				var spawning sync.WaitGroup
				for i, n := range nodes {
					spawning.Go(func() {
						for j := i; j < agents; j += size {
							if err := n.Spawn(b.Context(), benchAgent(j), func() actors.Agent { return colleague{} }); err != nil {
								b.Error(err)
							}
						}
					})
				}
				spawning.Wait()
				for _, n := range nodes {
					knowsAll(b, n, agents)
				}
				known += time.Since(begin)
				begin = time.Now()
				newcomer := newMember(b, "late", nodes[0].Members()[0].Gossip)
				knowsAll(b, newcomer, agents)
				late += time.Since(begin)
				b.StopTimer()
				for _, n := range append(nodes, newcomer) {
					if err := n.Stop(patience.Context(b)); err != nil {
						b.Error(err)
					}
				}
				b.StartTimer()
			}
			b.ReportMetric(float64(known.Milliseconds())/float64(b.N), "ms/known-to-all")
			b.ReportMetric(float64(late.Milliseconds())/float64(b.N), "ms/known-to-late")
		})
	}
}

// benchAgent returns the id of an agent of BenchmarkDirectoryConvergence.
func benchAgent(i int) p.AgentID { return p.AgentID(fmt.Sprint("agent-", i)) }

// knowsAll waits until a node knows so many of them. It looks up each once more than there are
// events, so that it costs the node little.
func knowsAll(b *testing.B, n *runtime.Node, agents int) {
	b.Helper()
	known := 0
	eventually(b, n, func() error {
		for ; known < agents; known++ {
			if _, ok := n.Directory().Lookup(benchAgent(known)); !ok {
				return fmt.Errorf("%s does not know %s", n.Name(), benchAgent(known))
			}
		}
		return nil
	})
}

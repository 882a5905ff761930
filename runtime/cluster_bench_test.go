package runtime_test

import (
	"fmt"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// BenchmarkTwoNodes compares work for an agent of the same node with work for one of another node, on loopback without TLS: a request that is
// answered in Receive, and a delegation, with 64 under way.
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

// BenchmarkDirectoryConvergence measures how long three nodes take to know 1,000 agents that begin on one of them.
func BenchmarkDirectoryConvergence(b *testing.B) {
	nodes := newCluster(b, 3)
	for i := range b.N {
		for j := range 1000 {
			spawn(b, nodes[0], p.AgentID(fmt.Sprintf("agent-%d-%d", i, j)), func() actors.Agent { return colleague{} })
		}
		for _, n := range nodes[1:] {
			eventually(b, n, func() error {
				if got := len(n.Directory().IDs()); got < 1000*(i+1) {
					return fmt.Errorf("%s knows %d agents", n.Name(), got)
				}
				return nil
			})
		}
	}
}

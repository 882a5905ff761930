package runtime_test

import (
	"strconv"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// BenchmarkIdleAgent measures the memory of an agent that a node has spawned and that has nothing
// to do, of 10,000.
func BenchmarkIdleAgent(b *testing.B) {
	const agents = 10_000
	for b.Loop() {
		n := newNode(b, runtime.Options{})
		before := memoryInUse()
		for i := range agents {
			if err := n.Spawn(b.Context(), performatives.AgentID("agent-"+strconv.Itoa(i)), func() actors.Agent { return idler{} }); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(memoryInUse()-before)/agents, "B/agent")
		_ = n.Stop(b.Context())
	}
}

// idler is an agent that offers nothing.
type idler struct{ colleague }

func (idler) Describe() performatives.Capabilities { return performatives.Capabilities{} }

package agenttest

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/watch"
	"github.com/ribosome-agents/ribosome/internal/systemtest"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// Node is a node under test, on virtual time. All its methods may be called from any
// goroutine of the test.
type Node struct {
	*runtime.Node
	t     testing.TB
	world *systemtest.World

	mu     sync.Mutex
	agents map[performatives.AgentID]spawned
}

// spawned is how to spawn an agent again.
type spawned struct {
	create func() actors.Agent
	opts   []runtime.SpawnOption
}

// Run runs a test with a node, in a testing/synctest bubble: time stands still while anything runs,
// and passes at once while everything waits. At the end it stops the node. The test fails for each
// [Problem] that [Node.Allow] does not name, and for a [Fault] without a message. It also fails for
// a leftover agent, conversation or job.
//
// Options.Dispatcher, Options.Watch and Options.Network have defaults for tests; the log
// of Options.Logger goes on.
func Run(t *testing.T, o runtime.Options, test func(t *testing.T, n *Node)) {
	t.Helper()
	systemtest.Bubble(t, func(t *testing.T) {
		n := start(t, o)
		defer n.end()
		test(t, n)
	})
}

// start starts the node.
func start(t testing.TB, o runtime.Options) *Node {
	t.Helper()
	w := systemtest.New(func(format string, args ...any) { t.Errorf("agenttest: "+format, args...) })
	o.Logger, o.Dispatcher = w.Logger(o.Logger), w.Dispatcher(o.Dispatcher)
	if o.Watch == nil {
		o.Watch = &watch.Options{}
	}
	between := o.Network
	o.Network = func(next actors.Router) actors.Router {
		if between != nil {
			next = between(next)
		}
		w.Net.Next = next
		return &w.Net
	}
	node, err := runtime.New(o)
	if err != nil {
		t.Fatal(err)
	}
	w.Watch(node.System())
	return &Node{Node: node, t: t, world: w, agents: map[performatives.AgentID]spawned{}}
}

// end stops the node and reports the problems.
func (n *Node) end() {
	synctest.Wait()
	n.world.End(n.t.Context(), n.Node.Stop)
	if lost := n.WatchCounts().Dropped; lost > 0 {
		n.t.Errorf("agenttest: %d messages were not watched, so not all was checked", lost)
	}
}

// Spawn starts an agent. The test fails when it does not start. After a restart the agent
// goes on with the same value: see [Node.SpawnNew].
func (n *Node) Spawn(id performatives.AgentID, agent actors.Agent, opts ...runtime.SpawnOption) {
	n.t.Helper()
	n.SpawnNew(id, func() actors.Agent { return agent }, opts...)
}

// SpawnNew starts an agent whose value create returns, at each restart a new one.
func (n *Node) SpawnNew(id performatives.AgentID, create func() actors.Agent, opts ...runtime.SpawnOption) {
	n.t.Helper()
	n.mu.Lock()
	n.agents[id] = spawned{create, slices.Clone(opts)}
	n.mu.Unlock()
	if err := n.Node.Spawn(n.t.Context(), id, create, opts...); err != nil {
		n.t.Fatalf("agenttest: %s did not start: %v", id, err)
	}
}

// StopAgent stops an agent and waits until it has stopped. Its conversations end as their
// tables say.
func (n *Node) StopAgent(id performatives.AgentID) {
	n.t.Helper()
	if err := n.Node.StopAgent(n.t.Context(), id); err != nil {
		n.t.Fatalf("agenttest: %s did not stop: %v", id, err)
	}
}

// RestartAgent stops an agent of [Node.Spawn] or [Node.SpawnNew], and starts it again.
func (n *Node) RestartAgent(id performatives.AgentID) {
	n.t.Helper()
	n.mu.Lock()
	s, known := n.agents[id]
	n.mu.Unlock()
	if !known {
		n.t.Fatalf("agenttest: %s was not spawned by this test", id)
	}
	n.StopAgent(id)
	n.SpawnNew(id, s.create, s.opts...)
}

// Advance lets time pass, until all that happens in it has happened.
func (n *Node) Advance(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // the clock of a synctest bubble
	synctest.Wait()
}

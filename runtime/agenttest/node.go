package agenttest

import (
	"context"
	"log/slog"
	goruntime "runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/watch"
	"github.com/ribosome-agents/ribosome/internal/enginedispatcher"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// Node is a node under test, on virtual time. All its methods may be called from any
// goroutine of the test.
type Node struct {
	*runtime.Node
	t       testing.TB
	network network
	log     errorLog
	events  *events.Subscription
	letters *events.Subscription // dead letters

	mu      sync.Mutex
	agents  map[performatives.AgentID]spawned
	excused map[Problem]bool
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
	synctest.Test(t, func(t *testing.T) {
		defer time.Sleep(time.Minute) //nolint:forbidigo // the clock of a synctest bubble; the engine has a goroutine that waits for a timer
		n, end := start(t, o)
		defer end()
		test(t, n)
	})
}

// eventQueue is the largest number of events of a test that its end reads.
const eventQueue = 1 << 14

// start starts the node. end stops it, and reports all problems.
func start(t testing.TB, o runtime.Options) (n *Node, end func()) {
	t.Helper()
	before := codons.CheckPayloads.Swap(true)
	t.Cleanup(func() { codons.CheckPayloads.Store(before) })
	n = &Node{t: t, agents: map[performatives.AgentID]spawned{}, excused: map[Problem]bool{}}
	o.Logger = slog.New(n.log.handler(o.Logger))
	if o.Watch == nil {
		o.Watch = &watch.Options{}
	}
	var pool *actors.Pool
	if o.Dispatcher == nil && !enginedispatcher.Enabled { // with one worker, an agent that waits would stop the clock
		pool = actors.NewPool(actors.PoolOptions{Workers: max(4, goruntime.GOMAXPROCS(0))})
		o.Dispatcher = pool
	}
	between := o.Network
	o.Network = func(next actors.Router) actors.Router {
		if between != nil {
			next = between(next)
		}
		n.network.next = next
		return &n.network
	}
	node, err := runtime.New(o)
	if err != nil {
		t.Fatal(err)
	}
	n.Node, n.network.system = node, node.System()
	n.events = node.Events().Subscribe(events.SubscribeOptions{Capacity: eventQueue, Kinds: []events.Kind{
		lifecycle.KindViolation, lifecycle.KindPayload,
	}})
	n.letters = node.Events().Subscribe(events.SubscribeOptions{Capacity: eventQueue, Kinds: []events.Kind{events.KindMessageDeadLettered}})
	return n, func() { n.end(pool) }
}

// end stops the node and reports the problems.
func (n *Node) end(pool *actors.Pool) {
	n.t.Helper()
	synctest.Wait()
	n.letters.Close()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(n.t.Context()), 10*time.Minute)
	defer cancel()
	if err := n.Node.Stop(ctx); err != nil {
		n.t.Errorf("agenttest: the node did not stop: %v", err)
	}
	if c := n.Node.Counts(); c.Agents != 0 || c.Open != 0 || c.Working != 0 {
		n.t.Errorf("agenttest: after the end %d agents, %d conversations and %d jobs are left", c.Agents, c.Open, c.Working)
	}
	if pool != nil {
		if err := pool.Close(ctx); err != nil {
			n.t.Errorf("agenttest: the workers did not stop: %v", err)
		}
	}
	n.events.Close()
	n.checkDeadLetters()
	n.check()
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

package runtime_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/library"
	"github.com/ribosome-agents/ribosome/codons/subscribe"
	"github.com/ribosome-agents/ribosome/codons/tool"
	"github.com/ribosome-agents/ribosome/codons/watch"
	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

const (
	simAgents = 50
	simAskers = 30               // agents that run errands
	simBusy   = 2 * time.Minute  // duration of the errands
	simPause  = 55 * time.Second // longest pause between errands of one agent
	simCalm   = 20 * time.Second // longest time between bursts of lost messages, and between losses of memory
	simQuiet  = 10 * time.Minute // longer than any conversation
)

// simSwarm is a swarm of agents on one node, in a simulation.
type simSwarm struct {
	*simRecorder
	t     *testing.T
	sim   *actors.Sim
	dice  *simDice
	node  *runtime.Node
	net   *simNetwork
	tools *tool.Tools
	news  map[p.AgentID]*subscribe.Topic[int] // one topic per agent, which survives the agent's stop
}

// newSimSwarm returns a swarm. Only one that is checked records its conversations.
func newSimSwarm(t *testing.T, seed uint64, checked bool) *simSwarm {
	s := &simSwarm{
		simRecorder: newSimRecorder(), t: t,
		sim:  actors.NewSim(actors.SimOptions{Seed: seed, Settle: synctest.Wait}),
		dice: &simDice{rand: rand.New(rand.NewPCG(seed, 1))},
	}
	s.net = &simNetwork{swarm: s}
	s.tools = s.newTools()
	s.news = make(map[p.AgentID]*subscribe.Topic[int], simAgents)
	for i := range simAgents {
		s.news[simID(i)] = subscribe.NewTopic[int](subscribe.TopicOptions{Buffer: 3, History: 5})
	}
	node, err := runtime.New(runtime.Options{
		Logger:     slog.New(slog.DiscardHandler),
		Dispatcher: s.sim, Stamper: &simStamper{}, Capacity: 64,
		Supervision: actors.Supervision{Backoff: actors.Backoff{Jitter: 0.5}, Random: s.dice.fraction},
		Times:       codons.Times{Grace: 300 * time.Millisecond},
		Network:     s.net.between,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.node = node
	s.events = node.Events().Subscribe(events.SubscribeOptions{Capacity: 1 << 16, Kinds: simKinds(checked)})
	return s
}

// watch starts a Watch of all codons.
func (s *simSwarm) watch() *watch.Watch {
	w, err := watch.New(s.node.Events(), watch.Options{Codons: library.Codons(), Conversations: 1 << 14, Messages: watch.MaxMessages})
	if err != nil {
		s.t.Fatal(err)
	}
	return w
}

// run is the whole scenario. It runs as a part of the simulation.
func (s *simSwarm) run() {
	for i := range simAgents {
		s.spawn(simID(i))
	}
	var busy sync.WaitGroup
	for i := range simAskers {
		s.begin(&busy, func() { s.runErrands(simID(i)) })
	}
	s.begin(&busy, s.disturb)
	s.begin(&busy, s.storm)
	s.begin(&busy, s.losePeers)
	s.begin(&busy, s.forget)
	s.begin(&busy, s.publish)
	busy.Wait()
	s.sim.Yield("live")
	s.net.lossless = true
	s.idle("live", simQuiet)
	if n := s.node.Counts(); n.Open != 0 || n.Working != 0 {
		s.t.Errorf("when all should be over: %+v", n)
	}
	s.stop()
}

func (s *simSwarm) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.node.Stop(ctx); err != nil {
		s.t.Errorf("Stop: %v", err)
	}
	s.counts = s.node.Counts()
	if s.counts.Agents != 0 {
		s.t.Errorf("after the end: %+v", s.counts)
	}
}

// begin starts fn as a part of the simulation.
func (s *simSwarm) begin(wg *sync.WaitGroup, fn func()) {
	wg.Add(1)
	s.sim.Go(func() {
		defer wg.Done()
		fn()
	})
}

func (s *simSwarm) spawn(id p.AgentID) {
	err := s.node.Spawn(context.Background(), id, func() actors.Agent { return newSimAgent(s, id) })
	s.sim.Yield("spawn " + string(id))
	s.note("spawned %s: %v", id, err)
}

// runErrands lets one agent run errands for simBusy, also while it is stopped and spawned
// again.
func (s *simSwarm) runErrands(id p.AgentID) {
	x := &simErrand{simSwarm: s, name: "asker " + string(id)}
	for start := time.Now(); time.Since(start) < simBusy; {
		s.idle(x.name, s.dice.upTo(simPause))
		self, ok := s.node.System().Lookup(id)
		if !ok {
			continue
		}
		x.self = self
		e := pick(s.dice, errands)
		s.deeds.count(e.name)
		end := e.do(x)
		s.sim.Yield(x.name)
		s.note("%s: %s: %s", id, e.name, end)
	}
}

// disturb stops agents and spawns them again, and makes others fail.
func (s *simSwarm) disturb() {
	for start := time.Now(); time.Since(start) < simBusy; {
		s.idle("disturb", s.dice.upTo(10*time.Second))
		id := s.randomAgent()
		if self, ok := s.node.System().Lookup(id); ok && s.dice.oneIn(3) {
			s.deeds.count("fail")
			_ = self.Later(func(actors.Agent) { panic("disturbed") })
			continue
		}
		s.deeds.count("stop and spawn")
		if err := s.node.StopAgent(context.Background(), id); err != nil {
			s.t.Error(err)
		}
		s.idle("disturb", s.dice.upTo(time.Second))
		s.spawn(id)
	}
}

// storm has the network lose bursts of messages.
func (s *simSwarm) storm() {
	for start := time.Now(); time.Since(start) < simBusy; {
		s.idle("storm", s.dice.upTo(simCalm))
		s.deeds.count("lose a burst")
		s.net.burst = time.Now().Add(s.dice.upTo(time.Second))
	}
}

// forget stops agents in the middle of a conversation and spawns them again at once. None of what
// such an agent sends as it stops arrives, so its peers do not learn that it has no memory.
func (s *simSwarm) forget() {
	for start := time.Now(); time.Since(start) < simBusy; {
		s.idle("forget", s.dice.upTo(simCalm))
		live := codons.Conversations(s.node.System())
		if len(live) == 0 {
			continue
		}
		s.deeds.count("forget")
		s.net.cutOff = live[s.dice.n(len(live))].Agent
		err := s.node.StopAgent(context.Background(), s.net.cutOff)
		s.sim.Yield("forget")
		if err != nil {
			s.t.Error(err)
		}
		id := s.net.cutOff
		s.net.cutOff = ""
		s.spawn(id)
	}
}

// losePeers has the conversations with an agent lose it. The agent runs on and does not notice: its
// messages arrive, and those for it.
func (s *simSwarm) losePeers() {
	for start := time.Now(); time.Since(start) < simBusy; {
		s.idle("lose a peer", s.dice.upTo(simCalm))
		live := codons.Conversations(s.node.System())
		if len(live) == 0 {
			continue
		}
		s.deeds.count("lose a peer")
		s.node.System().LosePeers(p.CodeDisconnected, live[s.dice.n(len(live))].Peer)
		s.sim.Yield("lose a peer")
	}
}

// idle waits for d. The name must be unique among the waiting goroutines.
func (s *simSwarm) idle(name string, d time.Duration) {
	time.Sleep(d)
	s.sim.Yield(name)
}

// pause waits for d or the end of ctx, and returns the error of ctx. The name must be
// unique among the waiting goroutines.
func (s *simSwarm) pause(ctx context.Context, name string, d time.Duration) error {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	s.sim.Yield(name)
	return ctx.Err()
}

// simIDs are the ids of the agents.
var simIDs = func() (ids [simAgents]p.AgentID) {
	for i := range ids {
		ids[i] = p.AgentID(fmt.Sprintf("a%02d", i))
	}
	return ids
}()

func simID(i int) p.AgentID { return simIDs[i] }

// randomAgent returns the id of an agent that may or may not be running.
func (s *simSwarm) randomAgent() p.AgentID { return simID(s.dice.n(simAgents)) }

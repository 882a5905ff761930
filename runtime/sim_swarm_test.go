package runtime_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

const (
	simAgents = 50
	simAskers = 30               // of them
	simBusy   = 2 * time.Minute  // for so long they run errands
	simPause  = 55 * time.Second // at most, between one's errands
	simQuiet  = 10 * time.Minute // longer than any conversation
)

// simSwarm is a swarm of agents on one node, in an order that its seed decides.
type simSwarm struct {
	*chronicle
	t    *testing.T
	sim  *actors.Sim
	dice *simDice
	node *runtime.Node
	net  *simNetwork
	news map[p.AgentID]*codons.Topic[int] // of each agent; they outlive it
}

func newSimSwarm(t *testing.T, seed uint64) *simSwarm {
	s := &simSwarm{
		chronicle: newChronicle(), t: t,
		sim:  actors.NewSim(actors.SimOptions{Seed: seed, Settle: synctest.Wait}),
		dice: &simDice{rand: rand.New(rand.NewPCG(seed, 1))},
	}
	s.net = &simNetwork{swarm: s}
	s.news = make(map[p.AgentID]*codons.Topic[int], simAgents)
	for i := range simAgents {
		s.news[simID(i)] = codons.NewTopic[int](codons.TopicOptions{Buffer: 3, History: 5})
	}
	node, err := runtime.New(runtime.Options{
		Dispatcher: s.sim, Stamper: &simStamper{}, Capacity: 64,
		Supervision: actors.Supervision{Backoff: actors.Backoff{Jitter: 0.5}, Random: s.dice.fraction},
		Times:       codons.Times{Grace: 300 * time.Millisecond},
	}.WithNetwork(s.net.between))
	if err != nil {
		t.Fatal(err)
	}
	s.node = node
	node.Events().Listen(s.observe)
	return s
}

// guard has the codons watched.
func (s *simSwarm) guard() *codons.Watch {
	w, err := codons.NewWatch(s.node.Events(), codons.WatchOptions{Conversations: 1 << 14, Messages: codons.MaxWatchedMessages})
	if err != nil {
		s.t.Fatal(err)
	}
	return w
}

// live is all that happens. It runs as a part of the simulation.
func (s *simSwarm) live() {
	for i := range simAgents {
		s.spawn(simID(i))
	}
	var busy sync.WaitGroup
	for i := range simAskers {
		s.begin(&busy, func() { s.ask(simID(i)) })
	}
	s.begin(&busy, s.disturb)
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
	err := s.node.Spawn(context.Background(), id, func() actors.Agent { return newCitizen(s, id) })
	s.sim.Yield("spawn " + string(id))
	s.note("spawned %s: %v", id, err)
}

// ask has one agent run errands for a while, also when it is stopped and comes
// back in between.
func (s *simSwarm) ask(id p.AgentID) {
	x := &errand{simSwarm: s, name: "asker " + string(id)}
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

// disturb stops agents and spawns them again, and has others fail.
func (s *simSwarm) disturb() {
	for start := time.Now(); time.Since(start) < simBusy; {
		s.idle("disturb", s.dice.upTo(10*time.Second))
		id := s.anyone()
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

// idle waits for d. Nobody else waits under that name.
func (s *simSwarm) idle(name string, d time.Duration) {
	time.Sleep(d)
	s.sim.Yield(name)
}

// pause waits for d, or for the end of ctx, which it returns. Nobody else waits
// under that name.
func (s *simSwarm) pause(ctx context.Context, name string, d time.Duration) error {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	s.sim.Yield(name)
	return ctx.Err()
}

func simID(i int) p.AgentID { return p.AgentID(fmt.Sprintf("a%02d", i)) }

// anyone is an agent that may run or not.
func (s *simSwarm) anyone() p.AgentID { return simID(s.dice.n(simAgents)) }

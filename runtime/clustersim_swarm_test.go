package runtime_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/cluster/membership"
	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire/grpc"
)

// clusterSwarm is a cluster of nodes with agents, in one simulation.
type clusterSwarm struct {
	t       *testing.T
	sim     *actors.Sim
	dice    *simDice
	members *membership.Network
	links   *linkNetwork
	nodes   [clusterNodes]*clusterNode // nil while it is down; only steps of the simulation use it
	start   time.Time
	deeds   tally

	mu       sync.Mutex
	problems []string
	text     bytes.Buffer
	runs     int // activations so far
	serial   int // of notices
	placed   []*placedRun

	slowNews bool // a node learns of the others one by one, in up to a second each

	disturbing int       // how many disturbances are under way
	calmSince  time.Time // when the last one ended
	recorder   *clusterRecorder
}

// clusterNode is one run of a node.
type clusterNode struct {
	*runtime.Node
	index   int
	prefix  string // of the ids of its messages
	links   *simLinks
	client  actors.Self
	agents  map[p.AgentID]bool // those that run, of this node
	sim     *actors.Sim        // what it runs on
	clock   time.Duration      // how far its clock is ahead of the real time
	jumped  time.Time          // when that changed; zero: never
	pauses  [][2]time.Time     // those that are over
	crashed bool

	crashedAt time.Time
}

// now returns the time by the node's clock.
func (c *clusterNode) now() time.Time { return time.Now().Add(c.clock) }

// shifted returns what a node writes by its clock, or reads by that of another one. What runs in it
// has the real time.
func shifted(m *p.Message, ahead time.Duration) *p.Message {
	by, err := m.With(func(e *p.Envelope) {
		e.Timestamp = e.Timestamp.Add(ahead)
		if !e.ReplyBy.IsZero() {
			e.ReplyBy = e.ReplyBy.Add(ahead)
		}
	})
	if err != nil {
		panic(err)
	}
	by.SetOrigin(m.Origin())
	return by
}

// pausedWithin returns how long the node was paused in a time.
func (c *clusterNode) pausedWithin(from, to time.Time) (all time.Duration) {
	for _, pause := range c.pauses {
		if pause[0].Before(from) {
			pause[0] = from
		}
		if pause[1].After(to) {
			pause[1] = to
		}
		all += max(0, pause[1].Sub(pause[0]))
	}
	return all
}

func simulateCluster(t *testing.T, seed uint64, bugs linkBugs) (s *clusterSwarm) {
	synctest.Test(t, func(t *testing.T) {
		s = &clusterSwarm{
			t: t, sim: actors.NewSim(actors.SimOptions{Seed: seed, Settle: synctest.Wait}), start: time.Now(),
			dice:     &simDice{rand: rand.New(rand.NewPCG(seed, 1))},
			recorder: newClusterRecorder(),
		}
		s.links = newLinkNetwork(s)
		s.links.bugs = bugs
		s.members = membership.NewNetwork(membership.NetworkOptions{
			Rand: rand.New(rand.NewPCG(seed, 2)), AfterFunc: s.sim.AfterFunc, Now: time.Now, Loss: clusterLoss,
		})
		s.sim.Await(s.run)
		time.Sleep(time.Minute) // timers of the engine
		s.sim.Run()
	})
	return s
}

func (s *clusterSwarm) count(deed string) { s.deeds.count(deed) }

func (s *clusterSwarm) problem(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problems = append(s.problems, fmt.Sprintf("%8.3f ", time.Since(s.start).Seconds())+fmt.Sprintf(format, args...))
}

func (s *clusterSwarm) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recorder.observe()
	fmt.Fprintf(&s.text, "%10.3f ", time.Since(s.start).Seconds())
	fmt.Fprintf(&s.text, format+"\n", args...)
}

func (s *clusterSwarm) idle(name string, d time.Duration) {
	time.Sleep(d)
	s.sim.Yield(name)
}

func clusterNodeName(i int) string       { return fmt.Sprint("n", i+1) }
func clusterAddress(i int) string        { return clusterNodeName(i) + ":7946" }
func clusterAgent(home, i int) p.AgentID { return p.AgentID(fmt.Sprintf("n%da%d", home+1, i)) }
func (s *clusterSwarm) anyAgent() p.AgentID {
	if s.dice.oneIn(3) {
		return placedAgent(s.dice.n(clusterPlaced - 1))
	}
	return clusterAgent(s.dice.n(clusterNodes), s.dice.n(clusterAgents-1))
}

func (s *clusterSwarm) rawAgent() p.AgentID {
	if s.dice.oneIn(4) {
		return placedAgent(clusterPlaced - 1)
	}
	return clusterAgent(s.dice.n(clusterNodes), clusterAgents-1)
}

// clusterStamper gives the messages of one run of a node consecutive ids.
type clusterStamper struct {
	simStamper
	prefix string
}

// Stamp returns the next id, and the virtual time.
func (c *clusterStamper) Stamp() p.Stamp {
	stamp := c.simStamper.Stamp()
	stamp.ID = p.MessageID(c.prefix) + stamp.ID
	return stamp
}

// boot starts a node with the agents that are nowhere else.
func (s *clusterSwarm) boot(i int) {
	c := s.bootAlone(i)
	if c == nil {
		return
	}
	s.host(c)
	for a := range clusterAgents {
		id := clusterAgent(i, a)
		if s.home(id) == nil {
			s.spawn(c, id, "boot")
		}
	}
	s.note("booted %s", c.Name())
}

// bootAlone starts a node with a client. It returns nil if that failed.
func (s *clusterSwarm) bootAlone(i int) *clusterNode {
	name := clusterNodeName(i)
	c := &clusterNode{index: i, agents: make(map[p.AgentID]bool), prefix: fmt.Sprintf("%s.%d.", name, time.Since(s.start).Milliseconds()), sim: s.sim.Part()}
	if s.dice.oneIn(2) {
		c.clock = s.dice.upTo(2*time.Hour) - time.Hour
	}
	var seeds []string
	for j := range clusterNodes {
		if j != i {
			seeds = append(seeds, clusterAddress(j))
		}
	}
	options := runtime.ClusterOptions{
		Gossip: clusterAddress(i), Join: seeds, Links: name + ":1", Accept: func(func(*grpc.LinkStream)) {}, LinkTimeout: 4 * time.Second,
	}
	o := runtime.Options{
		Logger: slog.New(slog.DiscardHandler),
		Name:   name, Dispatcher: c.sim, Stamper: &clusterStamper{prefix: c.prefix},
		Supervision: actors.Supervision{Random: s.dice.fraction},
		Cluster: options.Over(runtime.SimNetwork{
			Join: func(o membership.Options) (runtime.Joiner, error) {
				s.sim.Yield("membership " + name)
				o.Epoch += uint64(c.clock.Microseconds())
				if s.links.bugs.stale {
					o.Gossiped = staleGossip{o.Gossiped, s.dice}
				}
				notify := s.slowly(o.Notify)
				o.Notify = func(e membership.Event) {
					if e.Kind == membership.Raised {
						s.count("raise an epoch")
					}
					if e.Kind != membership.Failed || !s.links.bugs.unlost {
						notify(e)
					}
				}
				m, err := s.members.Start(o)
				return simMembership{m, s, c}, err
			},
			Link: func(o nodeLinksOptions) (runtime.NodeLinks, error) {
				links, err := s.links.newLinks(o, c)
				c.links = links
				return links, err
			},
		}),
	}
	node, err := runtime.New(o.Misrouting(s.links.bugs.misroute))
	s.sim.Yield("boot " + name)
	if err != nil {
		s.problem("boot %s: %v", name, err)
		return nil
	}
	c.Node = node
	s.mu.Lock()
	s.recorder.follow(c)
	s.mu.Unlock()
	c.client, err = node.Client(context.Background(), p.AgentID(name+"c"))
	s.sim.Yield("client " + name)
	if err != nil {
		s.problem("client of %s: %v", name, err)
	}
	s.nodes[i] = c
	return c
}

// slowly returns notify, or with slowNews a function that has it called later, in the same order.
func (s *clusterSwarm) slowly(notify func(membership.Event)) func(membership.Event) {
	if !s.slowNews {
		return notify
	}
	var last time.Time
	return func(e membership.Event) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if now := time.Now(); last.Before(now) {
			last = now
		}
		last = last.Add(s.dice.upTo(time.Second))
		s.sim.AfterFunc(time.Until(last), func() { notify(e) })
	}
}

// home returns the node where an agent runs, or nil.
func (s *clusterSwarm) home(id p.AgentID) *clusterNode {
	for _, c := range s.nodes {
		if c != nil && c.agents[id] {
			return c
		}
	}
	return nil
}

func (s *clusterSwarm) spawn(c *clusterNode, id p.AgentID, by string) {
	c.agents[id] = true
	err := c.Spawn(context.Background(), id, func() actors.Agent { return s.newAgent(c, id) })
	s.sim.Yield("spawned " + string(id) + " " + by)
	if err != nil { // another node has it, or had it a moment ago
		delete(c.agents, id)
	}
	s.note("spawned %s on %s: %v", id, c.Name(), err)
}

// run is the whole scenario. It runs as a part of the simulation.
func (s *clusterSwarm) run() {
	for i := range clusterNodes {
		s.boot(i)
	}
	s.idle("run", 5*time.Second)
	var busy sync.WaitGroup
	for i := range clusterNodes {
		for a := range 2 {
			s.begin(&busy, func() { s.runErrands(i, a) })
		}
	}
	s.begin(&busy, s.disturbNodes)
	s.begin(&busy, s.disturbNetwork)
	s.begin(&busy, s.disturbAgents)
	s.begin(&busy, s.disturbClocks)
	s.begin(&busy, s.watchPlaced)
	busy.Wait()
	s.sim.Yield("busy")
	s.heal()
	for i, c := range s.nodes {
		if c == nil {
			s.boot(i)
		}
	}
	s.settle()
	s.check()
	s.stopAll()
}

// stopAll stops all nodes at the end.
func (s *clusterSwarm) stopAll() {
	for i, c := range s.nodes {
		if c != nil {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			if err := c.Stop(ctx); err != nil {
				s.problem("stop %s: %v", c.Name(), err)
			}
			cancel()
			s.sim.Yield("stopped")
			s.members.Crash(clusterAddress(i))
		}
	}
	s.links.mu.Lock()
	s.links.closed = true
	s.links.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, events := range s.recorder.sources {
		events.Close()
	}
}

func (s *clusterSwarm) begin(wg *sync.WaitGroup, fn func()) {
	wg.Add(1)
	s.sim.Go(func() {
		defer wg.Done()
		fn()
	})
}

func (s *clusterSwarm) busy() bool { return time.Since(s.start) < clusterBusy }

// settle waits until all nodes are as they should be, twice in succession, or for as long as they
// may take.
func (s *clusterSwarm) settle() {
	good := 0
	for waited := time.Duration(0); waited < clusterCalm && good < 2; waited += clusterLook {
		s.idle("calm", clusterLook)
		good++
		if len(s.unsettled()) > 0 {
			good = 0
		}
	}
}

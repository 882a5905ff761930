package runtime_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/cluster/membership"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/internal/exhaustive"
	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire/grpc"
)

const (
	clusterNodes  = 4
	clusterAgents = 6 // of each node, the last of which has no codon
	clusterBusy   = 2 * time.Minute
	clusterCalm   = 3 * time.Minute // longer than any conversation, and than the cluster takes to heal
	clusterLook   = 5 * time.Second // how often it is looked at until then
	clusterGrace  = 2 * time.Second // of a delegation, after its deadline
)

var (
	clusterSeeds = flag.Int("cluster-seeds", 0, "how many seeds TestClusterSim runs, from 1 on; 0 = a few")
	clusterSeed  = flag.Uint64("cluster-seed", 0, "the only seed that TestClusterSim runs; 0 = as many as -cluster-seeds says")
)

// TestClusterSim runs four nodes with their agents over a network that is cut, loses streams, and whose nodes pause, crash and
// restart, in virtual time and in an order that the seed determines.
func TestClusterSim(t *testing.T) {
	n := *clusterSeeds
	if n == 0 {
		n = 4
	}
	first := uint64(1)
	if *clusterSeed != 0 {
		first, n = *clusterSeed, 1
	}
	all := new(tally)
	t.Run("seeds", func(t *testing.T) {
		for seed := first; seed < first+uint64(n); seed++ {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				runClusterSeed(t, seed, seed == first, all)
			})
		}
	})
	for _, deed := range []string{"partition", "cut one way", "pause", "crash", "move", "stop and spawn", "break streams", "give a link up", "a job", "success"} {
		if n >= 4 && all.of(deed) == 0 {
			t.Errorf("there was never a %q: the simulation is too mild", deed)
		}
	}
	if testing.Verbose() {
		t.Logf("\n%s", all)
	}
}

// runClusterSeed runs one simulation, or the same twice.
func runClusterSeed(t *testing.T, seed uint64, twice bool, all *tally) {
	s := simulateCluster(t, seed, linkBugs{})
	for _, problem := range s.problems {
		t.Error(problem)
	}
	if twice {
		again := simulateCluster(t, seed, linkBugs{})
		if diff := firstDifference(s.text.String(), again.text.String()); diff != "" {
			t.Errorf("another transcript the second time:\n%s", diff)
		}
	}
	if len(s.problems) > 0 {
		t.Logf("to repeat: go test ./runtime -run '^TestClusterSim$' -v -cluster-seed %d", seed)
	}
	all.add(&s.deeds)
	if *clusterSeed != 0 && testing.Verbose() {
		t.Logf("%s\n%s", &s.text, &s.deeds)
	}
}

// TestClusterSimFindsBugs plants one fault at a time, and expects that a seed finds it.
func TestClusterSimFindsBugs(t *testing.T) {
	if !exhaustive.Enabled() {
		t.Skip("a long test: make check-all")
	}
	for name, bugs := range map[string]linkBugs{
		"a repeated message": {repeat: true},
		"a lost message":     {forget: true},
		"a stale directory":  {stale: true},
		"a peer not lost":    {unlost: true},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := uint64(1); seed <= 1000; seed++ {
				if s := simulateCluster(t, seed, bugs); len(s.problems) > 0 {
					t.Logf("seed %d: %s", seed, s.problems[0])
					return
				}
			}
			t.Error("it is not found")
		})
	}
}

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
	runs     int                    // activations so far
	notices  map[p.MessageID]notice // those of a client to a raw agent
	settled  map[p.MessageID]bool   // those that were received, refused or dead-lettered
	events   []*actors.Subscription
}

// notice is an INFORM that was sent without a codon.
type notice struct {
	from, to *clusterNode // to is nil when the agent was nowhere
	at       time.Time
}

// clusterNode is one run of a node.
type clusterNode struct {
	*runtime.Node
	index   int
	links   *simLinks
	client  actors.Self
	agents  map[p.AgentID]bool // those that run, of this node
	crashed bool
}

func simulateCluster(t *testing.T, seed uint64, bugs linkBugs) (s *clusterSwarm) {
	synctest.Test(t, func(t *testing.T) {
		s = &clusterSwarm{
			t: t, sim: actors.NewSim(actors.SimOptions{Seed: seed, Settle: synctest.Wait}), start: time.Now(),
			dice:    &simDice{rand: rand.New(rand.NewPCG(seed, 1))},
			notices: make(map[p.MessageID]notice), settled: make(map[p.MessageID]bool),
		}
		s.links = newLinkNetwork(s)
		s.links.bugs = bugs
		s.members = membership.NewNetwork(membership.NetworkOptions{
			Rand: rand.New(rand.NewPCG(seed, 2)), AfterFunc: s.sim.AfterFunc, Now: time.Now, Loss: 0.01,
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
	return clusterAgent(s.dice.n(clusterNodes), s.dice.n(clusterAgents-1))
}

func (s *clusterSwarm) rawAgent() p.AgentID {
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
	name := clusterNodeName(i)
	c := &clusterNode{index: i, agents: make(map[p.AgentID]bool)}
	var seeds []string
	for j := range clusterNodes {
		if j != i {
			seeds = append(seeds, clusterAddress(j))
		}
	}
	options := runtime.ClusterOptions{
		Gossip: clusterAddress(i), Join: seeds, Links: name + ":1", Accept: func(func(*grpc.LinkStream)) {}, LinkTimeout: 4 * time.Second,
	}
	node, err := runtime.New(runtime.Options{
		Name: name, Dispatcher: s.sim, Stamper: &clusterStamper{prefix: fmt.Sprintf("%s.%d.", name, time.Since(s.start).Milliseconds())},
		Supervision: actors.Supervision{Random: s.dice.fraction},
		Cluster: options.Over(runtime.SimNetwork{
			Membership: func(o membership.Options) (runtime.Joining, error) {
				s.sim.Yield("membership " + name)
				if s.links.bugs.stale {
					o.Gossiped = staleGossip{o.Gossiped}
				}
				if notify := o.Notify; s.links.bugs.unlost {
					o.Notify = func(e membership.Event) {
						if e.Kind != membership.Failed {
							notify(e)
						}
					}
				}
				m, err := s.members.Start(o)
				return simMembership{m}, err
			},
			Links: func(o nodeLinksOptions) (runtime.NodeLinks, error) {
				links, err := s.links.newLinks(o)
				c.links = links
				return links, err
			},
		}),
	})
	s.sim.Yield("boot " + name)
	if err != nil {
		s.problem("boot %s: %v", name, err)
		return
	}
	c.Node = node
	events := node.Events().Subscribe(actors.SubscribeOptions{
		Capacity: 1 << 14, Kinds: []actors.Kind{actors.KindMessageRefused, actors.KindMessageDeadLettered},
	})
	s.mu.Lock()
	s.events = append(s.events, events)
	s.mu.Unlock()
	c.client, err = node.Client(context.Background(), p.AgentID(name+"c"))
	s.sim.Yield("client " + name)
	if err != nil {
		s.problem("client of %s: %v", name, err)
	}
	s.nodes[i] = c
	for a := range clusterAgents {
		id := clusterAgent(i, a)
		if s.home(id) == nil {
			s.spawn(c, id, "boot")
		}
	}
	s.note("booted %s", name)
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
	for _, e := range s.events {
		e.Close()
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

// heal ends all that disturbs the network.
func (s *clusterSwarm) heal() {
	s.members.Heal()
	s.links.mu.Lock()
	clear(s.links.cut)
	s.links.mu.Unlock()
	for i := range clusterNodes {
		s.resume(i)
	}
}

func (s *clusterSwarm) resume(i int) {
	s.members.Resume(clusterAddress(i))
	s.links.resume(clusterNodeName(i))
}

func (s *clusterSwarm) cut(from, to int, cut bool) {
	s.members.Cut(clusterAddress(from), clusterAddress(to), cut)
	s.links.mu.Lock()
	defer s.links.mu.Unlock()
	s.links.cut[[2]string{clusterNodeName(from), clusterNodeName(to)}] = cut
}

// disturbNetwork cuts the network, and breaks streams.
func (s *clusterSwarm) disturbNetwork() {
	for s.busy() {
		s.idle("network", s.dice.upTo(12*time.Second))
		switch s.dice.n(4) {
		case 0:
			s.count("partition")
			side := 1 + s.dice.n(1<<clusterNodes-2)
			for i := range clusterNodes {
				for j := range clusterNodes {
					s.cut(i, j, side>>i&1 != side>>j&1)
				}
			}
			s.note("partition %b", side)
			s.idle("network", s.dice.upTo(20*time.Second))
			s.cutNothing()
		case 1:
			s.count("cut one way")
			i := s.dice.n(clusterNodes)
			j := (i + 1 + s.dice.n(clusterNodes-1)) % clusterNodes
			s.cut(i, j, true)
			s.note("cut %d to %d", i+1, j+1)
			s.idle("network", s.dice.upTo(20*time.Second))
			s.cutNothing()
		default:
			s.count("break streams")
			s.note("break streams")
			s.links.breakSome()
		}
	}
}

func (s *clusterSwarm) cutNothing() {
	s.note("heal")
	s.members.Heal()
	s.links.mu.Lock()
	defer s.links.mu.Unlock()
	clear(s.links.cut)
}

// disturbNodes pauses, crashes and restarts nodes.
func (s *clusterSwarm) disturbNodes() {
	for s.busy() {
		s.idle("nodes", s.dice.upTo(20*time.Second))
		i := s.dice.n(clusterNodes)
		c := s.nodes[i]
		if s.dice.oneIn(2) {
			s.count("pause")
			s.note("pause %s", c.Name())
			s.members.Pause(clusterAddress(i))
			s.links.mu.Lock()
			s.links.paused[c.Name()] = true
			s.links.mu.Unlock()
			s.idle("nodes", s.dice.upTo(15*time.Second))
			s.note("resume %s", c.Name())
			s.resume(i)
			continue
		}
		s.count("crash")
		s.note("crash %s", c.Name())
		s.crash(i)
		s.idle("nodes", s.dice.upTo(20*time.Second))
		s.boot(i)
	}
}

// crash ends a node: the others hear nothing of it any more. What it does until it has stopped reaches nobody.
func (s *clusterSwarm) crash(i int) {
	c := s.nodes[i]
	s.nodes[i] = nil
	c.crashed = true
	s.members.Crash(clusterAddress(i))
	c.links.crash()
	s.sim.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := c.Stop(ctx); err != nil {
			s.problem("stop of the crashed %s: %v", c.Name(), err)
		}
		s.sim.Yield("crashed " + c.Name())
	})
}

// disturbAgents stops agents, and spawns them there again or at another node.
func (s *clusterSwarm) disturbAgents() {
	for s.busy() {
		s.idle("agents", s.dice.upTo(5*time.Second))
		id := clusterAgent(s.dice.n(clusterNodes), s.dice.n(clusterAgents))
		from := s.home(id)
		if from == nil {
			continue
		}
		_ = from.StopAgent(context.Background(), id) // it has crashed
		s.sim.Yield("agents")
		delete(from.agents, id)
		to := s.nodes[s.dice.n(clusterNodes)]
		s.idle("agents", s.dice.upTo(3*time.Second))
		switch {
		case to == nil, to.crashed, s.home(id) != nil: // a node that has restarted has it
		case to == from:
			s.count("stop and spawn")
			s.spawn(to, id, "again")
		default:
			s.count("move")
			s.spawn(to, id, "moved")
		}
	}
}

// runErrands has a client start conversations.
func (s *clusterSwarm) runErrands(i, a int) {
	name := fmt.Sprintf("asker %d.%d", i, a)
	for s.busy() {
		s.idle(name, s.dice.upTo(2*time.Second))
		c := s.nodes[i]
		if c == nil {
			continue
		}
		switch s.dice.n(8) {
		case 0, 1, 2, 3:
			s.delegate(c, name)
		case 4, 5:
			s.ask(c, name)
		case 6:
			s.inform(c, s.rawAgent())
		default:
			s.inform(c, "")
		}
	}
}

// delegate delegates a task, and checks that it ends in time.
func (s *clusterSwarm) delegate(c *clusterNode, name string) {
	to, limit := s.anyAgent(), s.dice.upTo(10*time.Second)
	options := []codons.Option{codons.WithGrace(time.Second), codons.WithPriority(p.Low + p.Priority(s.dice.n(int(p.Bands))))}
	if s.dice.oneIn(2) {
		options = append(options, codons.WithRetry(codons.Retry{First: 300 * time.Millisecond, Jitter: -1}))
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if s.dice.oneIn(4) {
		c.System().AfterFunc(s.dice.upTo(limit), cancel)
	}
	began := time.Now()
	r, err := delegation.Delegate(ctx, c.client, to, p.TaskRequest{TaskType: "simulate"}, options...)
	s.sim.Yield(name)
	s.note("%s delegated to %s: %s %v", name, to, r.Status, err)
	if late := time.Since(began) - limit; late > clusterGrace && !c.crashed {
		s.problem("%s: a delegation to %s ends %v after its deadline: %v", name, to, late, err)
	}
	if err == nil {
		s.count("success")
	}
}

// ask asks an agent without a codon.
func (s *clusterSwarm) ask(c *clusterNode, name string) {
	ctx, cancel := context.WithTimeout(context.Background(), s.dice.upTo(3*time.Second))
	defer cancel()
	to := s.rawAgent()
	_, err := c.Ask(ctx, to, p.Raw(`{}`), runtime.WithAct(p.ActRequest))
	s.sim.Yield(name)
	s.note("%s asked %s: %v", name, to, err)
	if err == nil {
		s.count("answer")
	}
}

// inform sends a message without a reply. Each but a broadcast must be received, refused or dead-lettered.
func (s *clusterSwarm) inform(c *clusterNode, to p.AgentID) {
	stamp := c.client.Stamp()
	m, err := p.New(p.Envelope{
		ID: stamp.ID, Timestamp: stamp.Time, Sender: c.client.ID(), Receiver: to, Performative: p.ActInform,
		Protocol: simSmallTalk, Payload: p.Raw(`{}`),
	})
	if err != nil {
		s.problem("%v", err)
		return
	}
	if to != "" {
		s.mu.Lock()
		s.notices[stamp.ID] = notice{c, s.home(to), time.Now()}
		s.mu.Unlock()
	}
	if err = c.client.Send(m); err != nil {
		s.mu.Lock()
		delete(s.notices, stamp.ID)
		s.mu.Unlock()
	}
	s.note("%s informed %q: %s %v", c.Name(), to, stamp.ID, err)
}

// settle waits until all nodes are as they should be, twice in succession, or for as long as they may take.
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

// check reports what is wrong after the calm.
func (s *clusterSwarm) check() {
	for _, wrong := range s.unsettled() {
		s.problem("%s", wrong)
	}
	s.checkNotices()
}

// unsettled compares all nodes with what they should be after the calm.
func (s *clusterSwarm) unsettled() (wrong []string) {
	problem := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	var truth []string
	for _, c := range s.nodes {
		for id := range c.agents {
			truth = append(truth, string(id)+" on "+c.Name())
		}
	}
	slices.Sort(truth)
	for _, c := range s.nodes {
		var seen []string
		for _, e := range c.Directory().All() {
			seen = append(seen, string(e.ID)+" on "+e.Node)
			if len(e.Capabilities.Actions) == 0 {
				problem("%s does not know what %s can do", c.Name(), e.ID)
			}
		}
		slices.Sort(seen)
		if !slices.Equal(seen, truth) {
			problem("the directory of %s is\n%s, want\n%s", c.Name(), strings.Join(seen, ", "), strings.Join(truth, ", "))
		}
		if n := c.Counts(); n.Open != 0 || n.Working != 0 {
			problem("%s: %d conversations are open, and %d handlers run: %+v", c.Name(), n.Open, n.Working, c.Conversations())
		}
		if n := c.OpenRecords(); n != 0 {
			problem("%s: %d records are open", c.Name(), n)
		}
		if lost := c.HeardOver(); len(lost) > 0 {
			problem("%s remembers agents of lost nodes: %v", c.Name(), lost)
		}
		if n, links := len(c.Members()), c.NodeLinks(); n != clusterNodes || links != clusterNodes-1 {
			problem("%s knows %d members, and has links to %d", c.Name(), n, links)
		}
	}
	return wrong
}

// checkNotices checks that no message was lost without a refusal, unless it was on its way from or to a node that crashed.
func (s *clusterSwarm) checkNotices() {
	s.mu.Lock()
	for _, events := range s.events {
		for len(events.C) > 0 {
			switch e := (<-events.C).Event.(type) {
			case actors.MessageRefused:
				s.settled[e.Message.ID()] = true
			case actors.DeadLetter:
				if m, ok := e.Message.(*p.Message); ok {
					s.settled[m.ID()] = true
				}
			}
		}
	}
	var lost []string
	for _, id := range slices.Sorted(maps.Keys(s.notices)) {
		n := s.notices[id]
		if s.settled[id] || n.from.crashed || n.to == nil || n.to.crashed {
			continue
		}
		lost = append(lost, fmt.Sprintf("%s of %.3f from %s to %s", id, n.at.Sub(s.start).Seconds(), n.from.Name(), n.to.Name()))
	}
	s.mu.Unlock()
	for _, l := range lost {
		s.problem("lost without a refusal: %s", l)
	}
}

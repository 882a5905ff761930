package runtime_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"path"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/cluster/membership"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

const (
	rollingTopics    = 8
	rollingRestarts  = 7        // of the hosts, in turn
	rollingSingleton = "ledger" // an agent that takes notes, too
)

var (
	rollingSeeds = flag.Int("rolling-seeds", 0, "how many seeds TestRollingSim runs, from 1 on; 0 = a few")
	rollingSeed  = flag.Uint64("rolling-seed", 0, "the only seed that TestRollingSim runs; 0 = as many as -rolling-seeds says")
)

// rolling is a rolling restart of the hosts of a simulated cluster, while the first node, which
// hosts nothing, has notes taken.
type rolling struct {
	*clusterSwarm
	begun atomic.Bool // the first hosts know one another
	ended atomic.Bool // the last host was restarted

	mu    sync.Mutex
	taken map[p.MessageID]int // how often a request was performed, by whichever activation
}

// topic is an activation of an agent that counts its notes.
type topic struct {
	placedLife
	rolling *rolling
	node    *clusterNode
	notes   int
}

// Start checks that no other activation runs: the earlier one has stopped before its state went
// along.
func (t *topic) Start(c *actors.Context) error {
	err := t.placedLife.Start(c)
	if twice := t.rolling.placedTwice(); len(twice) > 0 && t.rolling.begun.Load() {
		t.rolling.problem("two activations of %s run, one on %s", twice, t.node.Name())
	}
	return err
}

func (*topic) Describe() p.Capabilities { return p.Capabilities{Topics: []string{"notes"}} }

// ConsiderTask counts a note.
func (t *topic) ConsiderTask(_ context.Context, task delegation.Task) delegation.Decision {
	t.notes++
	r := t.rolling
	r.mu.Lock()
	r.taken[task.Message.ID()]++
	again := r.taken[task.Message.ID()] > 1
	r.mu.Unlock()
	r.note("%s takes %s as note %d on %s", task.Message.Receiver(), task.Message.ID(), t.notes, t.node.Name())
	if again {
		r.problem("%s of %s is performed again, on %s", task.Message.ID(), task.Message.Receiver(), t.node.Name())
	}
	return delegation.Accept()
}

// PerformTask answers how many notes there are, at once or in a while.
func (t *topic) PerformTask(ctx context.Context, task delegation.Task) (p.InformResult, error) {
	if t.rolling.dice.oneIn(3) {
		time.Sleep(t.rolling.dice.upTo(500 * time.Millisecond))
		t.node.sim.Yield("job " + string(task.Message.ID()))
	}
	var notes int
	err := task.Agent.Do(ctx, func(actors.Agent) { notes = t.notes })
	t.node.sim.Yield("done " + string(task.Message.ID()))
	return p.InformResult{Status: p.StatusSuccess, Summary: strconv.Itoa(notes)}, err
}

func (t *topic) Snapshot() ([]byte, error) { return strconv.AppendInt(nil, int64(t.notes), 10), nil }

func (t *topic) Restore(state []byte) (err error) {
	t.notes, err = strconv.Atoi(string(state))
	return err
}

// TestRollingSim restarts each host of placed agents in turn, by a drain, while notes are taken
// over a network that is slow and breaks streams: one after the other, or each joins while the next
// one drains. No request is lost, none is performed twice, and each agent keeps its state.
func TestRollingSim(t *testing.T) {
	racetest.Skip(t) // one goroutine runs at a time
	for _, how := range []struct {
		name  string
		first uint64 // of two seeds, without flags
		run   func(*rolling)
	}{
		{"in turn", 2, (*rolling).run}, // it has a request that is passed on to a node which does not know yet where its sender is
		{"joining", 2, (*rolling).runJoining},
	} {
		t.Run(how.name, func(t *testing.T) { testRolling(t, how.first, how.run) })
	}
}

// testRolling simulates two seeds from the given one on, or those of the flags.
func testRolling(t *testing.T, first uint64, run func(*rolling)) {
	n := 2
	switch {
	case *rollingSeed != 0:
		first, n = *rollingSeed, 1
	case *rollingSeeds > 0:
		first, n = 1, *rollingSeeds
	}
	for seed := first; seed < first+uint64(n); seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := simulateRolling(t, seed, run)
			for _, problem := range r.problems {
				t.Error(problem)
			}
			if len(r.problems) > 0 {
				t.Logf("to repeat: go test ./runtime -run '^%s$' -v -rolling-seed %d", path.Dir(t.Name()), seed)
			}
			if *rollingSeed != 0 && testing.Verbose() {
				t.Logf("%s\n%s", &r.text, &r.deeds)
			}
		})
	}
}

func simulateRolling(t *testing.T, seed uint64, run func(*rolling)) (r *rolling) {
	synctest.Test(t, func(t *testing.T) {
		s := &clusterSwarm{
			t: t, sim: actors.NewSim(actors.SimOptions{Seed: seed, Settle: synctest.Wait}), start: time.Now(),
			dice:     &simDice{rand: rand.New(rand.NewPCG(seed, 3))},
			recorder: newClusterRecorder(), slowNews: true,
		}
		s.links = newLinkNetwork(s)
		s.members = membership.NewNetwork(membership.NetworkOptions{
			Rand: rand.New(rand.NewPCG(seed, 4)), AfterFunc: s.sim.AfterFunc, Now: time.Now, Loss: clusterLoss,
		})
		r = &rolling{clusterSwarm: s, taken: make(map[p.MessageID]int)}
		s.sim.Await(func() { run(r) })
		time.Sleep(time.Minute) // timers of the engine
		s.sim.Run()
	})
	return r
}

func (r *rolling) run() {
	r.bootAlone(0)
	for i := 1; i < clusterNodes; i++ {
		r.bootHost(i)
	}
	r.hosted(0, clusterNodes-1)
	var busy sync.WaitGroup
	r.begins(&busy)
	for n := range rollingRestarts {
		i := 1 + n%(clusterNodes-1)
		r.hosted(i, clusterNodes-1) // it is no node that has yet to learn of the others
		r.leave(i, "drain", (*runtime.Node).Drain)
		r.idle("restart", r.dice.upTo(time.Second))
		r.bootHost(i)
		r.hosted(0, clusterNodes-1)
	}
	r.ends(&busy)
}

// runJoining is run, but one host is always away, and comes back while the next one drains.
func (r *rolling) runJoining() {
	r.bootAlone(0)
	for i := 1; i < clusterNodes-1; i++ {
		r.bootHost(i)
	}
	r.hosted(0, clusterNodes-2)
	var busy sync.WaitGroup
	r.begins(&busy)
	away := clusterNodes - 1
	for n := range rollingRestarts {
		i := 1 + n%(clusterNodes-1)
		r.hosted(i, clusterNodes-2)
		var joining sync.WaitGroup
		r.begin(&joining, func() {
			r.idle("join", r.dice.upTo(3*time.Second))
			r.bootHost(away)
		})
		r.leave(i, "drain", (*runtime.Node).Drain)
		joining.Wait()
		r.sim.Yield("joining")
		away = i
		r.hosted(0, clusterNodes-2)
	}
	r.ends(&busy)
}

// begins begins to take notes and to disturb the network, until ends.
func (r *rolling) begins(busy *sync.WaitGroup) {
	r.idle("singleton", 10*time.Second) // nodes that begin at once may each run it, until they know one another
	r.begun.Store(true)
	for i := range rollingTopics {
		r.begin(busy, func() { r.take(placedAgent(i)) })
	}
	r.begin(busy, func() { r.take(rollingSingleton) })
	r.begin(busy, r.disturbLinks)
}

func (r *rolling) ends(busy *sync.WaitGroup) {
	r.ended.Store(true)
	busy.Wait()
	r.sim.Yield("busy")
	r.stopAll()
}

// bootHost starts a node that hosts the topics.
func (r *rolling) bootHost(i int) {
	r.bootAlone(i)
	c := r.nodes[i]
	if c == nil {
		return
	}
	for _, kind := range []string{clusterKind, rollingSingleton} {
		err := c.RegisterKind(kind, runtime.Kind{
			New: func(id p.AgentID) actors.Agent {
				return &topic{placedLife: placedLife{r.clusterSwarm, &placedRun{id: id, node: c}}, rolling: r, node: c}
			},
			Singleton: kind == rollingSingleton,
		})
		if err != nil {
			r.problem("register %s at %s: %v", kind, c.Name(), err)
		}
	}
}

// hosted waits until a node knows that so many nodes host the topics, and all others. These may not
// know all.
func (r *rolling) hosted(i, hosts int) {
	for began := time.Now(); len(r.nodes[i].Hosts(clusterKind)) < hosts || len(r.nodes[i].Mesh().Links()) < hosts; r.idle("hosted", 50*time.Millisecond) {
		if time.Since(began) > time.Minute {
			r.problem("the hosts are %v", r.nodes[i].Hosts(clusterKind))
			return
		}
	}
}

// take has notes of one topic taken, until the last host was restarted.
func (r *rolling) take(to p.AgentID) {
	c, name := r.nodes[0], "take "+string(to)
	for n := 1; !r.ended.Load(); n++ {
		r.idle(name, r.dice.upTo(400*time.Millisecond))
		began := time.Now()
		result, err := delegation.Delegate(context.Background(), c.client, to, p.TaskRequest{TaskType: "note"}, codons.WithRetry(codons.Retry{}))
		c.sim.Yield(name)
		took := time.Since(began)
		r.note("note %d of %s took %v: %s %v", n, to, took, result.Summary, err)
		if took > 5*time.Second {
			r.count("a note that was asked for again")
		}
		switch {
		case err != nil:
			r.problem("note %d of %s, after %v: %v", n, to, took, err)
			n--
		case result.Summary != strconv.Itoa(n):
			r.problem("note %d of %s, after %v: it has %s", n, to, took, result.Summary)
			n, _ = strconv.Atoi(result.Summary)
		}
	}
}

// disturbLinks slows the network in one direction, and breaks streams.
func (r *rolling) disturbLinks() {
	for !r.ended.Load() {
		r.idle("network", r.dice.upTo(3*time.Second))
		if r.dice.oneIn(2) {
			r.note("break streams")
			r.links.breakSome()
			continue
		}
		way := [2]string{clusterNodeName(r.dice.n(clusterNodes)), clusterNodeName(r.dice.n(clusterNodes))}
		r.note("slow %v", way)
		r.links.setSlow(way, r.dice.upTo(time.Second))
		r.idle("network", r.dice.upTo(3*time.Second))
		r.links.setSlow(way, 0)
	}
}

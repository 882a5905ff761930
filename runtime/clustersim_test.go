package runtime_test

import (
	"cmp"
	"flag"
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/internal/racetest"
	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/internal/route"
)

const (
	clusterNodes  = 4
	clusterAgents = 6 // of each node, the last of which has no codon
	clusterBusy   = 2 * time.Minute
	clusterCalm   = 3 * time.Minute  // longer than any conversation, and than the cluster takes to heal
	clusterLook   = 5 * time.Second  // how often it is looked at until then
	clusterLoss   = 0.01             // of packets of the gossip, in quiet times
	clusterGrace  = 2 * time.Second  // of a conversation, after its deadline
	clusterFlight = 30 * time.Second // the longest time that a message may be on its way
)

var (
	clusterSeeds = flag.Int("cluster-seeds", 0, "how many seeds TestClusterSim runs, from 1 on; 0 = a few")
	clusterSeed  = flag.Uint64("cluster-seed", 0, "the only seed that TestClusterSim runs; 0 = as many as -cluster-seeds says")
)

// TestClusterSim runs four nodes with their agents over a network that is cut, loses streams, and
// whose nodes pause, crash and restart, in virtual time and in an order that the seed determines.
func TestClusterSim(t *testing.T) {
	racetest.Skip(t) // one goroutine runs at a time
	n := cmp.Or(*clusterSeeds, 4)
	first := uint64(1)
	if *clusterSeed != 0 {
		first, n = *clusterSeed, 1
	}
	all := new(tally)
	t.Run("seeds", func(t *testing.T) {
		for seed := first; seed < first+uint64(n); seed++ {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				runClusterSeed(t, seed, (seed-first)%10 == 0, all)
			})
		}
	})
	for _, deed := range []string{"partition", "cut one way", "slow one way", "burst loss", "clock jump", "raise an epoch", "pause", "crash", "leave", "drain", "an activation", "two activations", "a state that was taken over", "stop a placed agent", "move", "stop and spawn", "break streams", "give a link up", "a link closed in order", "a node left", "a node failed", "a node unreachable", "a job", "success"} {
		if n >= 4 && all.of(deed) == 0 {
			t.Errorf("there was never a %q: the simulation is too mild", deed)
		}
	}
	if testing.Verbose() {
		t.Logf("\n%s", all)
	}
}

// runClusterSeed runs one simulation, or the same twice, which must not differ.
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
	all.add(&s.recorder.losses)
	if *clusterSeed != 0 && testing.Verbose() {
		t.Logf("%s\n%s", &s.text, &s.deeds)
	}
}

// TestClusterSimFindsBugs plants one fault at a time, and expects that a seed finds it: the one
// that found it when the test was written, or another one.
func TestClusterSimFindsBugs(t *testing.T) {
	racetest.Skip(t)
	for name, c := range map[string]struct {
		bugs linkBugs
		says string // a pattern of one of the problems
		seed uint64 // tried before 1, 2, 3 and so on
	}{
		"a repeated message":        {linkBugs{repeat: true}, `twice`, 1},
		"a lost message":            {linkBugs{forget: true}, `handled 0, refused 0, dead letters 0: sent at`, 1},
		"a stale directory":         {linkBugs{stale: true}, `^ *[0-9.]+ the directory of n\d is\n`, 2},
		"a peer not lost":           {linkBugs{unlost: true}, `knows 4 members, and has links to [4-9]`, 1},
		"a dropped refusal":         {linkBugs{mute: true}, `handled 0, refused 0, dead letters 0: sent at .* (FAILURE|TASK_REJECT) in`, 1},
		"a lost acknowledgement":    {linkBugs{unacked: true}, `which could have acknowledged`, 1},
		"a double activation":       {linkBugs{double: true}, `two activations of`, 1},
		"an order that is not kept": {linkBugs{swap: true}, `after one that was sent later`, 7},
		"a message that goes to all while its receiver moves": {linkBugs{misroute: func(_ *p.Message, _ bool, d *route.Decision) {
			if d.Do == route.Wait {
				d.Do = route.Broadcast
			}
		}}, `accepted 1, handled [2-9]`, 1},
		"a message that is noted by a node which passes it on": {linkBugs{misroute: func(_ *p.Message, _ bool, d *route.Decision) {
			if d.Do == route.Pass {
				d.Do = route.Send
			}
		}}, `ends in .*, the other side`, 34},
	} {
		t.Run(name, func(t *testing.T) {
			says := regexp.MustCompile(c.says)
			for i := range uint64(1000) {
				seed := i
				if i == 0 {
					seed = c.seed
				}
				s := simulateCluster(t, seed, c.bugs)
				if i := slices.IndexFunc(s.problems, says.MatchString); i >= 0 {
					t.Logf("seed %d: %s", seed, s.problems[i])
					return
				}
			}
			t.Error("it is not found")
		})
	}
}

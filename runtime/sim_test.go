package runtime_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/internal/racetest"
)

var seedsFlag = flag.Int("seeds", 0, "how many seeds TestSim runs, from 1 on; 0 = 20")

// TestSim runs a swarm of 50 agents with random behaviour over a network that loses,
// duplicates and delays messages, in virtual time and in an order that the seed
// determines. Two runs of one seed must produce the same transcript, byte by byte.
func TestSim(t *testing.T) {
	racetest.Skip(t)                                  // one goroutine runs at a time
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // a run is short, and its heap small
	deeds, accepted := new(tally), new(tally)
	t.Run("seeds", func(t *testing.T) {
		for _, seed := range simSeeds() {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				testSeed(t, seed, deeds, accepted)
			})
		}
	})
	if *seedFlag != 0 || t.Failed() {
		return
	}
	for _, name := range requiredActions() {
		if deeds.of(name) == 0 {
			t.Errorf("nobody ever did %q: the simulation is too mild", name)
		}
	}
	checkExceptions(t, accepted, len(simSeeds()))
}

func simSeeds() []uint64 {
	if *seedFlag != 0 {
		return []uint64{*seedFlag}
	}
	seeds := make([]uint64, cmp.Or(*seedsFlag, 20))
	for i := range seeds {
		seeds[i] = uint64(i + 1)
	}
	return seeds
}

func testSeed(t *testing.T, seed uint64, deeds, accepted *tally) {
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("to repeat: go test ./runtime -run '^TestSim$' -v -seed %d", seed)
		}
	})
	first := simulate(t, seed, true)
	if first == nil {
		return
	}
	for _, problem := range first.problems() {
		t.Error(problem)
	}
	if *seedFlag != 0 && testing.Verbose() {
		t.Logf("seed %d:\n%s\nhow both sides ended:\n%s", seed, first.transcript(), &first.pairs)
	}
	if again := simulate(t, seed, false); again != nil {
		if diff := firstDifference(first.transcript(), again.transcript()); diff != "" {
			t.Errorf("seed %d gives another transcript the second time:\n%s", seed, diff)
		}
	}
	deeds.add(first.deeds)
	accepted.add(&first.accepted)
}

// simulate returns the record of one run. A checked run has a Watch and the records of its
// conversations; it is the same run without them.
func simulate(t *testing.T, seed uint64, checked bool) (c *simRecorder) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimSwarm(t, seed, checked)
		defer s.finish()
		if checked {
			w := s.watch()
			defer func() { _ = w.Stop(t.Context()) }() // the context has not ended
		}
		s.sim.Await(s.run)
		if n := s.sim.Run(); n > 0 {
			t.Errorf("%d steps were left at the end", n)
		}
		c = s.simRecorder
		time.Sleep(time.Second) // a goroutine of the engine waits for a timer
	})
	return c
}

// firstDifference returns the first difference of two texts, with the preceding lines.
func firstDifference(a, b string) string {
	if a == b {
		return ""
	}
	as, bs := strings.SplitAfter(a, "\n"), strings.SplitAfter(b, "\n")
	i := 0
	for i < min(len(as), len(bs)) && as[i] == bs[i] {
		i++
	}
	part := func(lines []string) string { return strings.Join(lines[min(i, len(lines)):min(i+3, len(lines))], "") }
	return fmt.Sprintf("after\n%sfirst\n%sthen\n%s", strings.Join(as[max(0, i-5):i], ""), part(as), part(bs))
}

// tally counts by name.
type tally struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *tally) count(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = make(map[string]int)
	}
	c.n[name]++
}

func (c *tally) add(other *tally) {
	for name, n := range other.n {
		for range n {
			c.count(name)
		}
	}
}

func (c *tally) of(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[name]
}

// String returns the counts, sorted by name.
func (c *tally) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c.n)) {
		fmt.Fprintf(&b, "%6d %s\n", c.n[name], name)
	}
	return b.String()
}

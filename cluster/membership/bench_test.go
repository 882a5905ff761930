package membership

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/internal/exhaustive"
)

// BenchmarkRealNodes measures how long it takes until all others have seen that a node joined, that
// one was killed, and that one has left.
func BenchmarkRealNodes(b *testing.B) {
	for _, size := range []int{10, 50} {
		b.Run(fmt.Sprint("nodes=", size), func(b *testing.B) {
			all := realSwarm(b, size)
			var joined, killed, left time.Duration
			for i := 0; b.Loop(); i++ {
				begin := time.Now()
				late := start(b, Options{Name: fmt.Sprint("late", i), Seeds: []string{all[0].Self().Gossip}})
				waitFor(b, func() bool { return count(all, size+1) })
				joined += time.Since(begin)
				begin = time.Now()
				late.kill(b)
				waitFor(b, func() bool { return count(all, size) })
				killed += time.Since(begin)
				leaver := start(b, Options{Name: fmt.Sprint("leaver", i), Seeds: []string{all[0].Self().Gossip}})
				waitFor(b, func() bool { return count(all, size+1) })
				begin = time.Now()
				if err := leaver.Leave(b.Context()); err != nil {
					b.Error(err)
				}
				waitFor(b, func() bool { return count(all, size) })
				left += time.Since(begin)
			}
			b.ReportMetric(float64(joined.Milliseconds())/float64(b.N), "ms/join-seen-by-all")
			b.ReportMetric(float64(killed.Milliseconds())/float64(b.N), "ms/kill-seen-by-all")
			b.ReportMetric(float64(left.Milliseconds())/float64(b.N), "ms/leave-seen-by-all")
		})
	}
}

// BenchmarkSimulatedNodes runs the model of the protocol with up to 1,000 nodes on virtual time, by
// the profiles for a LAN (whose intervals are those of one machine, too) and for a WAN: how long it
// takes, in the time of the simulation, until all others have seen that a node joined, and that one
// was killed, and how many packets a node sends a second while nothing happens. 1,000 nodes take
// some minutes: the long form has them.
func BenchmarkSimulatedNodes(b *testing.B) {
	sizes := []int{10, 50, 100, 300}
	if exhaustive.Enabled() {
		sizes = append(sizes, 1000)
	}
	for _, profile := range []Profile{LAN, WAN} {
		for _, size := range sizes {
			b.Run(fmt.Sprintf("%s/nodes=%d", profile, size), func(b *testing.B) {
				var joined, killed []time.Duration
				var packets float64
				for i := uint64(0); b.Loop(); i++ {
					j, k, p := grown(b, i, profile, size)
					joined, killed, packets = append(joined, j), append(killed, k), packets+p
				}
				slices.Sort(joined)
				slices.Sort(killed)
				b.ReportMetric(float64(joined[len(joined)/2].Milliseconds()), "virtual-ms/join-seen-by-all")
				b.ReportMetric(float64(killed[len(killed)/2].Milliseconds()), "virtual-ms/kill-seen-by-all")
				b.ReportMetric(packets/float64(b.N), "packets/node/s")
			})
		}
	}
}

// grown simulates a cluster to which one more node comes and from which one is killed, and returns
// when all others had seen it, and the packets that a node sent in a quiet second.
func grown(b *testing.B, seed uint64, profile Profile, size int) (joined, killed time.Duration, packets float64) {
	w := newSimulation(seed, NetworkOptions{})
	all := 0
	joins, deaths := map[string]int{}, map[string]int{}
	begin := func(name string) {
		o := Options{Name: name, Profile: profile, Notify: func(e Event) {
			switch e.Kind {
			case Joined:
				joins[e.Member.Name]++
				all++
			case Failed:
				deaths[e.Member.Name]++
			case Left, Updated, Raised:
			}
		}}
		if name != "n0" {
			o.Seeds = []string{"n0:7946"}
		}
		if _, err := w.Start(o); err != nil {
			b.Fatal(err)
		}
	}
	for i := range size {
		begin(fmt.Sprint("n", i))
	}
	w.until(b, "all know all", func() bool { return all == size*(size-1) })
	w.run(profile.timing().pushPullInterval)
	const quiet = 10 * time.Second
	before := w.sent
	w.run(quiet)
	packets = float64(w.sent-before) / quiet.Seconds() / float64(size)
	begin("late")
	joined = w.until(b, "all know the late one", func() bool { return joins["late"] == size })
	w.Crash("late:7946")
	killed = w.until(b, "all have seen it die", func() bool { return deaths["late"] == size })
	return joined, killed, packets
}

package membership

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkRealNodes measures how long it takes until all others have seen that a node joined, and that one was killed.
func BenchmarkRealNodes(b *testing.B) {
	for _, size := range []int{10, 50} {
		b.Run(fmt.Sprint("nodes=", size), func(b *testing.B) {
			all := realSwarm(b, size)
			var joined, killed time.Duration
			for i := 0; b.Loop(); i++ {
				begin := time.Now()
				late := start(b, Options{Name: fmt.Sprint("late", i), Seeds: []string{all[0].Self().Gossip}})
				waitFor(b, func() bool { return count(all, size+1) })
				joined += time.Since(begin)
				begin = time.Now()
				late.kill(b)
				waitFor(b, func() bool { return count(all, size) })
				killed += time.Since(begin)
			}
			b.ReportMetric(float64(joined.Milliseconds())/float64(b.N), "ms/join-seen-by-all")
			b.ReportMetric(float64(killed.Milliseconds())/float64(b.N), "ms/kill-seen-by-all")
		})
	}
}

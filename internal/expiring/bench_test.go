package expiring

import (
	"encoding/binary"
	goruntime "runtime"
	"testing"
	"time"
)

// BenchmarkAdd adds as many entries as one agent does that takes 40,000 requests a second for a
// minute, each with a deadline of five minutes, and measures the memory and the time of each.
func BenchmarkAdd(b *testing.B) {
	const entries, perSecond, kept = 2_400_000, 40_000, 5 * time.Minute
	for b.Loop() {
		before := heapInUse()
		m := New[struct{}](1 << 24)
		start := time.Now()
		now := start
		var id [8]byte
		for i := range uint64(entries) {
			if i%perSecond == 0 {
				now = now.Add(time.Second)
			}
			binary.BigEndian.PutUint64(id[:], i)
			if _, r := m.Add(m.Key("asker", "worker", string(id[:])), NoOwner, struct{}{}, now, now.Add(kept)); r != Added {
				b.Fatalf("entry %d: %d", i, r)
			}
		}
		b.ReportMetric(float64(time.Since(start).Nanoseconds())/entries, "ns/entry")
		b.ReportMetric(float64(heapInUse()-before)/entries, "B/entry")
		m.Close()
	}
}

func heapInUse() uint64 {
	goruntime.GC()
	goruntime.GC()
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return m.HeapAlloc
}

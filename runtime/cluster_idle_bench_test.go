package runtime_test

import (
	"fmt"
	goruntime "runtime"
	"syscall"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/internal/exhaustive"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/runtime"
)

// BenchmarkIdleNode measures what each node of a cluster costs while nothing happens, with all
// nodes in one process: processor time, bytes sent by gossip, goroutines, heap and stacks. Links
// send nothing but a ping each 30 s. It watches them for the time between two exchanges of the
// whole state, of which each node begins one. "alone" is a node without a cluster. 30 nodes are in
// the long form only.
func BenchmarkIdleNode(b *testing.B) {
	if err := newNode(b, runtime.Options{}).Stop(patience.Context(b)); err != nil { // what all nodes of a process have in common is there now
		b.Fatal(err)
	}
	b.Run("alone", func(b *testing.B) { idle(b, 1) })
	sizes := []int{3, 10}
	if exhaustive.Enabled() {
		sizes = append(sizes, 30)
	}
	for _, size := range sizes {
		b.Run(fmt.Sprint("nodes=", size), func(b *testing.B) { idle(b, size) })
	}
}

// members returns that many members of a cluster that are linked, or one node without a cluster.
func members(b *testing.B, size int) []*runtime.Node {
	b.Helper()
	if size == 1 {
		return []*runtime.Node{newNode(b, runtime.Options{})}
	}
	nodes := join(b, size, newMember)
	for _, n := range nodes {
		eventually(b, n, func() error {
			if len(n.Mesh().Links()) != size-1 {
				return fmt.Errorf("%s has %d links", n.Name(), len(n.Mesh().Links()))
			}
			return nil
		})
	}
	return nodes
}

// idle reports the costs of a node of that many.
func idle(b *testing.B, size int) {
	b.Helper()
	const pushPull = 5 * time.Second // of the profile LAN
	all := func(nodes []*runtime.Node) (bytes uint64) {
		for _, n := range nodes {
			if s := seamOf(n); s != nil { // else the node is alone
				bytes += s.members.Sent()
			}
		}
		return bytes
	}
	var cpu, watched time.Duration
	var bytes, goroutines, memory float64
	for range b.N {
		routinesBefore, memoryBefore := goruntime.NumGoroutine(), memoryInUse()
		nodes := members(b, size)
		memory += float64(memoryInUse()) - float64(memoryBefore)
		goroutines += float64(goruntime.NumGoroutine() - routinesBefore)
		begin, cpuBefore, bytesBefore := time.Now(), processorTime(b), all(nodes)
		time.Sleep(pushPull)
		cpu += processorTime(b) - cpuBefore
		bytes += float64(all(nodes) - bytesBefore)
		watched += time.Since(begin)
		for _, n := range nodes {
			if err := n.Stop(patience.Context(b)); err != nil {
				b.Error(err)
			}
		}
	}
	each := float64(size) * float64(b.N)
	b.ReportMetric(cpu.Seconds()*1000/watched.Seconds()/float64(size), "cpu-ms/s/node")
	b.ReportMetric(bytes/watched.Seconds()/float64(size), "sent-B/s/node")
	b.ReportMetric(goroutines/each, "goroutines/node")
	b.ReportMetric(memory/each/1000, "kB/node")
}

// memoryInUse returns the bytes of the heap that are in use, and of stacks.
func memoryInUse() uint64 {
	var m goruntime.MemStats
	goruntime.GC()
	goruntime.GC()
	goruntime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// processorTime returns that of the process.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

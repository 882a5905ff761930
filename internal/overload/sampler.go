package main

import (
	"context"
	"fmt"
	"os"
	goruntime "runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/runtime"
)

// usage is what a process used since the last reset.
type usage struct {
	Peak, First, Last    float64 // MB of heap and stacks; the means of the first and the last quarter of the time
	Goroutines, Handlers int64   // the peaks
	Running              int64   // handlers, now
	Began                int64   // handlers, until all has settled
	Lost                 int     // other nodes that this one declared dead
}

// sampler samples the process. It is safe for concurrent use.
type sampler struct {
	handlers, began atomic.Int64

	mu     sync.Mutex
	usage  usage
	memory []float64 // MB, of each sample
}

// run samples until the end of ctx.
func (s *sampler) run(ctx context.Context) {
	values := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}, {Name: "/sched/goroutines:goroutines"},
	}
	for tick := time.NewTicker(50 * time.Millisecond); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
		metrics.Read(values)
		s.mu.Lock()
		memory := float64(values[0].Value.Uint64()+values[1].Value.Uint64()) / (1 << 20)
		s.memory = append(s.memory, memory)
		s.usage.Peak = max(s.usage.Peak, memory)
		s.usage.Goroutines = max(s.usage.Goroutines, int64(values[2].Value.Uint64())) //nolint:gosec // no process has so many
		s.usage.Handlers = max(s.usage.Handlers, s.handlers.Load())
		s.mu.Unlock()
	}
}

// watch counts the members that a node declares dead, until the end of ctx.
func (s *sampler) watch(ctx context.Context, n *runtime.Node) {
	events := n.Events().Subscribe(actors.SubscribeOptions{Capacity: 1 << 10, Kinds: []actors.Kind{runtime.KindMemberLost}})
	go func() {
		defer events.Close()
		for {
			record, err := events.Next(ctx)
			if err != nil {
				return
			}
			if lost, ok := record.Event.(runtime.MemberLost); ok && lost.Reason != "left" {
				s.mu.Lock()
				s.usage.Lost++
				s.mu.Unlock()
			}
		}
	}()
}

// reset begins anew, without garbage.
func (s *sampler) reset() error {
	goruntime.GC()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.usage, s.memory = usage{}, nil
	s.began.Store(0)
	return nil
}

// read returns the usage since the last reset.
func (s *sampler) read() (usage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, quarter := s.usage, len(s.memory)/4
	u.Running, u.Began = s.handlers.Load(), s.began.Load()
	for i := range quarter {
		u.First += s.memory[i] / float64(quarter)
		u.Last += s.memory[len(s.memory)-1-i] / float64(quarter)
	}
	return u, nil
}

// processors is the processor time, in seconds, that was used so far.
type processors struct{ all, own float64 }

// readProcessors reads the time of all processes, and that of some. Only Linux tells: it is zero elsewhere.
func readProcessors(pids []int) processors {
	all, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(all), "\n")
	var t processors
	for i, ticks := range strings.Fields(line) {
		if i != 4 && i != 5 && i < 9 { // not the idle ones, nor what guests use, which is counted as the user's
			t.all += seconds(ticks)
		}
	}
	for _, pid := range pids {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		// After the name, which may contain spaces, come the state and ten numbers, then the times as user and in the kernel.
		if fields := strings.Fields(string(stat[strings.LastIndex(string(stat), ")")+1:])); len(fields) > 12 {
			t.own += seconds(fields[11]) + seconds(fields[12])
		}
	}
	return t
}

// seconds returns the seconds of a number of ticks; zero for other text.
func seconds(ticks string) float64 {
	n, _ := strconv.ParseFloat(ticks, 64)
	return n / 100
}

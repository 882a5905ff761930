package overload

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

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/runtime"
)

// usage is what a process used since the last reset.
type usage struct {
	Peak, First, Last float64 // MB of heap and stacks; the means of the first and the last quarter of the time
	Goroutines        uint64  // the peak
	Handlers          int64   // the peak
	Running           int64   // handlers, now
	Began             int64   // handlers, until all has settled
	Lost              int     // other nodes that this one declared dead
}

// sampler samples the process. It is safe for concurrent use.
type sampler struct {
	handlers, began atomic.Int64

	mu     sync.Mutex
	usage  usage
	memory []float64 // MB, of each sample
}

// startSampler samples until the end of ctx.
func startSampler(ctx context.Context) *sampler {
	s := new(sampler)
	go func() {
		for wait(ctx, 50*time.Millisecond) == nil {
			s.mu.Lock()
			s.sampleLocked()
			s.mu.Unlock()
		}
	}()
	return s
}

func (s *sampler) sampleLocked() {
	values := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}, {Name: "/sched/goroutines:goroutines"},
	}
	metrics.Read(values)
	memory := float64(values[0].Value.Uint64()+values[1].Value.Uint64()) / (1 << 20)
	s.memory = append(s.memory, memory)
	s.usage.Peak = max(s.usage.Peak, memory)
	s.usage.Goroutines = max(s.usage.Goroutines, values[2].Value.Uint64())
	s.usage.Handlers = max(s.usage.Handlers, s.handlers.Load())
}

// watch counts the members that a node declares dead, until the end of ctx.
func (s *sampler) watch(ctx context.Context, n *runtime.Node) {
	stream := n.Events().Subscribe(events.SubscribeOptions{Kinds: []events.Kind{runtime.KindMemberLost}})
	go func() {
		defer stream.Close()
		for record, err := stream.Next(ctx); err == nil; record, err = stream.Next(ctx) {
			if lost, ok := record.Event.(runtime.MemberLost); ok && lost.Reason != "left" {
				s.mu.Lock()
				s.usage.Lost++
				s.mu.Unlock()
			}
		}
	}()
}

// call returns the usage since the last reset. The command reset begins anew then, without garbage.
func (s *sampler) call(command string) usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sampleLocked()
	u, quarter := s.usage, len(s.memory)/4
	u.Running, u.Began = s.handlers.Load(), s.began.Load()
	for i := range quarter {
		u.First += s.memory[i] / float64(quarter)
		u.Last += s.memory[len(s.memory)-1-i] / float64(quarter)
	}
	if command == commandReset {
		goruntime.GC()
		s.usage, s.memory = usage{}, nil
		s.began.Store(0)
	}
	return u
}

// othersTime returns the processor time, in seconds, that processes have used, without some of
// them. Only Linux tells.
func othersTime(pids []int) (time float64) {
	stat, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(stat), "\n")
	for i, ticks := range strings.Fields(line) {
		if i != 4 && i != 5 && i < 9 { // not the idle time; that of guests counts as the user's already
			time += seconds(ticks)
		}
	}
	for _, pid := range pids {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		// The name, in brackets, may contain spaces. The times as user and in the kernel are the
		// 12th and 13th field after it.
		if fields := strings.Fields(string(stat[strings.LastIndex(string(stat), ")")+1:])); len(fields) > 12 {
			time -= seconds(fields[11]) + seconds(fields[12])
		}
	}
	return time
}

// seconds returns the seconds of a number of ticks; zero for other text.
func seconds(ticks string) float64 {
	n, _ := strconv.ParseFloat(ticks, 64)
	return n / 100
}

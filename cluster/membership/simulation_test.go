package membership

import (
	"container/heap"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/internal/patience"
)

// simulation is virtual time: functions in the order of their times, those of one time in the order
// in which they were scheduled.
type simulation struct {
	now   time.Time
	next  uint64
	queue schedule
	*Network
}

type scheduled struct {
	at      time.Time
	order   uint64
	f       func()
	stopped bool
}

type schedule []*scheduled

func (s schedule) Len() int { return len(s) }
func (s schedule) Less(i, j int) bool {
	if s[i].at.Equal(s[j].at) {
		return s[i].order < s[j].order
	}
	return s[i].at.Before(s[j].at)
}
func (s schedule) Swap(i, j int) { s[i], s[j] = s[j], s[i] }
func (s *schedule) Push(x any)   { *s = append(*s, x.(*scheduled)) }
func (s *schedule) Pop() any {
	last := len(*s) - 1
	x := (*s)[last]
	*s = (*s)[:last]
	return x
}

func newSimulation(seed uint64, o NetworkOptions) *simulation {
	s := &simulation{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	o.Rand = rand.New(rand.NewPCG(seed, 0))
	o.Now = func() time.Time { return s.now }
	o.AfterFunc = func(d time.Duration, f func()) func() bool {
		s.next++
		e := &scheduled{at: s.now.Add(max(d, 0)), order: s.next, f: f}
		heap.Push(&s.queue, e)
		return func() bool {
			was := e.stopped
			e.stopped = true
			return !was
		}
	}
	s.Network = NewNetwork(o)
	return s
}

// step calls the next function, and reports whether there was one before the end.
func (s *simulation) step(end time.Time) bool {
	for len(s.queue) > 0 {
		if s.queue[0].at.After(end) {
			break
		}
		e := heap.Pop(&s.queue).(*scheduled)
		if e.stopped {
			continue
		}
		e.stopped = true
		s.now = e.at
		e.f()
		return true
	}
	s.now = end
	return false
}

// run lets time pass.
func (s *simulation) run(d time.Duration) {
	for end := s.now.Add(d); s.step(end); {
	}
}

// until lets time pass until done, at most patience.
func (s *simulation) until(t testing.TB, what string, done func() bool) time.Duration {
	t.Helper()
	begin := s.now
	for end := s.now.Add(patience.Time); !done(); {
		if !s.step(end) {
			t.Fatalf("%s: not in time", what)
		}
	}
	return s.now.Sub(begin)
}

package actors

import (
	"math/rand/v2"
	"sync"

	"github.com/asynkron/protoactor-go/actor"
)

// SimOptions configures a [Sim]. The zero value works.
type SimOptions struct {
	// Seed determines the order of execution.
	Seed uint64

	// Throughput is how many messages a mailbox handles in one step. Zero means
	// one, which gives the seed the most to decide.
	Throughput int
}

// Sim is an [actor.Dispatcher] for simulations: nothing runs until its owner
// says so, and then one mailbox at a time, on the owner's goroutine, in an order
// that the seed decides. The same seed and the same scheduling give the same
// order. Under testing/synctest a simulation has virtual timers as well: run, wait
// for the bubble, let its time pass, and run again.
//
// Any goroutine may schedule. One at a time may run or step, and a handler must
// not block on another actor, which could not run. Its queue holds each mailbox
// at most once.
type Sim struct {
	throughput int

	mu    sync.Mutex
	rand  *rand.Rand
	queue taskQueue
}

var _ actor.Dispatcher = (*Sim)(nil)

// NewSim returns a simulation without anything to run.
func NewSim(o SimOptions) *Sim {
	return &Sim{
		throughput: max(1, o.Throughput),
		rand:       rand.New(rand.NewPCG(o.Seed, 0)),
	}
}

// Schedule keeps fn for a later step.
func (s *Sim) Schedule(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.push(fn)
}

// Throughput returns how many messages a mailbox handles in one step.
func (s *Sim) Throughput() int { return s.throughput }

// Step runs one of the functions that are scheduled, and reports whether there
// was one.
func (s *Sim) Step() bool {
	fn := s.pick()
	if fn == nil {
		return false
	}
	fn()
	return true
}

// Run steps until nothing is scheduled, and returns the number of steps. It does
// not return while the actors keep one another busy.
func (s *Sim) Run() int {
	n := 0
	for s.Step() {
		n++
	}
	return n
}

// pick takes a random function out of the queue, or returns nil.
func (s *Sim) pick() func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queue.empty() {
		return nil
	}
	// The oldest takes the place of the picked one.
	i := s.rand.IntN(s.queue.n)
	oldest, picked := s.queue.at(0), s.queue.at(i)
	*oldest, *picked = *picked, *oldest
	return s.queue.pop()
}

// waiting is true because each step is one turn.
func (s *Sim) waiting() bool { return true }

package actors

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// SimOptions configures a [Sim]. The zero value works.
type SimOptions struct {
	// Seed determines the order of execution.
	Seed uint64

	// Throughput is how many messages a mailbox handles in one step. Zero means
	// one, which gives the seed the most to decide.
	Throughput int

	// Settle returns once every other goroutine of the simulation waits for
	// something: synctest.Wait. With it, a step ends when all that it set going has
	// come to rest, so that goroutines and timers are as much in the seed's order as
	// actors are. Nil means that there are none.
	Settle func()
}

// Sim is an [actor.Dispatcher] for simulations: nothing runs until its owner says
// so, and then one thing at a time, in an order that the seed decides. The same
// seed and the same scheduling give the same order.
//
// Without [SimOptions.Settle], a step runs on the owner's goroutine, and a handler
// must not block on another actor, which could not run; only [System.Spawn] may
// wait there, because it then runs the simulation itself.
//
// With it, inside a testing/synctest bubble, a step has a goroutine of its own and
// may block: the others go on without it. A system that is given such a
// simulation starts its handlers ([System.Work]) and sets off its timers
// ([System.AfterFunc]) as steps too. What remains are goroutines that a step or the
// clock wakes: whoever has waited calls [Sim.Yield] before it does anything that
// others could notice.
//
// Any goroutine may schedule. One at a time may step, run or await. Its queue holds
// each mailbox at most once.
type Sim struct {
	throughput int
	settle     func()
	woken      chan struct{} // has room for one: something was scheduled
	owned      atomic.Bool   // someone runs it, and waits for what is scheduled
	worker     *simWorker    // runs the steps of who settles; nil while there are none

	mu    sync.Mutex
	rand  *rand.Rand
	last  uint64 // the order of the newest source
	fresh []simTask
	ready []simTask
}

// simTask is one thing to run. Those that came between two steps, on goroutines
// whose order is not ours, are put into that of their sources.
type simTask struct {
	order uint64 // of a mailbox, timer or handler; anyTime for what has a name instead
	name  string
	fn    func()
}

// anyTime is the order of what has a name.
const anyTime = ^uint64(0)

var _ actor.Dispatcher = (*Sim)(nil)

// NewSim returns a simulation without anything to run.
func NewSim(o SimOptions) *Sim {
	return &Sim{
		throughput: max(1, o.Throughput),
		settle:     o.Settle,
		woken:      make(chan struct{}, 1),
		rand:       rand.New(rand.NewPCG(o.Seed, 0)),
	}
}

// Schedule keeps fn for a later step.
func (s *Sim) Schedule(fn func()) { s.add(simTask{fn: fn}) }

// Throughput returns how many messages a mailbox handles in one step.
func (s *Sim) Throughput() int { return s.throughput }

// Go has a later step start fn on a goroutine of its own, where it may block.
func (s *Sim) Go(fn func()) {
	s.add(simTask{order: s.source(), fn: func() { go fn() }})
}

// AfterFunc has fn be a step once d has passed, unless stop is called before.
// stop reports whether it came before d had passed.
func (s *Sim) AfterFunc(d time.Duration, fn func()) (stop func() bool) {
	order := s.source()
	return time.AfterFunc(d, func() { s.add(simTask{order: order, fn: fn}) }).Stop
}

// Yield returns in a step of its own: what else runs has come to rest. The name
// must be that of nobody else who yields, and the same in every run.
func (s *Sim) Yield(name string) {
	turn := make(chan struct{})
	s.add(simTask{order: anyTime, name: name, fn: func() { close(turn) }})
	<-turn
}

// Turn is [Sim.Yield] for who has no name: call it before the wait, in a step, and
// what it returns after each wait.
func (s *Sim) Turn() func() {
	order := s.source()
	return func() {
		turn := make(chan struct{})
		s.add(simTask{order: order, fn: func() { close(turn) }})
		<-turn
	}
}

// Step runs one of the things that are scheduled, and reports whether there was
// one.
func (s *Sim) Step() bool {
	defer s.own()()
	return s.step()
}

// own notes that someone runs the simulation, until it calls release.
func (s *Sim) own() (release func()) {
	s.owned.Store(true)
	return func() {
		s.dismiss()
		s.owned.Store(false)
	}
}

func (s *Sim) step() bool {
	if s.settle != nil {
		s.settle()
	}
	fn := s.pick()
	switch {
	case fn == nil:
		return false
	case s.settle == nil:
		fn()
	default:
		s.perform(fn)
	}
	return true
}

// perform runs fn on a goroutine, until it waits or has returned.
func (s *Sim) perform(fn func()) {
	if s.worker == nil || s.worker.busy.Load() {
		s.dismiss()
		s.worker = &simWorker{tasks: make(chan func(), 1)}
		go s.worker.work()
	}
	s.worker.busy.Store(true)
	s.worker.tasks <- fn
	s.settle()
}

// dismiss has the worker end, once it has returned from its step.
func (s *Sim) dismiss() {
	if s.worker != nil {
		close(s.worker.tasks)
		s.worker = nil
	}
}

// simWorker is a goroutine for steps, one after the other, until one of them waits.
// It is there because a stack that has grown is worth keeping.
type simWorker struct {
	tasks chan func() // has room for one
	busy  atomic.Bool
}

func (w *simWorker) work() {
	for fn := range w.tasks {
		fn()
		w.busy.Store(false)
	}
}

// Run steps until nothing is scheduled, and returns the number of steps. No time
// passes. It does not return while the actors keep one another busy.
func (s *Sim) Run() int {
	defer s.own()()
	return s.run()
}

func (s *Sim) run() int {
	n := 0
	for s.step() {
		n++
	}
	return n
}

// RunFor runs what is scheduled now and within d, of a bubble's time.
func (s *Sim) RunFor(d time.Duration) {
	over := make(chan struct{})
	time.AfterFunc(d, func() { close(over) })
	s.runUntil(over)
}

// Await starts fn as Go does, and runs the simulation, and its time, until fn has
// returned and nothing is scheduled. fn may wait for what the simulation does.
func (s *Sim) Await(fn func()) {
	done := make(chan struct{})
	s.Go(func() {
		defer close(done)
		fn()
	})
	s.runUntil(done)
}

// runUntil runs until over is closed. What happens at that very time is run too,
// whichever comes first.
func (s *Sim) runUntil(over <-chan struct{}) {
	defer s.own()()
	for {
		s.run()
		select {
		case <-over:
			return
		default:
		}
		select {
		case <-over:
		case <-s.woken:
		}
	}
}

// help runs the simulation for someone who waits for it, unless another goroutine
// does. Without settling there is no other: it is called within a step.
func (s *Sim) help(until func() bool) {
	if s.settle != nil {
		if s.owned.Load() {
			return
		}
		defer s.own()()
	}
	for !until() && s.step() {
	}
}

// dispatcher returns the dispatcher of the next mailbox, whose tasks have the
// mailbox's place among those that are scheduled at the same time.
func (s *Sim) dispatcher() actor.Dispatcher { return &simMailbox{s, s.source()} }

// simMailbox is the [Sim] of one mailbox.
type simMailbox struct {
	*Sim
	order uint64
}

// Schedule keeps fn for a later step.
func (m *simMailbox) Schedule(fn func()) { m.add(simTask{order: m.order, fn: fn}) }

// source returns the order of a new source of tasks.
func (s *Sim) source() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	return s.last
}

func (s *Sim) add(t simTask) {
	s.mu.Lock()
	s.fresh = append(s.fresh, t)
	s.mu.Unlock()
	select {
	case s.woken <- struct{}{}:
	default: // it is known
	}
}

// pick takes a random function out of the queue, or returns nil.
func (s *Sim) pick() func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.SortStableFunc(s.fresh, func(a, b simTask) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.name, b.name))
	})
	s.ready = append(s.ready, s.fresh...)
	clear(s.fresh)
	s.fresh = s.fresh[:0]
	last := len(s.ready) - 1
	if last < 0 {
		return nil
	}
	i := s.rand.IntN(last + 1)
	picked := s.ready[i].fn
	s.ready[i] = s.ready[last]
	s.ready[last] = simTask{}
	s.ready = s.ready[:last]
	return picked
}

// waiting is true because each step is one turn.
func (s *Sim) waiting() bool { return true }

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

	// Throughput is the largest number of messages that a mailbox handles in one step.
	// Zero means one, which leaves the most choices to the seed.
	Throughput int

	// Settle blocks until every other goroutine of the simulation is blocked: synctest.Wait. With
	// it, a step ends when all goroutines started or woken by it are blocked. So goroutines and
	// timers run in the seed's order too. Nil means that there are none.
	Settle func()
}

// Sim is an [actor.Dispatcher] for simulations. It runs nothing until its owner calls one
// of its methods, and then one function at a time, in an order that the seed determines.
// The same seed and the same calls of Schedule give the same order.
//
// Without [SimOptions.Settle], a step runs on the owner's goroutine, and a handler must
// not wait for another actor, which could not run. The exception is [System.Spawn], which
// runs the simulation while it waits.
//
// With Settle, inside a testing/synctest bubble, a step runs on its own goroutine and may
// block; other steps continue. A system with such a simulation also runs its handlers
// ([System.Work]) and timers ([System.AfterFunc]) as steps. Goroutines that a step or the
// clock wakes are not steps. Such a goroutine must call [Sim.Yield] after each wait,
// before it does anything that other goroutines can observe.
//
// Any goroutine may schedule. Only one goroutine at a time may step, run or await. The
// queue holds each mailbox at most once.
type Sim struct {
	throughput int
	settle     func()
	woken      chan struct{} // capacity 1: a function was scheduled
	owned      atomic.Bool   // a goroutine runs the simulation
	worker     *simWorker    // runs the steps when settle is set; nil while there are none
	whole      *Sim          // the simulation that this is a part of; itself if it is none
	paused     bool          // guarded by whole.mu
	held       []simTask     // those of a paused part; guarded by whole.mu

	mu    sync.Mutex
	rand  *rand.Rand
	last  uint64 // the order of the latest source
	added []simTask
	ready []simTask
}

// simTask is one function to run. Tasks added between two steps, by goroutines that run
// in any order, are sorted by source.
type simTask struct {
	order uint64 // of an actor, timer or handler; namedOrder for a task with a name
	name  string
	do    task
	fork  bool          // do runs on a new goroutine
	turn  chan struct{} // in place of do: closed, so that a waiting goroutine continues
	part  *Sim
}

// runs reports whether the task runs do itself, so that it may block.
func (t *simTask) runs() bool { return t.turn == nil && !t.fork }

// start runs the task. It does not block unless the task runs do itself.
func (t *simTask) start() {
	switch {
	case t.turn != nil:
		close(t.turn)
	case t.fork:
		go t.do.run(false)
	default:
		t.do.run(false)
	}
}

// namedOrder is the order of tasks that are sorted by name.
const namedOrder = ^uint64(0)

var _ actor.Dispatcher = (*Sim)(nil)

// NewSim returns a simulation with an empty queue.
func NewSim(o SimOptions) *Sim {
	s := &Sim{
		throughput: max(1, o.Throughput),
		settle:     o.Settle,
		woken:      make(chan struct{}, 1),
		rand:       rand.New(rand.NewPCG(o.Seed, 0)),
	}
	s.whole = s
	return s
}

// Part returns a part of the simulation, such as one of several nodes, that can be paused alone.
// The part queues functions, and the whole simulation runs them.
func (s *Sim) Part() *Sim { return &Sim{throughput: s.throughput, settle: s.settle, whole: s.whole} }

// Pause holds back the queued functions of the part until [Sim.Resume]. A goroutine of the part
// that the clock wakes blocks in [Sim.Yield] until then.
func (s *Sim) Pause() {
	s.whole.mu.Lock()
	defer s.whole.mu.Unlock()
	s.paused = true
}

// Resume ends a pause.
func (s *Sim) Resume() {
	s.whole.mu.Lock()
	s.paused = false
	s.whole.added = append(s.whole.added, s.held...)
	s.held = nil
	s.whole.mu.Unlock()
	s.whole.wake()
}

// Schedule queues fn as a later step.
func (s *Sim) Schedule(fn func()) { s.add(simTask{do: taskFunc(fn)}) }

// Throughput returns the largest number of messages that a mailbox handles in one step.
func (s *Sim) Throughput() int { return s.throughput }

// Go queues a step that starts fn on its own goroutine, where it may block.
func (s *Sim) Go(fn func()) {
	s.add(simTask{order: s.source(), do: taskFunc(fn), fork: true})
}

// AfterFunc queues fn as a step after d, unless stop is called first. stop reports
// whether it was called before d had passed.
func (s *Sim) AfterFunc(d time.Duration, fn func()) (stop func() bool) {
	order := s.source()
	return time.AfterFunc(d, func() { s.add(simTask{order: order, do: taskFunc(fn)}) }).Stop
}

// Yield blocks until a step of its own, in which all other goroutines are blocked. The
// name must be unique among the goroutines that yield, and the same in every run.
func (s *Sim) Yield(name string) {
	turn := make(chan struct{})
	s.add(simTask{order: namedOrder, name: name, turn: turn})
	<-turn
}

// Turn is [Sim.Yield] for goroutines without a unique name. Call Turn in a step, before
// the wait, and the returned function after each wait.
func (s *Sim) Turn() func() {
	order := s.source()
	return func() {
		turn := make(chan struct{})
		s.add(simTask{order: order, turn: turn})
		<-turn
	}
}

// Step runs one queued function. It reports false when the queue is empty.
func (s *Sim) Step() bool {
	defer s.whole.own()()
	return s.whole.step()
}

// own marks the simulation as running, until release is called.
func (s *Sim) own() (release func()) {
	s.owned.Store(true)
	return func() {
		s.stopWorker()
		s.owned.Store(false)
	}
}

func (s *Sim) step() bool {
	s.settleAll()
	return s.next()
}

// settleAll blocks until every other goroutine is blocked.
func (s *Sim) settleAll() {
	if s.settle != nil {
		s.settle()
	}
}

// next runs one queued function, after which every other goroutine is blocked, as it was before. It
// reports false when the queue is empty.
func (s *Sim) next() bool {
	select {
	case <-s.woken: // the queue has what this signals
	default:
	}
	t, ok := s.pick()
	if !ok {
		return false
	}
	if s.settle != nil && t.runs() {
		s.runOnWorker(t.do)
	} else {
		t.start()
	}
	s.settleAll()
	return true
}

// runOnWorker has the worker run a task, which may block.
func (s *Sim) runOnWorker(t task) {
	if s.worker == nil || s.worker.busy.Load() {
		s.stopWorker()
		s.worker = &simWorker{tasks: make(chan task, 1)}
		go s.worker.work()
	}
	s.worker.busy.Store(true)
	s.worker.tasks <- t
}

// stopWorker makes the worker end after its current step.
func (s *Sim) stopWorker() {
	if s.worker != nil {
		close(s.worker.tasks)
		s.worker = nil
	}
}

// simWorker is a goroutine that runs steps, until one of them blocks. Reusing it keeps
// the stack that the steps have grown.
type simWorker struct {
	tasks chan task // capacity 1
	busy  atomic.Bool
}

func (w *simWorker) work() {
	for t := range w.tasks {
		t.run(false)
		w.busy.Store(false)
	}
}

// Run runs steps until the queue is empty, and returns their number. The clock does not
// advance. Run does not return while actors keep sending to one another.
func (s *Sim) Run() int {
	defer s.whole.own()()
	return s.whole.run()
}

func (s *Sim) run() int {
	s.settleAll()
	n := 0
	for s.next() {
		n++
	}
	return n
}

// RunFor runs the steps queued now and within d of the bubble's clock.
func (s *Sim) RunFor(d time.Duration) {
	over := make(chan struct{})
	time.AfterFunc(d, func() { close(over) })
	s.whole.runUntil(over)
}

// Await starts fn like Go and runs the simulation, including its clock, until fn has
// returned and the queue is empty. fn may wait for effects of the simulation.
func (s *Sim) Await(fn func()) {
	done := make(chan struct{})
	s.Go(func() {
		defer close(done)
		fn()
	})
	s.whole.runUntil(done)
}

// runUntil runs steps until over is closed and the queue is empty. Steps queued at the
// instant when over is closed run too.
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

// stepUntil runs steps on behalf of a waiting caller, and reports true, unless another goroutine
// runs the simulation. Without Settle there is no other goroutine: the caller is itself inside a
// step.
func (s *Sim) stepUntil(until func() bool) bool {
	if s.settle != nil {
		if s.whole.owned.Load() {
			return false
		}
		defer s.whole.own()()
	}
	for !until() && s.whole.step() {
	}
	return true
}

// schedule queues a turn of an actor as a later step. There is no express queue.
func (s *Sim) schedule(t task, _ bool, order uint64) { s.add(simTask{order: order, do: t}) }

// source returns the order of a new source of tasks.
func (s *Sim) source() uint64 {
	s.whole.mu.Lock()
	defer s.whole.mu.Unlock()
	s.whole.last++
	return s.whole.last
}

func (s *Sim) add(t simTask) {
	t.part = s
	s.whole.mu.Lock()
	s.whole.added = append(s.whole.added, t)
	s.whole.mu.Unlock()
	s.whole.wake()
}

func (s *Sim) wake() {
	select {
	case s.woken <- struct{}{}:
	default: // signalled already
	}
}

// pick removes a random task from the queue and returns it. It holds back those of paused parts. It
// reports false when no task is left.
func (s *Sim) pick() (simTask, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.SortStableFunc(s.added, func(a, b simTask) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.name, b.name))
	})
	s.ready = append(s.ready, s.added...)
	clear(s.added)
	s.added = s.added[:0]
	for len(s.ready) > 0 {
		last := len(s.ready) - 1
		i := s.rand.IntN(last + 1)
		picked := s.ready[i]
		s.ready[i] = s.ready[last]
		s.ready[last] = simTask{}
		s.ready = s.ready[:last]
		if !picked.part.paused {
			return picked, true
		}
		picked.part.held = append(picked.part.held, picked)
	}
	return simTask{}, false
}

// waiting returns true: a mailbox yields after each step.
func (s *Sim) waiting() bool { return true }

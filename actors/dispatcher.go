package actors

import (
	"cmp"
	"context"
	"fmt"
	goruntime "runtime"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/internal/admission"
)

// The defaults of [PoolOptions].
const (
	DefaultThroughput = 300
	DefaultStall      = 2 * time.Millisecond
)

// PoolOptions configures a [Pool]. The zero value works.
type PoolOptions struct {
	// Workers is the number of workers that make progress at a time. Workers whose
	// handler is stuck do not count. Zero means GOMAXPROCS.
	Workers int

	// Idle is the largest number of idle workers. Zero means Workers.
	Idle int

	// Throughput is the largest number of messages that a mailbox handles in one turn.
	// Zero means [DefaultThroughput].
	Throughput int

	// Stall is the time after which a worker in one turn counts as stuck, so that another
	// worker may replace it. The precision is one Stall. Zero means [DefaultStall].
	Stall time.Duration
}

// withDefaults returns a copy with the zero values filled in.
func (o PoolOptions) withDefaults() PoolOptions {
	o.Workers = cmp.Or(o.Workers, goruntime.GOMAXPROCS(0))
	o.Idle = cmp.Or(o.Idle, o.Workers)
	o.Throughput = cmp.Or(o.Throughput, DefaultThroughput)
	o.Stall = cmp.Or(o.Stall, DefaultStall)
	return o
}

// validate returns an error that names the first invalid field.
func (o PoolOptions) validate() error {
	switch {
	case o.Workers < 1:
		return fmt.Errorf("actors: PoolOptions.Workers: want at least 1, got %d", o.Workers)
	case o.Idle < 1:
		return fmt.Errorf("actors: PoolOptions.Idle: want at least 1, got %d", o.Idle)
	case o.Throughput < 1:
		return fmt.Errorf("actors: PoolOptions.Throughput: want at least 1, got %d", o.Throughput)
	case o.Stall < 0:
		return fmt.Errorf("actors: PoolOptions.Stall: want a positive duration, got %v", o.Stall)
	}
	return nil
}

// Pool is an [actor.Dispatcher] of long-lived workers. Long-lived goroutines keep the
// stacks that the handlers have grown. The pool serves scheduled mailboxes in order, but
// mailboxes with an urgent message first. While both kinds wait, at least one of any 33
// turns goes to an ordinary mailbox.
//
// A handler that blocks, even for ever, does not delay other mailboxes: when mailboxes
// wait and a worker has not finished its turn within Stall, another worker replaces it.
// Invariant: at most Workers workers are busy and not stuck. Each queue holds each
// mailbox at most once.
//
// Workers start on demand, and idle workers beyond Idle end. While no mailbox waits, no
// timer runs. All methods may be called from any goroutine.
type Pool struct {
	options PoolOptions

	wait admission.Meter // in queue

	mu         sync.Mutex
	queue      ring[task]
	express    ring[task] // served before queue
	expressRun int        // turns from express since the last turn from queue
	workers    []*worker  // all workers
	idle       []*worker  // workers that wait on their wake channel
	stuck      int        // number of workers with stuck set
	waking     bool       // a worker is starting or waking, and has not taken its task
	timerSet   bool       // timer is running
	timer      *time.Timer
	watch      func(long bool) // called each busyTick while a worker is busy; long says that one is in the same turn as before; nil for no call
	watching   bool            // watcher is running
	watcher    *time.Timer
	closed     bool
	allEnded   chan struct{} // closed when the last worker has ended; nil until Close
}

var _ actor.Dispatcher = (*Pool)(nil)

// worker is one goroutine of a pool. Its fields are guarded by the pool's mu.
type worker struct {
	wake      chan struct{} // capacity 1
	tasks     uint64        // tasks taken
	tasksSeen uint64        // value of tasks at the last checkStuck
	turnSeen  uint64        // value of tasks at the last checkTurns
	index     int           // in Pool.workers
	waking    bool          // it was woken or started, and has not taken its task
	idle      bool          // it is in Pool.idle
	stuck     bool          // its turn has taken longer than Stall
}

// NewPool returns a pool. It panics on invalid options. The owner must call [Pool.Close]
// after the actors of the pool have stopped.
func NewPool(o PoolOptions) *Pool {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		panic(err)
	}
	return &Pool{options: o}
}

// Schedule runs fn on a worker. It does not block. After Close it still runs fn, so that
// no message is lost, but the worker then ends when the queues are empty.
func (p *Pool) Schedule(fn func()) { p.schedule(taskFunc(fn), false, 0) }

// ScheduleFirst is like Schedule, ahead of all functions given to Schedule.
func (p *Pool) ScheduleFirst(fn func()) { p.schedule(taskFunc(fn), true, 0) }

// schedule queues t. The order has no meaning here.
func (p *Pool) schedule(t task, express bool, _ uint64) {
	p.mu.Lock()
	if express {
		p.express.push(t)
	} else {
		p.queue.push(t)
		p.wait.Pushed(int(p.queue.n))
	}
	p.unlock()
}

// Throughput returns the largest number of messages that a mailbox handles in one turn.
func (p *Pool) Throughput() int { return p.options.Throughput }

// Close ends the workers after they have run all scheduled functions, and waits for them.
// When ctx ends first, because a handler blocks, it returns the cause. It may be called
// again, to wait further.
func (p *Pool) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	if p.allEnded == nil {
		p.allEnded = make(chan struct{})
	}
	empty := p.allEnded
	idle := p.idle
	p.idle = nil
	for _, w := range idle {
		w.idle = false
	}
	if len(p.workers) == 0 {
		p.finishCloseLocked()
	}
	p.mu.Unlock()
	for _, w := range idle {
		w.wake <- struct{}{}
	}
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("actors: closing the pool: %w", context.Cause(ctx))
	}
}

// waiting reports whether a mailbox waits for its turn.
func (p *Pool) waiting() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.queue.n+p.express.n > 0
}

// keptTasks is the largest capacity that an empty queue keeps.
const keptTasks = 1024

// maxExpressRun is the largest number of consecutive turns of the express queue while the
// ordinary queue waits.
const maxExpressRun = 32

// finishCloseLocked wakes Close and stops the timer, after the last worker has ended.
func (p *Pool) finishCloseLocked() {
	if p.allEnded != nil {
		close(p.allEnded)
		p.allEnded = nil
	}
	if p.timer != nil {
		p.timer.Stop()
		p.timerSet = false
	}
	if p.watcher != nil {
		p.watcher.Stop()
		p.watching = false
	}
	p.watch = nil // a timer that was stopped may stay in memory
}

// unlock unlocks mu, and starts or wakes a worker if one is needed for the waiting mailboxes. Only
// one worker wakes at a time. When it takes its task, it wakes the next one.
func (p *Pool) unlock() {
	var wake chan struct{} // of an idle worker
	switch n := len(p.idle); {
	case p.queue.n+p.express.n == 0 || p.waking:
	case p.busyLocked() >= p.options.Workers:
		p.setTimerLocked()
	case n > 0:
		w := p.idle[n-1]
		p.idle = p.idle[:n-1]
		w.idle, w.waking, p.waking = false, true, true
		wake = w.wake
	default:
		w := &worker{wake: make(chan struct{}, 1), index: len(p.workers), waking: true}
		p.workers = append(p.workers, w)
		p.waking = true
		go p.work(w)
	}
	p.mu.Unlock()
	if wake != nil {
		wake <- struct{}{}
	}
}

// busyLocked returns the number of workers that make progress.
func (p *Pool) busyLocked() int { return len(p.workers) - len(p.idle) - p.stuck }

// work is the main loop of a worker.
func (p *Pool) work(w *worker) {
	defer p.removeWorker(w) // also after runtime.Goexit in a handler
	for {
		next, express, stay := p.take(w)
		switch {
		case next != nil:
			next.run(express)
		case stay:
			<-w.wake
		default:
			return
		}
	}
}

// take returns the next task for w, and whether it is from the express queue. Without one, it
// reports whether w is to wait for a task or to end.
func (p *Pool) take(w *worker) (t task, express, stay bool) {
	p.mu.Lock()
	p.markArrivedLocked(w)
	express = p.express.n > 0 && (p.expressRun < maxExpressRun || p.queue.n == 0)
	switch {
	case p.busyLocked() > p.options.Workers:
	case express:
		p.expressRun++
		t, _ = p.express.pop(keptTasks)
	default:
		p.expressRun = 0
		t, _ = p.queue.pop(keptTasks)
		p.wait.Popped(int(p.queue.n), 1)
	}
	if t != nil {
		w.tasks++
		if !p.watching && p.watch != nil {
			p.watchLocked()
		}
	} else if stay = !p.closed && len(p.idle) < p.options.Idle; stay {
		p.idle = append(p.idle, w)
		w.idle = true
	}
	p.unlock()
	return t, express, stay
}

// markArrivedLocked resets the flags of a worker that has returned from its turn or its
// wait.
func (p *Pool) markArrivedLocked(w *worker) {
	if w.waking {
		w.waking, p.waking = false, false
	}
	if w.stuck {
		w.stuck = false
		p.stuck--
	}
}

// removeWorker removes a worker that ends.
func (p *Pool) removeWorker(w *worker) {
	p.mu.Lock()
	p.markArrivedLocked(w)
	last := len(p.workers) - 1
	p.workers[w.index] = p.workers[last]
	p.workers[w.index].index = w.index
	p.workers[last] = nil
	p.workers = p.workers[:last]
	if p.closed && len(p.workers) == 0 && p.queue.n+p.express.n == 0 { // else unlock starts another
		p.finishCloseLocked()
	}
	p.unlock()
}

// setTimerLocked sets the timer of checkStuck. It is called only while a mailbox waits.
func (p *Pool) setTimerLocked() {
	if p.timerSet {
		return
	}
	p.timerSet = true
	if p.timer == nil {
		p.timer = time.AfterFunc(p.options.Stall, p.checkStuck)
		return
	}
	p.timer.Reset(p.options.Stall)
}

// checkStuck marks as stuck each worker that is in the same turn as at the last check,
// and wakes others to replace them.
func (p *Pool) checkStuck() {
	p.mu.Lock()
	p.timerSet = false
	if p.queue.n+p.express.n == 0 {
		p.mu.Unlock()
		return
	}
	for _, w := range p.workers {
		if w.tasks == w.tasksSeen && !w.waking && !w.idle && !w.stuck {
			w.stuck = true
			p.stuck++
		}
		w.tasksSeen = w.tasks
	}
	p.setTimerLocked()
	p.unlock()
}

// watchLocked sets the timer of checkTurns, which is not set. It is called when a worker begins a
// turn, if there is a watch.
func (p *Pool) watchLocked() {
	p.watching = true
	if p.watcher == nil {
		p.watcher = time.AfterFunc(busyTick, p.checkTurns)
		return
	}
	p.watcher.Reset(busyTick)
}

// checkTurns calls watch, and sets the timer again while a worker is busy.
func (p *Pool) checkTurns() {
	p.mu.Lock()
	long, watch := false, p.watch
	for _, w := range p.workers {
		long = long || !w.idle && w.tasks == w.turnSeen
		w.turnSeen = w.tasks
	}
	p.mu.Unlock()
	if watch == nil {
		return
	}
	watch(long)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.watching = p.watch != nil && len(p.workers) > len(p.idle); p.watching {
		p.watchLocked()
	}
}

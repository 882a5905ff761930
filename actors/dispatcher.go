package actors

import (
	"context"
	"fmt"
	goruntime "runtime"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// The defaults of [PoolOptions].
const (
	DefaultThroughput = 300
	DefaultStall      = 2 * time.Millisecond
)

// PoolOptions configures a [Pool]. The zero value works.
type PoolOptions struct {
	// Workers is how many workers make progress at a time: those whose handler
	// is stuck do not count. Zero means GOMAXPROCS.
	Workers int

	// Idle is how many workers stay when there is nothing to do. Zero means
	// Workers.
	Idle int

	// Throughput is how many messages a mailbox handles before the next one has
	// its turn. Zero means [DefaultThroughput].
	Throughput int

	// Stall is how long one turn of a mailbox may take before its worker counts
	// as stuck and another one may take its place, give or take another Stall.
	// Zero means [DefaultStall].
	Stall time.Duration
}

// withDefaults returns a copy with the zero values filled in.
func (o PoolOptions) withDefaults() PoolOptions {
	if o.Workers == 0 {
		o.Workers = goruntime.GOMAXPROCS(0)
	}
	if o.Idle == 0 {
		o.Idle = o.Workers
	}
	if o.Throughput == 0 {
		o.Throughput = DefaultThroughput
	}
	if o.Stall == 0 {
		o.Stall = DefaultStall
	}
	return o
}

// validate reports the field that cannot be.
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

// Pool is an [actor.Dispatcher] of long-lived workers, whose stacks have grown
// to what the handlers need. It serves scheduled mailboxes in order, but those with
// an urgent message first: of any 33 turns while others wait, at least one is theirs.
//
// A handler that blocks, even for ever, does not keep other mailboxes from being
// served: when mailboxes wait and a worker has not finished its turn for a Stall,
// another worker takes its place. There are no more than Workers busy ones at a
// time besides the stuck ones. Its queues hold each mailbox at most once each.
//
// Workers start when they are needed, and those beyond Idle end when they are
// not. While nothing waits, no timer runs. All methods may be called by any
// goroutine.
type Pool struct {
	options PoolOptions

	mu       sync.Mutex
	queue    taskQueue
	express  taskQueue // comes before queue
	streak   int       // turns out of express since the last out of queue
	workers  []*worker // all of them
	idle     []*worker // those that wait to be summoned
	stuck    int       // workers whose stuck is set
	summoned bool      // a worker is on its way to the queue
	watching bool      // timer is set
	timer    *time.Timer
	closed   bool
	empty    chan struct{} // closed when the last worker has ended; nil until Close
}

var _ actor.Dispatcher = (*Pool)(nil)

// worker is one goroutine of a pool. Its fields are guarded by the pool's mu.
type worker struct {
	wake     chan struct{} // has room for one
	turns    uint64        // tasks taken
	seen     uint64        // turns at the last look
	index    int           // in Pool.workers
	summoned bool          // it was woken or started to take a task
	idle     bool          // it is in Pool.idle
	stuck    bool          // it is in a turn that has taken too long
}

// NewPool returns a pool. It panics on options that cannot be. Its owner closes
// it when the actors that it runs have stopped.
func NewPool(o PoolOptions) *Pool {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		panic(err)
	}
	return &Pool{options: o}
}

// Schedule runs fn on a worker. It does not block. After Close it still does so,
// so that nothing is lost, but then the worker ends with the work.
func (p *Pool) Schedule(fn func()) {
	p.mu.Lock()
	p.queue.push(fn)
	w, fresh := p.summonLocked()
	p.mu.Unlock()
	p.send(w, fresh)
}

// ScheduleFirst is Schedule ahead of all that Schedule was given.
func (p *Pool) ScheduleFirst(fn func()) {
	p.mu.Lock()
	p.express.push(fn)
	w, fresh := p.summonLocked()
	p.mu.Unlock()
	p.send(w, fresh)
}

// Throughput returns how many messages a mailbox handles in one turn.
func (p *Pool) Throughput() int { return p.options.Throughput }

// Close ends the workers once they have run what is scheduled, and waits for
// them. When ctx ends first, it returns the context's cause: a handler blocks. It
// may be called again, to wait once more.
func (p *Pool) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	if p.empty == nil {
		p.empty = make(chan struct{})
	}
	empty := p.empty
	idle := p.idle
	p.idle = nil
	for _, w := range idle {
		w.idle = false
	}
	if len(p.workers) == 0 {
		p.emptyLocked()
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
	return !p.emptyHandedLocked()
}

// emptyHandedLocked reports whether no mailbox waits.
func (p *Pool) emptyHandedLocked() bool { return p.queue.empty() && p.express.empty() }

// expressStreak is how many turns in a row the express lane may have while the queue
// waits.
const expressStreak = 32

// nextLocked returns the mailbox whose turn it is, or nil.
func (p *Pool) nextLocked() func() {
	if !p.express.empty() && (p.streak < expressStreak || p.queue.empty()) {
		p.streak++
		return p.express.pop()
	}
	p.streak = 0
	return p.queue.pop()
}

// emptyLocked lets Close return.
func (p *Pool) emptyLocked() {
	if p.empty != nil {
		close(p.empty)
		p.empty = nil
	}
	if p.timer != nil {
		p.timer.Stop()
		p.watching = false
	}
}

// summonLocked picks a worker for the queue: an idle one, or a new one, or none
// when enough are at work. One is on its way at a time; it summons the next.
func (p *Pool) summonLocked() (w *worker, fresh bool) {
	switch n := len(p.idle); {
	case p.emptyHandedLocked() || p.summoned:
		return nil, false
	case p.busyLocked() >= p.options.Workers:
		p.watchLocked()
		return nil, false
	case n > 0:
		w = p.idle[n-1]
		p.idle = p.idle[:n-1]
		w.idle = false
	default:
		w = &worker{wake: make(chan struct{}, 1), index: len(p.workers)}
		p.workers = append(p.workers, w)
		fresh = true
	}
	w.summoned, p.summoned = true, true
	return w, fresh
}

// busyLocked returns the number of workers that make progress.
func (p *Pool) busyLocked() int { return len(p.workers) - len(p.idle) - p.stuck }

// send sets a summoned worker going.
func (p *Pool) send(w *worker, fresh bool) {
	switch {
	case w == nil:
	case fresh:
		go p.work(w)
	default:
		w.wake <- struct{}{}
	}
}

// work is a worker's life.
func (p *Pool) work(w *worker) {
	defer p.leave(w) // also when a handler ends its goroutine
	for {
		fn, stay := p.take(w)
		switch {
		case fn != nil:
			fn()
		case stay:
			<-w.wake
		default:
			return
		}
	}
}

// take returns the next task, or else whether w is to wait for one.
func (p *Pool) take(w *worker) (fn func(), stay bool) {
	p.mu.Lock()
	p.arriveLocked(w)
	if p.busyLocked() <= p.options.Workers {
		fn = p.nextLocked()
	}
	if fn != nil {
		w.turns++
	} else if stay = !p.closed && len(p.idle) < p.options.Idle; stay {
		p.idle = append(p.idle, w)
		w.idle = true
	}
	next, fresh := p.summonLocked()
	p.mu.Unlock()
	p.send(next, fresh)
	return fn, stay
}

// arriveLocked notes that w has come for a task.
func (p *Pool) arriveLocked(w *worker) {
	if w.summoned {
		w.summoned, p.summoned = false, false
	}
	if w.stuck {
		w.stuck = false
		p.stuck--
	}
}

// leave takes w off the books.
func (p *Pool) leave(w *worker) {
	p.mu.Lock()
	p.arriveLocked(w)
	last := len(p.workers) - 1
	p.workers[w.index] = p.workers[last]
	p.workers[w.index].index = w.index
	p.workers[last] = nil
	p.workers = p.workers[:last]
	next, fresh := p.summonLocked()
	if len(p.workers) == 0 && p.closed {
		p.emptyLocked()
	}
	p.mu.Unlock()
	p.send(next, fresh)
}

// watchLocked sets the timer that looks for stuck workers. It is set only while
// something waits.
func (p *Pool) watchLocked() {
	if p.watching {
		return
	}
	p.watching = true
	if p.timer == nil {
		p.timer = time.AfterFunc(p.options.Stall, p.watch)
		return
	}
	p.timer.Reset(p.options.Stall)
}

// watch counts the workers that are in the same turn as at the last look as
// stuck, and summons others in their place.
func (p *Pool) watch() {
	p.mu.Lock()
	p.watching = false
	if p.emptyHandedLocked() {
		p.mu.Unlock()
		return
	}
	for _, w := range p.workers {
		if w.turns == w.seen && !w.summoned && !w.idle && !w.stuck {
			w.stuck = true
			p.stuck++
		}
		w.seen = w.turns
	}
	next, fresh := p.summonLocked()
	p.watchLocked()
	p.mu.Unlock()
	p.send(next, fresh)
}

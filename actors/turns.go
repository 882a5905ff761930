package actors

import (
	goruntime "runtime"

	"github.com/asynkron/protoactor-go/actor"
)

// turns gives the conversations of a system their turns on its dispatcher. On a [Pool] a turn
// needs no memory.
type turns struct {
	dispatcher actor.Dispatcher
	pool       *Pool // nil for another dispatcher
	sim        *Sim  // nil for another dispatcher
	throughput int   // the largest number of steps of a turn
	express    bool  // the dispatcher has an express queue
}

func newTurns(d actor.Dispatcher) turns {
	t := turns{dispatcher: d, throughput: max(1, d.Throughput())}
	t.pool, _ = d.(*Pool)
	t.sim, _ = d.(*Sim)
	_, t.express = d.(expressDispatcher)
	return t
}

// scheduleFirst adds t to the express queue, which the dispatcher has.
func (s *turns) scheduleFirst(t task) {
	if s.pool != nil {
		s.pool.scheduleFirst(t)
		return
	}
	s.dispatcher.(expressDispatcher).ScheduleFirst(t.run) //nolint:forcetypeassert // express says so
}

// othersWait reports whether a turn that has used its throughput is to end.
func (s *turns) othersWait() bool {
	if q, ok := s.dispatcher.(queueDispatcher); ok {
		return q.waiting()
	}
	goruntime.Gosched()
	return false
}

// task is a unit of work of a [Pool]. A pointer type that implements it needs no allocation,
// in contrast to a func.
type task interface{ run() }

type taskFunc func()

func (f taskFunc) run() { f() }

// taskQueue is a FIFO ring buffer of tasks. The zero value is empty.
type taskQueue struct {
	ring []task // length is a power of two
	head int    // index of the oldest task
	n    int
}

// keptTasks is the largest capacity that an empty queue keeps.
const keptTasks = 1024

func (q *taskQueue) push(t task) {
	if q.n == len(q.ring) {
		q.resize(max(16, 2*q.n))
	}
	q.ring[(q.head+q.n)&(len(q.ring)-1)] = t
	q.n++
}

// pop returns the oldest task, or nil.
func (q *taskQueue) pop() task {
	if q.n == 0 {
		return nil
	}
	t := q.ring[q.head]
	q.ring[q.head] = nil
	q.head = (q.head + 1) & (len(q.ring) - 1)
	q.n--
	if q.n == 0 && len(q.ring) > keptTasks {
		q.ring, q.head = nil, 0
	}
	return t
}

// at returns a pointer to the i-th oldest task.
func (q *taskQueue) at(i int) *task { return &q.ring[(q.head+i)&(len(q.ring)-1)] }

func (q *taskQueue) resize(size int) {
	ring := make([]task, size)
	for i := range q.n {
		ring[i] = *q.at(i)
	}
	q.ring, q.head = ring, 0
}

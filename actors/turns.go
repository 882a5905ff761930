package actors

import (
	goruntime "runtime"

	"github.com/asynkron/protoactor-go/actor"
)

// turns gives actors their turns on a dispatcher. On a [Pool] a turn needs no memory.
type turns interface {
	// schedule queues a turn of t, in the express queue if express is set. order is that of its turns
	// in a simulation.
	schedule(t task, express bool, order uint64)
	// waiting reports whether a turn that has used its throughput is to end, since others wait.
	waiting() bool
	// Throughput returns the largest number of messages of a turn.
	Throughput() int
}

// turnsOn returns the turns on a dispatcher, and whether it has an express queue.
func turnsOn(d actor.Dispatcher) (t turns, express bool) {
	switch d := d.(type) {
	case *Pool:
		return d, true
	case *Sim:
		return d, false
	}
	_, express = d.(expressDispatcher)
	return &otherTurns{Dispatcher: d}, express
}

// queueDispatcher is a dispatcher with a queue. An actor that has used its throughput goes to the
// end of the queue if others wait. Any other dispatcher may run a function inside Schedule.
type queueDispatcher interface {
	waiting() bool
}

// expressDispatcher is a dispatcher with a second, express queue. It serves the express
// queue first, but does not starve the ordinary one.
type expressDispatcher interface {
	ScheduleFirst(fn func())
}

// otherTurns are the turns on a dispatcher that is neither a [Pool] nor a [Sim].
type otherTurns struct {
	actor.Dispatcher
	run func() // an ordinary turn of the only actor; nil if there are several
}

func (o *otherTurns) schedule(t task, express bool, _ uint64) {
	switch {
	case express:
		o.Dispatcher.(expressDispatcher).ScheduleFirst(func() { t.run(true) }) //nolint:forcetypeassert // turnsOn says so
	case o.run != nil:
		o.Schedule(o.run)
	default:
		o.Schedule(func() { t.run(false) })
	}
}

func (o *otherTurns) waiting() bool {
	if q, ok := o.Dispatcher.(queueDispatcher); ok {
		return q.waiting()
	}
	goruntime.Gosched()
	return false
}

// task is a unit of work of a dispatcher: the turn of an actor, mostly. A pointer type that implements
// it needs no allocation, in contrast to a func. express says from which queue the turn was taken.
type task interface{ run(express bool) }

type taskFunc func()

func (f taskFunc) run(bool) { f() }

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

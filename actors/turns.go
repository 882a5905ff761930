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

// task is a unit of work of a dispatcher: the turn of an actor, mostly. A pointer type that
// implements it needs no allocation, in contrast to a func. express says from which queue the task
// was taken.
type task interface{ run(express bool) }

type taskFunc func()

func (f taskFunc) run(bool) { f() }

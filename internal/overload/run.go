package main

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"sync"
	"time"

	p "github.com/ribosome-agents/ribosome/performatives"
)

// The kinds of work.
const (
	kindCPU   = "cpu"
	kindWait  = "wait"
	kindMixed = "mixed"
	kindMany  = "tenthousand"
)

const (
	patience       = time.Second     // of a request of the load
	probePatience  = 5 * time.Second // of an URGENT task, and of a request that measures the capacity
	probeRate      = 20              // URGENT tasks a second, for each of two agents
	quietRate      = 5               // tasks a second of a quiet agent
	settleTime     = 6 * time.Second // after the load, for late answers and handlers
	capacityRounds = 4               // the best of them counts, since other processes use the processors too
	waiters        = 1024            // the askers that measure the capacity of an agent that waits
)

// run is one run of the program.
type run struct {
	where, kinds []string
	loads        []float64
	length       time.Duration // of each load
	turns        int64         // of burn in a millisecond
	askers       int           // of kindMany
	print        func(*row)
}

// row is what was measured of one load.
type row struct {
	where, kind  string
	load         float64 // a multiple of the capacity; zero for kindMany
	capacity     float64 // results a second
	length       time.Duration
	tasks, quiet tally // quiet are the tasks of the quiet agents
	idle, hot    tally // URGENT tasks
	usage        usage
	others       float64 // part of the processors that other processes used
}

// tallies returns all tallies of a row.
func (w *row) tallies() []*tally { return []*tally{&w.tasks, &w.quiet, &w.idle, &w.hot} }

// capacityTime is the length of one of capacityRounds.
func (r *run) capacityTime() time.Duration { return min(r.length/8, 1500*time.Millisecond) }

// bound is the time after which a run is given up.
func (r *run) bound() time.Duration {
	one := time.Minute + capacityRounds*(r.capacityTime()+2*probePatience) + time.Duration(len(r.loads))*(r.length+4*settleTime)
	return time.Duration(len(r.where)*len(r.kinds)) * one
}

// all measures all rows.
func (r *run) all(ctx context.Context) error {
	for _, where := range r.where {
		for _, kind := range r.kinds {
			if err := r.rows(ctx, where, kind); err != nil {
				return err
			}
		}
	}
	return nil
}

// rows measures the rows of one place and one kind.
func (r *run) rows(ctx context.Context, where, kind string) error {
	pl, err := openPlace(ctx, where, r.turns)
	defer pl.close()
	if err != nil {
		return err
	}
	task, askers := taskSpin, 2*goruntime.GOMAXPROCS(0)
	switch kind {
	case kindCPU, kindMixed:
	case kindWait:
		task, askers = taskWait, waiters
	case kindMany:
		w := &row{where: where, kind: kind, capacity: float64(r.askers) / restTime.Seconds()}
		return r.measure(ctx, pl, w, func() { r.many(ctx, pl, w) })
	default:
		return fmt.Errorf("no such kind: %q; there are cpu, wait, mixed and tenthousand", kind)
	}
	capacity := 0.0
	for range capacityRounds {
		var t tally
		asked := closedLoop(ctx, askers, r.capacityTime(), 0, func(int) error {
			return t.ask(ctx, pl.crowd(), request{to: hotAgent, task: task}, probePatience)
		})
		capacity = max(capacity, float64(t.count(done))/asked.Seconds())
	}
	for _, load := range r.loads {
		w := &row{where: where, kind: kind, load: load, capacity: capacity}
		if err := r.measure(ctx, pl, w, func() { r.open(pl, w, task) }); err != nil {
			return err
		}
	}
	return nil
}

// measure runs a load beside the URGENT tasks, waits for the last answers, and prints the row.
func (r *run) measure(ctx context.Context, pl *place, w *row, load func()) (err error) {
	if err := pl.reset(); err != nil {
		return err
	}
	w.length = r.length
	before, began := readProcessors(pl.pids), time.Now()
	var all sync.WaitGroup
	all.Go(func() { r.urgent(pl, &w.idle, idleAgent) })
	all.Go(func() { r.urgent(pl, &w.hot, hotAgent) })
	all.Go(load)
	all.Wait()
	after := readProcessors(pl.pids)
	w.others = (after.all - before.all - after.own + before.own) / time.Since(began).Seconds() / float64(goruntime.NumCPU())
	if w.usage, err = pl.read(); err != nil {
		return err
	}
	if w.usage.Began, err = pl.settle(ctx, w.tallies()); err != nil {
		return err
	}
	for _, t := range w.tallies() {
		t.close()
	}
	r.print(w)
	return nil
}

// settle waits until all is answered and no handler runs, for settleTime at most. It returns how many handlers have begun.
func (pl *place) settle(ctx context.Context, tallies []*tally) (int64, error) {
	for began := time.Now(); ; _ = wait(ctx, pause) {
		u, err := pl.read()
		open := int(u.Running)
		for _, t := range tallies {
			open += t.open()
		}
		if err = errors.Join(err, context.Cause(ctx)); err != nil || open == 0 || time.Since(began) > settleTime {
			return u.Began, err
		}
	}
}

// urgent offers URGENT tasks to an agent.
func (r *run) urgent(pl *place, t *tally, to p.AgentID) {
	offer(r.length, probeRate, func() {
		t.issue(pl.askers[0], request{to: to, task: taskNothing, priority: p.Urgent}, probePatience)
	}, t.hold)
}

// open offers a multiple of the capacity to the hot agent, and with kindMixed some tasks to the quiet ones in turns.
func (r *run) open(pl *place, w *row, task string) {
	// The processors work on after the end of the load. Those results are no goodput, save of the time that each task takes.
	w.tasks.until = time.Now().Add(r.length + taskTime[task])
	w.quiet.until = w.tasks.until
	var all sync.WaitGroup
	if w.kind == kindMixed {
		next := 0 // of the only producer, since the rate is low
		all.Go(func() {
			offer(r.length, quietRate*quietAgents, func() {
				next++
				w.quiet.issue(pl.askers[1], request{to: quietAgent(next % quietAgents), task: task}, patience)
			}, w.quiet.hold)
		})
	}
	offer(r.length, w.capacity*w.load, func() {
		w.tasks.issue(pl.crowd(), request{to: hotAgent, task: task}, patience)
	}, w.tasks.hold)
	all.Wait()
}

// many has many askers at ten agents, whose handlers wait.
func (r *run) many(ctx context.Context, pl *place, w *row) {
	agents := append([]p.AgentID{hotAgent}, allAgents()[2:]...)
	w.length = closedLoop(ctx, r.askers, r.length, min(restTime, r.length), func(i int) error {
		return w.tasks.ask(ctx, pl.crowd(), request{to: agents[i%len(agents)], task: taskRest}, restTime+probePatience)
	})
}

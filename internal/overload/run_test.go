package overload

import (
	"context"
	"fmt"
	"os"
	goruntime "runtime"
	"slices"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

const kindCPU, kindWait, kindMixed, kindMany = "cpu", "wait", "mixed", "tenthousand"

// kind is a kind of work.
type kind struct {
	task     string
	to       []p.AgentID
	patience time.Duration
	askers   int // that measure the capacity; zero if it is not measured
}

var kinds = map[string]kind{
	kindCPU:   {taskSpin, hotAgent, patience, 2 * goruntime.GOMAXPROCS(0)},
	kindWait:  {taskWait, hotAgent, patience, codons.DefaultMaxTasks},
	kindMixed: {taskSpin, hotAgent, patience, 2 * goruntime.GOMAXPROCS(0)},
	kindMany:  {taskRest, slices.Concat(hotAgent, quietAgents), taskTime[taskRest] + longPatience, 0},
}

const (
	patience       = time.Second            // of a request
	longPatience   = 5 * time.Second        // of an URGENT task, and of those that measure the capacity or rest
	probeRate      = 20                     // URGENT tasks a second, for each of two agents
	quietRate      = 45                     // tasks a second, for the quiet agents together
	settleTime     = 6 * time.Second        // after the load, for late answers and handlers
	capacityRounds = 5                      // their median counts
	drainTime      = 100 * time.Millisecond // see [offer]
	pause          = 10 * time.Millisecond  // after a failure, and between two looks at an awaited value
)

// run is one run of the program.
type run struct {
	where, kinds []string
	loads        []float64
	length       time.Duration // of each load
	turns        int64         // of burn, in a millisecond
	many         float64       // the requests of kindMany
	print        func(*row)
}

// row has the measurements of one load.
type row struct {
	where, kind    string
	load, capacity float64 // multiple of the capacity; results a second
	length         time.Duration
	tasks, quiet   tally // of the quiet agents
	idle, hot      tally // URGENT tasks
	usage          usage
	others         float64 // part of the processors used by other processes
}

// bound is the time after which a run is given up.
func (r *run) bound() time.Duration {
	one := time.Minute + time.Duration(len(r.loads)+1)*(r.length+4*settleTime)
	return time.Duration(len(r.where)*len(r.kinds)) * one
}

// all measures all rows.
func (r *run) all(ctx context.Context) {
	for _, where := range r.where {
		for _, kind := range r.kinds {
			r.rows(ctx, where, kind)
		}
	}
}

// rows measures the rows of one place and one kind.
func (r *run) rows(ctx context.Context, where, kind string) {
	k, known := kinds[kind]
	if !known {
		check(fmt.Errorf("no such kind: %q; there are cpu, wait, mixed and tenthousand", kind))
	}
	si := openSite(ctx, where, r.turns)
	defer si.close()
	if k.askers == 0 {
		length := min(r.length, 2*time.Second)
		r.row(si, &row{where: where, kind: kind, load: 1, capacity: r.many / length.Seconds(), length: length})
		return
	}
	var rounds [capacityRounds]float64
	for i := range rounds {
		rounds[i] = k.capacity(si, r.length/8)
	}
	slices.Sort(rounds[:])
	capacity := rounds[capacityRounds/2]
	for _, load := range r.loads {
		r.row(si, &row{where: where, kind: kind, load: load, capacity: capacity, length: r.length})
	}
}

// capacity has askers ask again when they are answered, for a time, and returns the results a
// second.
func (k kind) capacity(si *site, length time.Duration) float64 {
	var t tally
	var all sync.WaitGroup
	began := time.Now()
	for i := range k.askers {
		from := si.crowd()[i%len(si.crowd())]
		all.Go(func() {
			for time.Since(began) < length {
				select {
				case err := <-t.issue(from, request{k.to[0], k.task, p.Normal, time.Now(), longPatience}):
					if err != nil {
						<-time.After(pause)
					}
				case <-time.After(2 * longPatience):
				}
			}
		})
	}
	all.Wait()
	t.close()
	return float64(t.goodput) / time.Since(began).Seconds()
}

// row measures a load beside URGENT tasks, waits for the last answers and handlers, and prints
// the row.
func (r *run) row(si *site, w *row) {
	k := kinds[w.kind]
	si.call(commandReset)
	others, began := othersTime(si.pids), time.Now()
	if k.askers > 0 {
		// The processors work on after the end. Those results are no goodput, save for the time
		// that a task takes.
		w.tasks.until = began.Add(w.length + taskTime[k.task])
		w.quiet.until = w.tasks.until
	}
	var loads sync.WaitGroup
	load := func(t *tally, rate float64, from []asker, to []p.AgentID, task string, priority p.Priority, patience time.Duration) {
		loads.Go(func() {
			offer(w.length, rate, func(i int) {
				t.issue(from[i%len(from)], request{to[i%len(to)], task, priority, time.Now(), patience})
			}, func() {
				t.begin()
				t.end(request{at: time.Now(), patience: patience}, time.Now(), errHeld)
			})
		})
	}
	load(&w.idle, probeRate, si.operator(), idleAgent, taskNothing, p.Urgent, longPatience)
	load(&w.hot, probeRate, si.operator(), hotAgent, taskNothing, p.Urgent, longPatience)
	if w.kind == kindMixed {
		load(&w.quiet, quietRate, si.calm(), quietAgents, k.task, p.Normal, patience)
	}
	load(&w.tasks, w.capacity*w.load, si.crowd(), k.to, k.task, p.Normal, k.patience)
	loads.Wait()
	w.others = (othersTime(si.pids) - others) / time.Since(began).Seconds() / float64(goruntime.NumCPU())
	w.usage = si.call(commandRead)
	tallies := []*tally{&w.tasks, &w.quiet, &w.idle, &w.hot}
	for end := time.Now().Add(settleTime); time.Now().Before(end); <-time.After(pause) {
		u := si.call(commandRead)
		w.usage.Began, w.usage.Handlers = u.Began, max(u.Handlers, w.usage.Handlers)
		if u.Running == 0 && !slices.ContainsFunc(tallies, (*tally).waits) {
			break
		}
	}
	for _, t := range tallies {
		if t.close(); t.reason != nil {
			fmt.Fprintln(os.Stderr, "overload: other:", t.reason)
		}
	}
	r.print(w)
}

// offer issues requests at a rate, in requests a second, for a time. It does not wait for their
// ends. A request may block its producer, so there are several. It holds a request that none of
// them has issued within patience, or within drainTime after the end.
func offer(length time.Duration, rate float64, issue func(i int), hold func()) {
	queue := make(chan int, 1+int(rate*patience.Seconds()))
	began, offered := time.Now(), 0
	var producers sync.WaitGroup
	for range min(64, 1+int(rate/100)) {
		producers.Go(func() {
			for i := range queue {
				if time.Since(began) < length+drainTime {
					issue(i)
				} else {
					hold()
				}
			}
		})
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for elapsed := time.Duration(0); elapsed < length; <-tick.C {
		elapsed = min(time.Since(began), length)
		for ; float64(offered) < rate*elapsed.Seconds(); offered++ {
			select {
			case queue <- offered:
			default:
				hold()
			}
		}
	}
	close(queue)
	producers.Wait()
}

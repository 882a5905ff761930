package main

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// The tasks of a worker.
const (
	taskSpin    = "spin"    // spinTime of processor work
	taskWait    = "wait"    // waitTime of a timer
	taskRest    = "rest"    // restTime of a timer
	taskNothing = "nothing" // no work
)

const (
	spinTime = 5 * time.Millisecond
	waitTime = 50 * time.Millisecond
	restTime = 2 * time.Second
)

// taskTime has how long the tasks take.
var taskTime = map[string]time.Duration{taskSpin: spinTime, taskWait: waitTime, taskRest: restTime}

// The agents. The quiet ones are quietAgent(0) to quietAgent(quietAgents-1).
const (
	hotAgent    p.AgentID = "hot"  // gets the load
	idleAgent   p.AgentID = "idle" // gets URGENT tasks only
	quietAgents           = 9
)

func quietAgent(i int) p.AgentID { return p.AgentID(fmt.Sprint("quiet", i)) }

// allAgents returns the agents of a node.
func allAgents() []p.AgentID {
	ids := []p.AgentID{hotAgent, idleAgent}
	for i := range quietAgents {
		ids = append(ids, quietAgent(i))
	}
	return ids
}

// worker is an agent that performs the tasks.
type worker struct {
	turns    int64         // see [run]
	handlers *atomic.Int64 // under way in this process
	began    *atomic.Int64 // since the last reset, in this process
}

// Describe announces the tasks.
func (worker) Describe() p.Capabilities {
	return p.Capabilities{Actions: []p.Action{{Name: taskSpin}, {Name: taskWait}, {Name: taskRest}, {Name: taskNothing}}}
}

// ConsiderTask accepts each task.
func (worker) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	return delegation.Accept()
}

// PerformTask performs a task. One whose ctx has ended is done nevertheless, as by code that does not look.
func (w worker) PerformTask(ctx context.Context, t delegation.Task) (p.InformResult, error) {
	w.began.Add(1)
	w.handlers.Add(1)
	defer w.handlers.Add(-1)
	var err error
	switch t.TaskType {
	case taskSpin:
		burn(w.turns * spinTime.Milliseconds())
	case taskWait, taskRest:
		err = wait(ctx, taskTime[t.TaskType])
	}
	return p.InformResult{Status: p.StatusSuccess}, err
}

// wait waits for d, or for the end of ctx, and returns its cause then.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// sunk keeps the compiler from dropping the work of burn.
var sunk atomic.Uint64

// burn uses the processor for a number of turns of its loop.
func burn(turns int64) {
	x := uint64(turns) | 1
	for range turns {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	sunk.Store(x)
}

// calibrate returns the turns of burn in a millisecond of a processor that nothing else uses: the best of several rounds.
func calibrate() int64 {
	const turns = 2_000_000
	best := math.Inf(1)
	for range 20 {
		began := time.Now()
		burn(turns)
		best = min(best, float64(time.Since(began))/float64(time.Millisecond))
	}
	return int64(turns / best)
}

// spawnWorkers spawns the agents on a node. The sampler counts their handlers.
func spawnWorkers(ctx context.Context, n *runtime.Node, turns int64, s *sampler) error {
	for _, id := range allAgents() {
		err := n.Spawn(ctx, id, func() actors.Agent { return worker{turns, &s.handlers, &s.began} })
		if err != nil {
			return err
		}
	}
	return nil
}

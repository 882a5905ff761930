package overload

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/codons/delegation"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// The tasks of a worker: processor work, a timer, a longer one, and none.
const taskSpin, taskWait, taskRest, taskNothing = "spin", "wait", "rest", "nothing"

// taskTime is how long tasks take on processors that nothing else uses.
var taskTime = map[string]time.Duration{taskSpin: 5 * time.Millisecond, taskWait: 50 * time.Millisecond, taskRest: 3 * time.Second}

// agents are the ids of the workers: one that gets the load, one that gets URGENT tasks only, and
// the quiet ones.
var agents = []p.AgentID{"hot", "idle", "quiet0", "quiet1", "quiet2", "quiet3", "quiet4", "quiet5", "quiet6", "quiet7", "quiet8"}

var hotAgent, idleAgent, quietAgents = agents[:1], agents[1:2], agents[2:]

// worker is an agent that performs the tasks.
type worker struct {
	turns int64 // of burn, in a millisecond
	*sampler
}

// Describe announces the tasks.
func (worker) Describe() p.Capabilities {
	return p.Capabilities{Actions: []p.Action{{Name: taskSpin}, {Name: taskWait}, {Name: taskRest}, {Name: taskNothing}}}
}

// ConsiderTask accepts each task.
func (worker) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	return delegation.Accept()
}

// PerformTask performs a task. Processor work is not cut short when its ctx ends, as that of code
// which does not look.
func (w worker) PerformTask(ctx context.Context, t delegation.Task) (p.InformResult, error) {
	w.began.Add(1)
	w.handlers.Add(1)
	defer w.handlers.Add(-1)
	var err error
	switch t.TaskType {
	case taskSpin:
		burn(w.turns * taskTime[taskSpin].Milliseconds())
	case taskWait, taskRest:
		err = wait(ctx, taskTime[t.TaskType])
	}
	return p.InformResult{Status: p.StatusSuccess}, err
}

// wait waits for d, or for the end of ctx, and returns its cause then.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// sunk keeps the compiler from dropping the work of burn.
var sunk atomic.Uint64

// burn uses the processor for a number of turns of its loop.
func burn(turns int64) {
	x := uint64(turns) | 1 //nolint:gosec // any number will do
	for range turns {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	sunk.Store(x)
}

// calibrate returns the turns of burn in a millisecond of a processor that nothing else uses: the
// best of several rounds.
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

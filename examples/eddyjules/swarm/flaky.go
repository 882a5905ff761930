package swarm

import (
	"context"
	"sync/atomic"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Flaky is a [Debugger] that panics in its first use and in no other, to demonstrate the
// failure, the retry and the result. It panics at the second step, or before its result
// if there are fewer steps.
type Flaky struct {
	Debugger
	failed atomic.Bool
}

// Debug implements [Debugger].
func (f *Flaky) Debug(ctx context.Context, p Problem, report func(string)) (performatives.InformResult, error) {
	steps := 0
	result, err := f.Debugger.Debug(ctx, p, func(step string) {
		report(step)
		if steps++; steps == 2 {
			f.crash(step)
		}
	})
	f.crash("about to answer")
	return result, err
}

func (f *Flaky) crash(when string) {
	if f.failed.CompareAndSwap(false, true) {
		panic("chaos while " + when)
	}
}

package swarm

import (
	"context"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Paced is a [Debugger] that waits after each step, so that a person can watch the conversation
// grow.
type Paced struct {
	Debugger
	Pace time.Duration // after each step
}

// Debug implements [Debugger].
func (p Paced) Debug(ctx context.Context, problem Problem, report func(string)) (performatives.InformResult, error) {
	return p.Debugger.Debug(ctx, problem, func(step string) {
		report(step)
		select {
		case <-time.After(p.Pace):
		case <-ctx.Done():
		}
	})
}

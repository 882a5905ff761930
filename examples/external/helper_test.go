package main

import (
	"context"
	"sync/atomic"

	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/performatives"
)

// slowHelper is an agent that reports the start of each task. If waits is set, its tasks
// last until they are withdrawn.
type slowHelper struct {
	delegation.Worker
	waits atomic.Bool
	begun chan delegation.Task
	ended chan error // why the waiting ended
}

// PerformTask performs the task, or waits until it is withdrawn.
func (p *slowHelper) PerformTask(ctx context.Context, t delegation.Task) (performatives.InformResult, error) {
	waits := p.waits.Load()
	p.begun <- t
	if !waits {
		return p.Worker.PerformTask(ctx, t)
	}
	<-ctx.Done()
	p.ended <- context.Cause(ctx)
	return performatives.InformResult{}, context.Cause(ctx)
}

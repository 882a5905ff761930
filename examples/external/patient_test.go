package main

import (
	"context"
	"sync/atomic"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
)

// patient is an agent that tells when it begins a task, and waits for its end if it
// should.
type patient struct {
	codons.Worker
	waits atomic.Bool
	begun chan codons.Task
	ended chan error // why the waiting ended
}

// PerformTask performs the task, or waits until it is withdrawn.
func (p *patient) PerformTask(ctx context.Context, t codons.Task) (performatives.InformResult, error) {
	waits := p.waits.Load()
	p.begun <- t
	if !waits {
		return p.Worker.PerformTask(ctx, t)
	}
	<-ctx.Done()
	p.ended <- context.Cause(ctx)
	return performatives.InformResult{}, context.Cause(ctx)
}

package main

import (
	"context"
	"sync"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/performatives"
)

// reviewer reviews changes. A long review ends only when it is cancelled.
type reviewer struct{ node string }

// Describe returns the capabilities of the reviewer.
func (reviewer) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{"Code Review"}, Actions: []performatives.Action{{Name: "review"}}}
}

// ConsiderTask accepts each review.
func (reviewer) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	return delegation.Accept()
}

// PerformTask does the review.
func (r reviewer) PerformTask(ctx context.Context, t delegation.Task) (performatives.InformResult, error) {
	if t.Description == "long" {
		<-ctx.Done()
		return performatives.InformResult{}, context.Cause(ctx)
	}
	return performatives.InformResult{Status: performatives.StatusSuccess, Summary: "no objections on " + r.node}, nil
}

// onAccept closes a channel when the agent has accepted the task.
func onAccept(accepted chan<- struct{}) codons.Option {
	var once sync.Once
	return delegation.WithAccepted(func(performatives.TaskAccept) { once.Do(func() { close(accepted) }) })
}

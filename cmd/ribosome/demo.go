package main

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm"
	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm/pydebug"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

const (
	demoPace  = 2 * time.Second // of the steps of an example task, without --pace
	demoPause = 5 * time.Second // between the end of an example task and the next one
)

// demonstrates reports whether the node gives the swarm example tasks: no peer can connect and give
// it one, and without conversations the console has nothing to show.
func (c *nodeCmd) demonstrates() bool { return c.readOnly() && c.Swarm == swarm.Name }

// pace returns the time that the swarm takes for each step of its work.
func (c *nodeCmd) pace() time.Duration {
	if c.demonstrates() {
		return cmp.Or(c.Pace, demoPace)
	}
	return c.Pace
}

// demonstrate gives Eddy one example task after the other until ctx ends. The task under way is
// cancelled then. A task has the time for ten steps at the pace.
func demonstrate(ctx context.Context, node *runtime.Node, pace time.Duration, log *slog.Logger) {
	deadline := max(codons.DefaultDeadline, 10*pace)
	sample := pydebug.Sample()
	task := swarm.Problem{Code: sample.Code, Traceback: sample.Traceback}.Task()
	for {
		within, cancel := context.WithTimeout(ctx, deadline)
		_, err := node.Delegate(within, swarm.EddyID, task, codons.WithOntology(performatives.OntologyDebugRequest))
		if cancel(); err != nil && ctx.Err() == nil {
			log.Warn("an example task has failed", "err", err)
		}
		select {
		case <-time.After(demoPause):
		case <-ctx.Done():
			return
		}
	}
}

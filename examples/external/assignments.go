package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/examples/program"
	"github.com/ribosome-agents/ribosome/performatives"
)

// taskFor holds the task that the node delegates to an agent, by the agent's action.
var taskFor = map[string]performatives.TaskRequest{
	"count_words": {
		TaskType: "count_words", Description: "What is this text about?",
		Parameters: performatives.ContentOf(map[string]string{"text": "A ribosome reads messages, and a ribosome makes what the messages say. " +
			"The messages come from elsewhere, and so do the agents of this swarm: the ribosome does not mind."}),
	},
	"prime_factors": {
		TaskType: "prime_factors", Description: "Which primes make this number?",
		Parameters: performatives.ContentOf(map[string]string{"n": "1000000016000000063"}),
	},
}

// assignments are the tasks that the node has delegated.
type assignments struct {
	host    *host
	log     *transcript
	running sync.WaitGroup
	ended   chan error // the outcome of each task
}

// assign delegates to an agent the tasks for its actions.
func (e *assignments) assign(ctx context.Context, who events.AgentAnnounced) {
	given := false
	for _, name := range actionsOf(who.Capabilities) {
		if task, ok := taskFor[name]; ok {
			given = true
			e.running.Go(func() { e.end(ctx, e.delegate(ctx, who.Agent, task)) })
		}
	}
	if !given {
		e.log.say("There is nothing to do for %s; it may ask for something itself.", who.Agent)
	}
}

func (e *assignments) delegate(ctx context.Context, to performatives.AgentID, task performatives.TaskRequest) error {
	result, err := e.host.node.Delegate(ctx, to, task)
	switch {
	case err != nil:
		e.log.say("%s has not done %s: %v", to, task.TaskType, err)
		return fmt.Errorf("%s: %s: %w", to, task.TaskType, err)
	case result.Status != performatives.StatusSuccess:
		e.log.say("%s says %s to %s: %s", to, result.Status, task.TaskType, result.Summary)
		return fmt.Errorf("%s: %s: %s", to, task.TaskType, result.Status)
	}
	e.log.say("%s has done %s: %s", to, task.TaskType, program.Summary(result))
	return nil
}

func (e *assignments) end(ctx context.Context, err error) {
	select {
	case e.ended <- err:
	case <-ctx.Done():
	}
}

package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// work is what the node has to delegate, by the action that it takes.
var work = map[string]performatives.TaskRequest{
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

// errands are the tasks that agents have been given.
type errands struct {
	host    *host
	talk    *talk
	running sync.WaitGroup
	ended   chan error // one for each task: why it was not done
}

func newErrands(h *host, t *talk) *errands {
	return &errands{host: h, talk: t, ended: make(chan error)}
}

// begin delegates what there is to who can do it.
func (e *errands) begin(ctx context.Context, who actors.AgentAnnounced) {
	given := false
	for _, name := range actionsOf(who.Capabilities) {
		if task, ok := work[name]; ok {
			given = true
			e.running.Go(func() { e.end(ctx, e.delegate(ctx, who.Agent, task)) })
		}
	}
	if !given {
		e.talk.say("There is nothing to do for %s; it may ask for something itself.", who.Agent)
	}
}

func (e *errands) delegate(ctx context.Context, to performatives.AgentID, task performatives.TaskRequest) error {
	result, err := e.host.node.Delegate(ctx, to, task)
	switch {
	case err != nil:
		e.talk.say("%s has not done %s: %v", to, task.TaskType, err)
		return fmt.Errorf("%s: %s: %w", to, task.TaskType, err)
	case result.Status != performatives.StatusSuccess:
		e.talk.say("%s says %s to %s: %s", to, result.Status, task.TaskType, result.Summary)
		return fmt.Errorf("%s: %s: %s", to, task.TaskType, result.Status)
	}
	e.talk.say("%s has done %s: %s", to, task.TaskType, outcome(result))
	return nil
}

// outcome is what a result says.
func outcome(r performatives.InformResult) string {
	if r.Summary != "" {
		return r.Summary
	}
	return short(r.Details)
}

func (e *errands) end(ctx context.Context, err error) {
	select {
	case e.ended <- err:
	case <-ctx.Done():
	}
}

// wait waits for the tasks to end.
func (e *errands) wait() { e.running.Wait() }

package swarm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/performatives"
)

// worker is an agent that performs tasks by their types.
type worker struct {
	topic string
	tasks map[string]task
}

// task is one type of task.
type task struct {
	description string
	// run decodes and checks the parameters, and performs the task unless only that is asked for.
	run func(ctx context.Context, t delegation.Task, onlyCheck bool) (details any, summary string, err error)
}

// payload is the parameters of a task.
type payload interface{ Validate() error }

// performs returns a task with a P as its parameters, which do performs.
func performs[P payload](description string, do func(context.Context, delegation.Task, P) (details any, summary string, err error)) task {
	return task{description, func(ctx context.Context, t delegation.Task, onlyCheck bool) (any, string, error) {
		p, err := performatives.Decode[P](t.Parameters)
		if err == nil {
			err = p.Validate()
		}
		if err != nil || onlyCheck {
			return nil, "", err
		}
		return do(ctx, t, p)
	}}
}

// Describe returns the capabilities for discovery.
func (w worker) Describe() performatives.Capabilities {
	c := performatives.Capabilities{Topics: []string{w.topic}}
	for _, name := range slices.Sorted(maps.Keys(w.tasks)) {
		c.Actions = append(c.Actions, performatives.Action{Name: name, Description: w.tasks[name].description})
	}
	return c
}

// ConsiderTask accepts the tasks that the worker performs, with parameters that it can read.
func (w worker) ConsiderTask(ctx context.Context, t delegation.Task) delegation.Decision {
	known, ok := w.tasks[strings.ToLower(t.TaskType)]
	if !ok {
		return delegation.Reject(performatives.CodeIncapable, fmt.Sprintf("there is no task %q here, only %s", t.TaskType, strings.Join(slices.Sorted(maps.Keys(w.tasks)), ", ")))
	}
	_, _, err := known.run(ctx, t, true)
	var refusal *performatives.Refusal
	switch {
	case errors.As(err, &refusal):
		return delegation.NotUnderstoodBy(err)
	case err != nil:
		return delegation.NotUnderstood(performatives.CodeInvalidPayload, err.Error())
	}
	return delegation.Accept()
}

// PerformTask performs an accepted task. The texts of its errors are for the asker: what this
// swarm runs into concerns the user's own files and endpoint.
func (w worker) PerformTask(ctx context.Context, t delegation.Task) (performatives.InformResult, error) {
	details, summary, err := w.tasks[strings.ToLower(t.TaskType)].run(ctx, t, false)
	if refusal := (*performatives.Refusal)(nil); err != nil && !errors.As(err, &refusal) && ctx.Err() == nil {
		err = &performatives.Refusal{Code: performatives.CodeFailed, Text: err.Error()}
	}
	return performatives.InformResult{Status: performatives.StatusSuccess, Summary: summary, Details: performatives.ContentOf(details)}, err
}

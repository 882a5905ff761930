package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/performatives"
)

// worker is an agent that performs tasks by their types.
type worker struct {
	topic string
	tasks map[string]task
}

// task is one type of task: it checks the parameters, and performs it.
type task struct {
	description string
	check       func(performatives.Content) error
	perform     func(context.Context, delegation.Task) (details any, summary string, err error)
}

// payload is the parameters of a task.
type payload interface{ validate() error }

// performs returns a task that decodes and validates its parameters as a P, and performs the task
// by calling do.
func performs[P payload](description string, do func(context.Context, delegation.Task, P) (details any, summary string, err error)) task {
	return task{
		description: description,
		check: func(c performatives.Content) error {
			p, err := performatives.Decode[P](c)
			if err != nil {
				return err
			}
			return p.validate()
		},
		perform: func(ctx context.Context, t delegation.Task) (any, string, error) {
			p, err := performatives.Decode[P](t.Parameters)
			if err != nil {
				return nil, "", err
			}
			return do(ctx, t, p)
		},
	}
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
func (w worker) ConsiderTask(_ context.Context, t delegation.Task) delegation.Decision {
	known, ok := w.tasks[strings.ToLower(t.TaskType)]
	if !ok {
		return delegation.Reject(performatives.CodeIncapable, fmt.Sprintf("there is no task %q here, only %s", t.TaskType, strings.Join(slices.Sorted(maps.Keys(w.tasks)), ", ")))
	}
	err := known.check(t.Parameters)
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
// program runs into concerns the user's own files and endpoint.
func (w worker) PerformTask(ctx context.Context, t delegation.Task) (performatives.InformResult, error) {
	details, summary, err := w.tasks[strings.ToLower(t.TaskType)].perform(ctx, t)
	if err != nil {
		return performatives.InformResult{}, tellable(err)
	}
	return performatives.InformResult{Status: performatives.StatusSuccess, Summary: summary, Details: performatives.ContentOf(details)}, nil
}

// tellable returns err as a refusal, whose text reaches the asker. The end of the context, or of a
// task that this one has started, keeps its code.
func tellable(err error) error {
	var end *codons.EndError
	var refusal *performatives.Refusal
	switch {
	case errors.As(err, &end) && end.Refusal.Code != "":
		return &performatives.Refusal{Code: end.Refusal.Code, Text: end.Refusal.Text}
	case errors.As(err, &refusal), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return &performatives.Refusal{Code: performatives.CodeFailed, Text: err.Error()}
}

// call is a task for another agent, in a conversation of its own.
type call struct {
	to   performatives.AgentID
	task string
	// thread is the id of the conversation: <prefix>-<base>-<sequence>, see [thread].
	thread   performatives.ConversationID
	progress func(performatives.StatusUpdate) // nil for none
}

// thread returns the trace id of the n-th conversation below base (Trace Correlation), from 1.
func thread(prefix string, base performatives.ConversationID, n int) performatives.ConversationID {
	return performatives.ConversationID(fmt.Sprintf("%s-%s-%03d", prefix, base, n))
}

// ask has another agent perform a task, and returns the details of its result.
func ask[R any](ctx context.Context, p codons.Party, c call, parameters any) (result R, err error) {
	options := []codons.Option{codons.WithConversation(c.thread)}
	if c.progress != nil {
		options = append(options, delegation.WithProgress(c.progress))
	}
	r, err := delegation.Delegate(ctx, p, c.to, performatives.TaskRequest{TaskType: c.task, Parameters: performatives.ContentOf(parameters)}, options...)
	if err != nil {
		return result, err
	}
	return performatives.Decode[R](r.Details)
}

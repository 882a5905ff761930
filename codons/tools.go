package codons

import (
	"context"
	"fmt"
	"slices"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Tools are the tools of an agent. An agent that embeds *Tools is a [ToolAgent] and
// a [Worker], whose tasks are calls of its tools; one that does more than that holds
// them, and calls their methods from its own. They never change, so a restarted
// agent, or another, may have the same.
type Tools struct {
	list   []*Tool
	byName map[string]*Tool // by their folded names
}

// NewTools makes a set of tools. Names are compared as
// [performatives.FoldCapability] does, and two of the same are an error.
func NewTools(tools ...*Tool) (*Tools, error) {
	t := &Tools{list: slices.Clone(tools), byName: make(map[string]*Tool, len(tools))}
	for _, tool := range tools {
		name := performatives.FoldCapability(tool.action.Name)
		if t.byName[name] != nil {
			return nil, fmt.Errorf("codons: two tools are called %q", tool.action.Name)
		}
		t.byName[name] = tool
	}
	return t, nil
}

// ToolSet returns t: it makes an agent that embeds t a [ToolAgent].
func (t *Tools) ToolSet() *Tools { return t }

// Actions are the tools as discovery sees them, with their schemas. The slice is the
// caller's.
func (t *Tools) Actions() []performatives.Action {
	actions := make([]performatives.Action, len(t.list))
	for i, tool := range t.list {
		actions[i] = tool.action
	}
	return actions
}

// Describe says that the agent has these tools, and nothing else.
func (t *Tools) Describe() performatives.Capabilities {
	return performatives.Capabilities{Actions: t.Actions()}
}

// Has reports whether there is a tool of that name.
func (t *Tools) Has(name string) bool { return t.byName[performatives.FoldCapability(name)] != nil }

// ConsiderTask accepts a task that is a call of one of the tools, with arguments that
// fit. A tool that is not there is rejected as [performatives.CodeIncapable];
// arguments that do not fit are not understood, and the text says where and why.
func (t *Tools) ConsiderTask(_ context.Context, task Task) Decision {
	if _, _, err := t.admit(task.Message, task.TaskRequest); err != nil {
		return declining(err)
	}
	return Accept()
}

// PerformTask calls the tool.
func (t *Tools) PerformTask(ctx context.Context, task Task) (performatives.InformResult, error) {
	return t.call(ctx, ToolCall{task.Message, task.Agent}, task.TaskRequest)
}

// call is one call from its beginning to its end.
func (t *Tools) call(ctx context.Context, call ToolCall, task performatives.TaskRequest) (performatives.InformResult, error) {
	tool, work, err := t.admit(call.Message, task)
	if err != nil {
		return performatives.InformResult{}, err
	}
	return tool.run(ctx, call, work)
}

func (t *Tools) admit(m *performatives.Message, task performatives.TaskRequest) (*Tool, func(context.Context) (any, error), error) {
	tool := t.byName[performatives.FoldCapability(task.TaskType)]
	if tool == nil {
		return nil, nil, &performatives.Refusal{
			Code: performatives.CodeIncapable, Field: "task_type", Text: fmt.Sprintf("there is no tool %.64q", task.TaskType),
		}
	}
	work, err := tool.admit(m, task.Parameters)
	return tool, work, err
}

// declining is [turndown] as a worker's decision.
func declining(err error) Decision {
	switch command, payload := turndown(err); command {
	case commandNotUnderstood:
		return Decision{command, payload}
	case commandRefuse:
		return Decision{commandReject, asReject(payload)}
	default:
		return Decision{commandFail, payload}
	}
}

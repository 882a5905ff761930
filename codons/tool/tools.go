package tool

import (
	"context"
	"fmt"
	"slices"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Tools is the set of an agent's tools. An agent that embeds *Tools is an [Agent] and a
// [delegation.Worker] whose tasks are calls of its tools. An agent that also has other tasks
// holds the set in a field and calls its methods. A set never changes, so several agents, and an
// agent after its restart, may share it.
type Tools struct {
	list   []*Tool
	byName map[string]*Tool // by the name that performatives.FoldCapability returns
}

// NewSet makes a set of tools. Two tools of one name are an error; names are compared after
// [performatives.FoldCapability].
func NewSet(tools ...*Tool) (*Tools, error) {
	t := &Tools{list: slices.Clone(tools), byName: make(map[string]*Tool, len(tools))}
	for _, tool := range tools {
		name := performatives.FoldCapability(tool.action.Name)
		if t.byName[name] != nil {
			return nil, fmt.Errorf("tool: two tools have the name %q", tool.action.Name)
		}
		t.byName[name] = tool
	}
	return t, nil
}

// ToolSet returns t, so that an agent that embeds t is an [Agent].
func (t *Tools) ToolSet() *Tools { return t }

// Actions returns the descriptions of the tools for discovery, with their schemas. The slice
// belongs to the caller.
func (t *Tools) Actions() []performatives.Action {
	actions := make([]performatives.Action, len(t.list))
	for i, tool := range t.list {
		actions[i] = tool.action
	}
	return actions
}

// Describe returns the capabilities of an agent that has these tools and no others.
func (t *Tools) Describe() performatives.Capabilities {
	return performatives.Capabilities{Actions: t.Actions()}
}

// Has reports whether the set has a tool of that name.
func (t *Tools) Has(name string) bool { return t.byName[performatives.FoldCapability(name)] != nil }

// name returns the name of a tool in its own letter case; empty for one that is not there.
func (t *Tools) name(of string) string {
	if tool := t.byName[performatives.FoldCapability(of)]; tool != nil {
		return tool.action.Name
	}
	return ""
}

// ConsiderTask accepts a task that is a call of one of the tools with arguments that fit. A task
// for another tool is rejected with [performatives.CodeIncapable]. Arguments that do not fit are
// not understood, and the text gives the place and the reason.
func (t *Tools) ConsiderTask(_ context.Context, task delegation.Task) delegation.Decision {
	if _, _, err := t.admit(task.Message, task.TaskRequest); err != nil {
		return decline(err)
	}
	return delegation.Accept()
}

// PerformTask runs the tool that ConsiderTask accepted.
func (t *Tools) PerformTask(ctx context.Context, task delegation.Task) (performatives.InformResult, error) {
	return t.call(ctx, Caller{task.Message, task.Agent}, task.TaskRequest)
}

// call checks a call and runs it.
func (t *Tools) call(ctx context.Context, call Caller, task performatives.TaskRequest) (performatives.InformResult, error) {
	tool, work, err := t.admit(call.Message, task)
	if err != nil {
		return performatives.InformResult{}, err
	}
	return tool.run(ctx, call, work)
}

// admit finds the tool of a call and checks the call. The error is a [*performatives.Refusal].
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

// decline returns [codons.TurnDown] as a worker's decision.
func decline(err error) delegation.Decision {
	d := codons.TurnDown(err)
	if d.Name == standard.CommandRefuse {
		refusal, _ := d.Data.(performatives.Refuse)
		return delegation.Decision{Name: standard.CommandReject, Data: performatives.TaskReject{ReasonCode: refusal.ReasonCode, ReasonText: refusal.ReasonText, RetryAfter: refusal.RetryAfter}}
	}
	return delegation.Decision(d)
}

// Agent is an agent with tools: the responder of the codon. An agent that embeds [*Tools] is an
// Agent, and a [delegation.Worker] as well: a TASK_REQUEST without a protocol, and a delegated
// task, call its tools too.
type Agent interface {
	actors.Agent
	// ToolSet returns the agent's tools. It is called once, on the agent's actor. The tools
	// run on goroutines of their calls.
	ToolSet() *Tools
}

// Service makes every [Agent] answer calls of its tools. A TASK_REQUEST that names no protocol is
// not one of them: it opens a delegation.
var Service = codons.NewService(Codon, codons.ServiceOptions{}, func(self actors.Self, agent Agent, t codons.Times) actors.Responder {
	tools := agent.ToolSet()
	return codons.AnswerWith(self, agent, Codon, t, func(ctx context.Context, h *codons.Handler) codons.Command {
		task, err := performatives.PayloadAs[performatives.TaskRequest](h.Message())
		if err != nil {
			return h.TurnDown(err)
		}
		h.Label(tools.name(task.TaskType))
		result, err := tools.call(ctx, Caller{h.Message(), self}, task)
		if err != nil {
			return h.TurnDown(err)
		}
		return h.Answer(standard.CommandAnswer, performatives.ActInformResult, result)
	})
})

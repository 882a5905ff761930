package codons

import (
	"context"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

var toolCall = ToolCallTable().MustCompile()

// CallTool has an agent run one of its tools and waits for the result. The agent is a
// [ToolAgent], or anyone outside who answers TASK_REQUEST. in is the arguments: a
// struct, a map, or [performatives.Raw]. An Out of json.RawMessage takes any result.
//
// ctx's deadline, or else [DefaultDeadline], is the call's ReplyBy, and its
// cancellation withdraws the call. The error is an [*EndError], in which errors.Is
// finds [performatives.CodeIncapable] where there is no such tool and
// [performatives.CodeInvalidPayload] where the arguments do not fit, and errors.As a
// [*ToolError] where the tool says no; or it says that the party cannot begin. It
// must not be called on an agent's own actor.
func CallTool[In, Out any](ctx context.Context, p Party, to performatives.AgentID, tool string, in In, opts ...Option) (Out, error) {
	return toolCallOf[Out](to, tool, in).ask(ctx, p, newOptions(opts))
}

// StartToolCall is [CallTool] without the wait.
func StartToolCall[In, Out any](ctx context.Context, p Party, to performatives.AgentID, tool string, in In, opts ...Option) (*Pending[Out], error) {
	return toolCallOf[Out](to, tool, in).start(ctx, p, newOptions(opts))
}

func toolCallOf[Out any](to performatives.AgentID, tool string, in any) question[Out] {
	return question[Out]{
		machine: toolCall, to: to, act: performatives.ActTaskRequest,
		payload: performatives.TaskRequest{TaskType: tool, Parameters: performatives.ContentOf(in)},
		read:    func(m *performatives.Message) (Out, error) { return toolResult[Out](tool, m) },
	}
}

// ToolError is a tool that ran, and whose answer is no: an INFORM_RESULT that is not
// a success (addenda §2).
type ToolError struct {
	Tool   string
	Result performatives.InformResult
}

// Error says which tool, and its summary.
func (e *ToolError) Error() string {
	return fmt.Sprintf("codons: tool %s: %s: %s", e.Tool, e.Result.Status, e.Result.Summary)
}

func toolResult[Out any](tool string, m *performatives.Message) (Out, error) {
	r, err := performatives.PayloadAs[performatives.InformResult](m)
	if err == nil && r.Status != performatives.StatusSuccess {
		err = &ToolError{Tool: tool, Result: r}
	}
	if err != nil {
		var none Out
		return none, err
	}
	return performatives.Decode[Out](r.Details)
}

// ToolAgent is an agent with tools: the answering side of [ToolCallTable]. One that
// embeds [*Tools] is one, and a [Worker] too, so that its tools can also be called by
// who names no protocol, and delegated.
type ToolAgent interface {
	actors.Agent
	// ToolSet returns the agent's tools. It is called once, on the agent's actor.
	// The tools themselves run on goroutines of their calls.
	ToolSet() *Tools
}

// ToolCalls is the protocol that makes every [ToolAgent] answer calls of its tools. A
// TASK_REQUEST that names no protocol belongs to [Delegation].
type ToolCalls Times

// Name returns "tool-call".
func (ToolCalls) Name() string { return toolCall.Name() }

// Opens reports whether m begins a tool call, or is the CANCEL of one that comes
// first.
func (ToolCalls) Opens(m *performatives.Message) bool { return opens(m, toolCall, false) }

// Bind returns the responder of a [ToolAgent].
func (t ToolCalls) Bind(self actors.Self, agent actors.Agent) actors.Responding {
	role, ok := agent.(ToolAgent)
	if !ok {
		return nil
	}
	tools := role.ToolSet()
	return newDesk(self, agent, toolCall, Times(t), func(ctx context.Context, c *conversation, _ *handler) (string, any) {
		task, err := performatives.PayloadAs[performatives.TaskRequest](c.request)
		if err != nil {
			return turndown(err)
		}
		result, err := tools.call(ctx, ToolCall{c.request, self}, task)
		if err != nil {
			return turndown(err)
		}
		return c.answerWith(commandAnswer, performatives.ActInformResult, result)
	})
}

package tool

import (
	"context"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

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

package request

import (
	"context"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Request asks an agent to do something and waits for the answer. in is the content: a struct, a
// map or [performatives.Raw]. The answer is read as an Out; performatives.Raw takes any answer
// of a peer outside of the process.
//
// The deadline of ctx is the ReplyBy of the request; without one it is [codons.DefaultDeadline]
// from now. The cancellation of ctx withdraws the request. The error is an [*codons.EndError],
// or one of those of [Start]. Request must not be called on an agent's own actor.
func Request[Out any](ctx context.Context, p codons.Party, to performatives.AgentID, in any, opts ...codons.Option) (Out, error) {
	return question[Out](to, in).Ask(ctx, p, opts...)
}

// Start sends a request as [Request] does, and returns without waiting for the answer. The error
// is a [*performatives.Refusal] that names the invalid field, [actors.ErrStopped] or
// [actors.ErrMailboxFull] when the party cannot begin a conversation, or an [*codons.EndError]
// when ctx has ended.
func Start[Out any](ctx context.Context, p codons.Party, to performatives.AgentID, in any, opts ...codons.Option) (*codons.Pending[Out], error) {
	return question[Out](to, in).Start(ctx, p, opts...)
}

func question[Out any](to performatives.AgentID, in any) codons.Question[Out] {
	return codons.Question[Out]{
		Opening: codons.Opening{Codon: Codon, To: to, Act: performatives.ActRequest, Payload: in}, Read: performatives.PayloadAs[Out],
	}
}

// Handler is an agent that does what other agents request: the responder of [Codon].
type Handler interface {
	actors.Agent
	// HandleRequest does the action and returns the content of the answer: a struct, a map,
	// performatives.Raw, or nil for none. It runs on a goroutine of its conversation, so it
	// reaches the agent's fields only through [actors.Self.Do]. It should return soon after the
	// end of ctx.
	//
	// A [*performatives.Refusal] is sent with its code and text, as REFUSE, NOT_UNDERSTOOD or
	// FAILURE according to the code. Any other error, and a panic, is a FAILURE without its text.
	HandleRequest(ctx context.Context, r Requested) (any, error)
}

// Requested is a request that a [Handler] is to answer.
type Requested struct {
	Message *performatives.Message // the REQUEST, with its sender, its content and its ReplyBy
	Agent   actors.Self            // the handle of the agent that handles the request
	agree   func() error
}

// Agree sends AGREE: the action will be done and takes a while. After it the conversation ends
// only with a result or a failure. Further calls do nothing. The error is the cause of the end of
// the handler's ctx.
func (r Requested) Agree() error { return r.agree() }

// Service makes every [Handler] answer REQUEST.
var Service = codons.NewService(Codon, codons.ServiceOptions{Usual: true}, func(self actors.Self, agent Handler, t codons.Times) actors.Responder {
	return codons.AnswerWith(self, agent, Codon, t, func(ctx context.Context, h *codons.Handler) codons.Command {
		answer, err := agent.HandleRequest(ctx, Requested{Message: h.Message(), Agent: self, agree: h.Agree})
		if err != nil {
			return h.TurnDown(err)
		}
		return h.Answer(standard.CommandAnswer, performatives.ActInform, answer)
	})
})

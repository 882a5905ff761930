package query

import (
	"context"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// If asks an agent whether a condition is true, and waits for the answer. The condition is in a
// form that the agent understands: a text, a struct, or JSON as a [performatives.Content].
//
// The deadline of ctx is the ReplyBy of the question; without one it is [codons.DefaultDeadline]
// from now. The cancellation of ctx withdraws the question. The error is an [*codons.EndError],
// with [performatives.CodeInvalidPayload] when the answer is about another condition, or one of
// those of [StartIf]. If must not be called on an agent's own actor.
func If(ctx context.Context, p codons.Party, to performatives.AgentID, condition any, opts ...codons.Option) (bool, error) {
	return ifQuestion(to, condition).Ask(ctx, p, opts...)
}

// StartIf sends a question as [If] does, and returns without waiting for the answer. The error is
// a [*performatives.Refusal] that names the invalid field, [actors.ErrStopped] or
// [actors.ErrMailboxFull] when the party cannot begin a conversation, or an [*codons.EndError]
// when ctx has ended.
func StartIf(ctx context.Context, p codons.Party, to performatives.AgentID, condition any, opts ...codons.Option) (*codons.Pending[bool], error) {
	return ifQuestion(to, condition).Start(ctx, p, opts...)
}

func ifQuestion(to performatives.AgentID, condition any) codons.Question[bool] {
	asked := performatives.ContentOf(condition)
	return codons.Question[bool]{
		Opening: codons.Opening{Codon: IfCodon, To: to, Act: performatives.ActQueryIf, Payload: performatives.QueryIf{Condition: asked}},
		Read: func(m *performatives.Message) (bool, error) {
			a, err := performatives.PayloadAs[performatives.InformIf](m)
			if err != nil {
				return false, err
			}
			if !repeats(a.Condition, asked) {
				return false, otherQuestion("condition")
			}
			return *a.Truth, nil
		},
	}
}

// repeats reports whether an answer is about the question: it repeats its content or leaves it
// out. A content that cannot be written as JSON cannot be compared. It has not left the process,
// so that the answer is accepted.
func repeats(got, asked performatives.Content) bool {
	if got.IsZero() || got.Equal(asked) {
		return true
	}
	_, err := asked.MarshalJSON()
	return err != nil
}

// otherQuestion returns the refusal of an answer whose field repeats another question.
func otherQuestion(field string) error {
	return &performatives.Refusal{
		Code: performatives.CodeInvalidPayload, Field: field, Text: field + ": the answer is about another " + field,
	}
}

// IfHandler is an agent that knows whether conditions are true: the responder of [IfCodon].
type IfHandler interface {
	actors.Agent
	// HandleQueryIf returns whether the condition is true. It runs on a goroutine of its
	// conversation, so it reaches the agent's fields only through [actors.Self.Do]. It should
	// return soon after the end of ctx.
	//
	// A [*performatives.Refusal] is sent with its code and text, as REFUSE, NOT_UNDERSTOOD or
	// FAILURE according to the code. Any other error, and a panic, is a FAILURE without its text.
	HandleQueryIf(ctx context.Context, q AskedIf) (bool, error)
}

// AskedIf is a question that an [IfHandler] is to answer.
type AskedIf struct {
	Condition performatives.Content  // performatives.Decode reads it
	Message   *performatives.Message // the QUERY_IF, with its sender and its ReplyBy
	Agent     actors.Self            // the handle of the agent that answers
	agree     func() error
}

// Agree sends AGREE: the answer will follow and takes a while. After it the conversation ends
// only with an answer or a failure. Further calls do nothing. The error is the cause of the end of
// the handler's ctx.
func (q AskedIf) Agree() error { return q.agree() }

// IfService makes every [IfHandler] answer QUERY_IF.
var IfService = codons.NewService(IfCodon, codons.ServiceOptions{Usual: true}, func(self actors.Self, agent IfHandler, t codons.Times) actors.Responder {
	return codons.AnswerWith(self, agent, IfCodon, t, func(ctx context.Context, h *codons.Handler) codons.Command {
		asked, err := performatives.PayloadAs[performatives.QueryIf](h.Message())
		if err != nil {
			return h.TurnDown(err)
		}
		truth, err := agent.HandleQueryIf(ctx, AskedIf{Condition: asked.Condition, Message: h.Message(), Agent: self, agree: h.Agree})
		if err != nil {
			return h.TurnDown(err)
		}
		return codons.Command{Name: standard.CommandAnswer, Data: performatives.InformIf{Condition: asked.Condition, Truth: &truth}}
	})
})

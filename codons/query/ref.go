package query

import (
	"context"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Ref asks an agent for the value of a reference, and waits for it. The value is read as a T:
// without a conversion when it is a T, otherwise through JSON.
//
// The deadline of ctx is the ReplyBy of the question; without one it is [codons.DefaultDeadline]
// from now. The cancellation of ctx withdraws the question. The error is an [*codons.EndError],
// with [performatives.CodeInvalidPayload] when the value is not a T or belongs to another
// reference, or one of those of [StartIf]. Ref must not be called on an agent's own actor.
func Ref[T any](ctx context.Context, p codons.Party, to performatives.AgentID, reference string, opts ...codons.Option) (T, error) {
	return refQuestion[T](to, reference).Ask(ctx, p, opts...)
}

// StartRef sends a question as [Ref] does, and returns without waiting for the answer. The error
// is one of those of [StartIf].
func StartRef[T any](ctx context.Context, p codons.Party, to performatives.AgentID, reference string, opts ...codons.Option) (*codons.Pending[T], error) {
	return refQuestion[T](to, reference).Start(ctx, p, opts...)
}

func refQuestion[T any](to performatives.AgentID, reference string) codons.Question[T] {
	return codons.Question[T]{
		Opening: codons.Opening{Codon: RefCodon, To: to, Act: performatives.ActQueryRef, Payload: performatives.QueryRef{Reference: reference}},
		Read: func(m *performatives.Message) (T, error) {
			a, err := performatives.PayloadAs[performatives.InformRef](m)
			if err == nil && a.Reference != "" && a.Reference != reference {
				err = otherQuestion("reference")
			}
			if err != nil {
				var none T
				return none, err
			}
			return performatives.Decode[T](a.Value)
		},
	}
}

// RefHandler is an agent that knows the values of references: the responder of [RefCodon].
type RefHandler interface {
	actors.Agent
	// HandleQueryRef returns the value of the reference: any value that can be written as JSON;
	// nil is JSON's null. It runs on a goroutine of its conversation, so it reaches the agent's
	// fields only through [actors.Self.Do]. It should return soon after the end of ctx. Its
	// errors are sent as those of [IfHandler] are.
	HandleQueryRef(ctx context.Context, q AskedRef) (any, error)
}

// AskedRef is a question that a [RefHandler] is to answer.
type AskedRef struct {
	Reference string
	Message   *performatives.Message // the QUERY_REF, with its sender and its ReplyBy
	Agent     actors.Self            // the handle of the agent that answers
	agree     func() error
}

// Agree sends AGREE, as [AskedIf.Agree] does.
func (q AskedRef) Agree() error { return q.agree() }

// RefService makes every [RefHandler] answer QUERY_REF.
var RefService = codons.NewService(RefCodon, codons.ServiceOptions{Usual: true}, func(self actors.Self, agent RefHandler, t codons.Times) actors.Responder {
	return codons.AnswerWith(self, agent, RefCodon, t, func(ctx context.Context, h *codons.Handler) codons.Command {
		asked, err := performatives.PayloadAs[performatives.QueryRef](h.Message())
		if err != nil {
			return h.TurnDown(err)
		}
		value, err := agent.HandleQueryRef(ctx, AskedRef{Reference: asked.Reference, Message: h.Message(), Agent: self, agree: h.Agree})
		if err != nil {
			return h.TurnDown(err)
		}
		return codons.Command{Name: standard.CommandAnswer, Data: performatives.InformRef{Reference: asked.Reference, Value: contentOrNull(value)}}
	})
})

// contentOrNull returns the Content of a value; nil becomes null, because an empty Content is no
// value.
func contentOrNull(value any) performatives.Content {
	if c := performatives.ContentOf(value); !c.IsZero() {
		return c
	}
	return performatives.RawContent([]byte("null"))
}

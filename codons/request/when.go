package request

import (
	"context"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// When is the content of REQUEST_WHEN: an action, and the condition that has to be true first.
// Both are in a form that the two agents have agreed on: a text, a struct, JSON. The responder
// decides whether the condition is true.
type When struct {
	Condition performatives.Content `json:"condition"` // required
	Action    performatives.Content `json:"action"`    // required
}

// Act returns [performatives.ActRequestWhen].
func (When) Act() performatives.Performative { return performatives.ActRequestWhen }

// Validate checks that both members are present. The error is a [*performatives.Refusal] that
// names the missing one.
func (w When) Validate() error {
	for _, part := range []struct {
		name    string
		content performatives.Content
	}{{"condition", w.Condition}, {"action", w.Action}} {
		if part.content.IsZero() {
			return &performatives.Refusal{
				Code: performatives.CodeInvalidPayload, Field: part.name, Text: part.name + ": want a value, got nothing",
			}
		}
	}
	return nil
}

// AskWhen asks an agent to do something as soon as a condition is true, and waits for the
// answer. The answer is read as an Out; performatives.Raw takes any answer of a peer outside of
// the process. [codons.WithAgreed] reports the agreement.
//
// The deadline of ctx bounds the wait for the condition and the action together: then the agent
// stops and fails. Without one it is [codons.DefaultDeadline] from now, which is short for most
// conditions. The cancellation of ctx withdraws the request. The error is an
// [*codons.EndError], or one of those of [Start]. AskWhen must not be called on an agent's
// own actor.
func AskWhen[Out any](ctx context.Context, p codons.Party, to performatives.AgentID, w When, opts ...codons.Option) (Out, error) {
	return questionWhen[Out](to, w).Ask(ctx, p, opts...)
}

// StartWhen sends a request as [AskWhen] does, and returns without waiting for the answer.
// The error is one of those of [Start].
func StartWhen[Out any](ctx context.Context, p codons.Party, to performatives.AgentID, w When, opts ...codons.Option) (*codons.Pending[Out], error) {
	return questionWhen[Out](to, w).Start(ctx, p, opts...)
}

func questionWhen[Out any](to performatives.AgentID, w When) codons.Question[Out] {
	return codons.Question[Out]{
		Opening: codons.Opening{Codon: WhenCodon, To: to, Act: performatives.ActRequestWhen, Payload: w}, Read: performatives.PayloadAs[Out],
	}
}

// WhenHandler is an agent that does actions once conditions are true: the responder of
// [WhenCodon]. Its methods run one after the other on goroutines of the conversation, so they
// reach the agent's fields only through [actors.Self.Do].
//
// They should return soon after the end of ctx: on CANCEL, when the agent stops, and at the
// deadline. The deadline is the ReplyBy of the request, or [codons.Times.Deadline] after the
// request arrived, and is the same for all three methods. The errors are sent as those of
// [Handler] are; after the agreement, each of them as FAILURE.
type WhenHandler interface {
	actors.Agent
	// ConsiderWhen decides whether the agent will do the action once the condition is true. The
	// condition need not be true yet. Without an error the agent agrees, and AGREE is sent. It
	// should not take long.
	ConsiderWhen(ctx context.Context, r RequestedWhen) error
	// AwaitCondition returns nil as soon as the condition is true, at once when it is true
	// already. After an error the action is not done.
	AwaitCondition(ctx context.Context, r RequestedWhen) error
	// PerformWhen does the action and returns the content of the answer: a struct, a map,
	// performatives.Raw, or nil for none.
	PerformWhen(ctx context.Context, r RequestedWhen) (any, error)
}

// RequestedWhen is a request that a [WhenHandler] is to answer.
type RequestedWhen struct {
	When
	Message *performatives.Message // the REQUEST_WHEN, with its sender and its ReplyBy
	Agent   actors.Self            // the handle of the agent that handles the request
}

// WhenService makes every [WhenHandler] answer REQUEST_WHEN.
var WhenService = codons.NewService(WhenCodon, codons.ServiceOptions{Usual: true}, func(self actors.Self, agent WhenHandler, t codons.Times) actors.Responder {
	return codons.NewResponder(self, agent, codons.ResponderOptions{Codon: WhenCodon, Times: t, Works: whenJobs(agent)})
})

// whenJobs returns the two jobs of the responder. The second one keeps the slot of the first.
func whenJobs(agent WhenHandler) []codons.Work {
	return []codons.Work{
		{Job: standard.JobConsider, Considers: true, Holds: []string{standard.CommandAgree}, Do: func(codons.Side) func(context.Context, *codons.Handler) codons.Command {
			return func(ctx context.Context, h *codons.Handler) codons.Command { return considerWhen(ctx, h, agent) }
		}},
		{Job: standard.JobAnswer, Do: func(codons.Side) func(context.Context, *codons.Handler) codons.Command {
			return func(ctx context.Context, h *codons.Handler) codons.Command { return performWhen(ctx, h, agent) }
		}},
	}
}

// requestedWhen reads the request of a handler.
func requestedWhen(h *codons.Handler) (RequestedWhen, error) {
	w, err := performatives.PayloadAs[When](h.Message())
	return RequestedWhen{When: w, Message: h.Message(), Agent: h.Agent()}, err
}

// considerWhen is the first job: the decision.
func considerWhen(ctx context.Context, h *codons.Handler, agent WhenHandler) codons.Command {
	r, err := requestedWhen(h)
	if err == nil {
		err = agent.ConsiderWhen(ctx, r)
	}
	if err != nil {
		return h.TurnDown(err)
	}
	return codons.Command{Name: standard.CommandAgree}
}

// performWhen is the second job: the wait for the condition, and the action.
func performWhen(ctx context.Context, h *codons.Handler, agent WhenHandler) codons.Command {
	r, err := requestedWhen(h)
	if err == nil {
		err = agent.AwaitCondition(ctx, r)
	}
	if err == nil && ctx.Err() != nil { // the request has ended, so the action must not begin
		err = context.Cause(ctx)
	}
	if err != nil {
		return h.TurnDown(err)
	}
	answer, err := agent.PerformWhen(ctx, r)
	if err != nil {
		return h.TurnDown(err)
	}
	return h.Answer(standard.CommandAnswer, performatives.ActInform, answer)
}

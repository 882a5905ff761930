package subscribe

import (
	"context"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
)

// RequestWhenever asks an agent to do something each time a condition becomes true, and to
// report it. sub.Topic names the action; sub.Parameters may hold the condition, in a form that
// the agent defines. RequestWhenever returns when the agent has agreed. Everything else is as
// for [Subscribe].
func RequestWhenever[T any](ctx context.Context, p codons.Party, to performatives.AgentID, sub Subscription, opts ...codons.Option) (*Stream[T], error) {
	s, err := StartRequestWhenever[T](ctx, p, to, sub, opts...)
	if err != nil {
		return nil, err
	}
	return s.awaited()
}

// StartRequestWhenever begins a [RequestWhenever] and returns at once.
func StartRequestWhenever[T any](ctx context.Context, p codons.Party, to performatives.AgentID, sub Subscription, opts ...codons.Option) (*Stream[T], error) {
	return newStream[T](ctx, p, WheneverCodon, performatives.ActRequestWhenever, to, sub, opts)
}

// WheneverHandler is an agent that accepts REQUEST_WHENEVER: the responder of [WheneverCodon].
type WheneverHandler interface {
	actors.Agent
	// ConsiderWhenever returns the feed for the initiator, usually made by
	// [Topic.Whenever]: the agent publishes its observations or actions, and the feed has
	// the condition. Everything else is as for [Publisher].ConsiderSubscription.
	ConsiderWhenever(ctx context.Context, s Subscribing) (Feed, error)
}

// WheneverService makes every [WheneverHandler] answer REQUEST_WHENEVER. No time limit of the role
// applies to such a request, because its conversation is long-lived.
var WheneverService = codons.NewService(WheneverCodon, codons.ServiceOptions{Usual: true}, func(self actors.Self, role WheneverHandler, t codons.Times) actors.Responder {
	return newPublisher(self, role, WheneverCodon, t, role.ConsiderWhenever)
})

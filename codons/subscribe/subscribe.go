package subscribe

import (
	"context"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Subscribe subscribes the party to a topic of an agent, and returns when the agent has agreed
// or has sent an event. Events are decoded as T, also those of the same process.
//
// The end of ctx unsubscribes; [Stream.Done] is closed after the publisher's receipt. The
// deadline of ctx is the lease: both sides end the stream then. Without one the stream is
// long-lived. A restart of the party's agent ends its streams.
//
// The error is an [*codons.EndError] when the publisher refuses or does not answer, or says why
// sub is not valid or the party cannot begin. A first attempt is repeated only as
// [codons.WithRetry] says; a break after the AGREE is repaired as [WithResume] says.
// Subscribe must not be called on an agent's own actor.
func Subscribe[T any](ctx context.Context, p codons.Party, to performatives.AgentID, sub Subscription, opts ...codons.Option) (*Stream[T], error) {
	s, err := Start[T](ctx, p, to, sub, opts...)
	if err != nil {
		return nil, err
	}
	return s.awaited()
}

// Start begins a [Subscribe] and returns at once. If the publisher refuses, the stream ends, and
// [Stream.Err] is the error.
func Start[T any](ctx context.Context, p codons.Party, to performatives.AgentID, sub Subscription, opts ...codons.Option) (*Stream[T], error) {
	return newStream[T](ctx, p, Codon, performatives.ActSubscribe, to, sub, opts)
}

// Publisher is an agent that informs its subscribers: the responder of [Codon].
type Publisher interface {
	actors.Agent
	// ConsiderSubscription returns the feed for a subscriber: a [Topic], to which the agent
	// may publish from any goroutine, or a part of it. It runs on the agent's own actor, must
	// not block, and may read and change the agent's fields. A [*performatives.Refusal]
	// is sent with its code and text, as REFUSE, NOT_UNDERSTOOD or FAILURE according to
	// the code; any other error as FAILURE without its text. The zero Feed refuses as
	// incapable.
	//
	// When the agent stops or restarts, its subscriptions end with FAILURE. Subscriptions
	// count against the agent's limit, see [codons.TaskLimiter].
	//
	// The decision keeps the agent's actor busy, so a subscriber gets no sign of life during it.
	// One of an agent that is busy for three heartbeats takes it for lost.
	ConsiderSubscription(ctx context.Context, s Subscribing) (Feed, error)
}

// Service makes every [Publisher] answer SUBSCRIBE. No time limit of the role applies to a
// subscription.
var Service = codons.NewService(Codon, codons.ServiceOptions{Usual: true}, func(self actors.Self, role Publisher, t codons.Times) actors.Responder {
	return newPublisher(self, role, Codon, t, role.ConsiderSubscription)
})

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

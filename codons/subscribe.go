package codons

import (
	"context"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

var subscribe = SubscribeTable().MustCompile()

// Subscribe has an agent inform the party of what happens, and returns once it has
// agreed, or informed. Events are read as T, whether they came from within the process
// or not.
//
// The end of ctx unsubscribes; wait for [Stream.Done] to know that the publisher has
// said so. ctx's deadline is the lease: both sides end the stream then. Without one it
// has no end but those of [Stream].
//
// The error is an [*EndError] when the publisher turned the subscription down or was
// not heard of, or says what is wrong with sub, or that the party cannot begin. A
// first attempt is not repeated beyond [WithRetry]; what was agreed to and breaks is.
//
// It must not be called on an agent's own actor. A restart of the party's agent ends
// its streams, as it ends all that it has begun.
func Subscribe[T any](ctx context.Context, p Party, to performatives.AgentID, sub Subscription, opts ...StreamOption) (*Stream[T], error) {
	s, err := StartSubscription[T](ctx, p, to, sub, opts...)
	if err != nil {
		return nil, err
	}
	return s.awaited()
}

// StartSubscription is [Subscribe] without the wait. When the publisher turns it down,
// the stream ends; [Stream.Err] says why.
func StartSubscription[T any](ctx context.Context, p Party, to performatives.AgentID, sub Subscription, opts ...StreamOption) (*Stream[T], error) {
	return follow[T](ctx, p, subscribe, performatives.ActSubscribe, to, sub, opts)
}

// Publisher is an agent that informs its subscribers: the answering side of
// [SubscribeTable].
type Publisher interface {
	actors.Agent
	// ConsiderSubscription says what a subscriber is informed of: a feed of a [Topic],
	// which the agent publishes to from wherever it likes. It runs on the agent's own
	// actor, must not block, and may read and change the agent's fields. A
	// [*performatives.Refusal] turns the subscriber down with its code and text, as
	// REFUSE, NOT_UNDERSTOOD or FAILURE, whichever the code calls for; any other error
	// as FAILURE without its text; the zero Feed as incapable.
	//
	// When the agent stops or restarts, its subscriptions end with FAILURE. An agent
	// has at most so many at a time, see [Limited].
	ConsiderSubscription(ctx context.Context, s Subscribing) (Feed, error)
}

// Subscriptions is the protocol that makes every [Publisher] answer SUBSCRIBE. Of its
// times none limits a subscription.
type Subscriptions Times

// Name returns "subscribe".
func (Subscriptions) Name() string { return subscribe.Name() }

// Opens reports whether m begins a subscription, or is the CANCEL of one that comes
// first.
func (Subscriptions) Opens(m *performatives.Message) bool { return opens(m, subscribe, true) }

// Bind returns the responder of a [Publisher].
func (s Subscriptions) Bind(self actors.Self, agent actors.Agent) actors.Responding {
	role, ok := agent.(Publisher)
	if !ok {
		return nil
	}
	return newNewsroom(self, agent, subscribe, Times(s), role.ConsiderSubscription)
}

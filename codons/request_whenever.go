package codons

import (
	"context"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

var requestWhenever = RequestWheneverTable().MustCompile()

// RequestWhenever asks an agent to do something each time a condition becomes true,
// and to say so. sub.Topic names that, sub.Parameters may hold the condition, in
// words that the agent knows. It returns once the agent has agreed. Everything else
// is as for [Subscribe].
func RequestWhenever[T any](ctx context.Context, p Party, to performatives.AgentID, sub Subscription, opts ...StreamOption) (*Stream[T], error) {
	s, err := StartRequestWhenever[T](ctx, p, to, sub, opts...)
	if err != nil {
		return nil, err
	}
	return s.awaited()
}

// StartRequestWhenever is [RequestWhenever] without the wait.
func StartRequestWhenever[T any](ctx context.Context, p Party, to performatives.AgentID, sub Subscription, opts ...StreamOption) (*Stream[T], error) {
	return follow[T](ctx, p, requestWhenever, performatives.ActRequestWhenever, to, sub, opts)
}

// WheneverHandler is an agent that takes on standing requests: the answering side of
// [RequestWheneverTable].
type WheneverHandler interface {
	actors.Agent
	// ConsiderWhenever says what the asker is told, mostly by [Topic.Whenever]: the
	// agent publishes what it sees, or what it did about it, and the feed has the
	// condition. Everything else is as for [Publisher].ConsiderSubscription.
	ConsiderWhenever(ctx context.Context, s Subscribing) (Feed, error)
}

// StandingRequests is the protocol that makes every [WheneverHandler] answer
// REQUEST_WHENEVER. Of its times none limits a request.
type StandingRequests Times

// Name returns "request-whenever".
func (StandingRequests) Name() string { return requestWhenever.Name() }

// Opens reports whether m begins a standing request, or is the CANCEL of one that
// comes first.
func (StandingRequests) Opens(m *performatives.Message) bool { return opens(m, requestWhenever, true) }

// Bind returns the responder of a [WheneverHandler].
func (s StandingRequests) Bind(self actors.Self, agent actors.Agent) actors.Responding {
	role, ok := agent.(WheneverHandler)
	if !ok {
		return nil
	}
	return newNewsroom(self, agent, requestWhenever, Times(s), role.ConsiderWhenever)
}

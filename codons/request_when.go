package codons

import (
	"context"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

var requestWhen = RequestWhenTable().MustCompile()

// When is the content of REQUEST_WHEN: what is to be done, and what has to be true
// before. Both are whatever the two agents understand: a text, a struct, JSON. The
// agent that is asked judges whether the condition is true.
type When struct {
	Condition performatives.Content `json:"condition"` // required
	Action    performatives.Content `json:"action"`    // required
}

// Act returns [performatives.ActRequestWhen].
func (When) Act() performatives.Performative { return performatives.ActRequestWhen }

// Validate checks that both are there.
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

// RequestWhen asks an agent to do something as soon as a condition is true, and
// waits until it is done. The answer is read as an Out; performatives.Raw takes any
// that came from outside. [WithAgreed] tells when the agent has agreed.
//
// ctx's deadline is how long the agent waits for the condition and works: at that
// moment it stops, and says that it failed. Without one, it is [DefaultDeadline],
// which few conditions come true in. The end of ctx withdraws the request. The error
// is an [*EndError], or says what is wrong with the content, or that the party cannot
// begin. It must not be called on an agent's own actor.
func RequestWhen[Out any](ctx context.Context, p Party, to performatives.AgentID, w When, opts ...Option) (Out, error) {
	return requestOfWhen[Out](to, w).ask(ctx, p, newOptions(opts))
}

// StartRequestWhen is [RequestWhen] without the wait.
func StartRequestWhen[Out any](ctx context.Context, p Party, to performatives.AgentID, w When, opts ...Option) (*Pending[Out], error) {
	return requestOfWhen[Out](to, w).start(ctx, p, newOptions(opts))
}

func requestOfWhen[Out any](to performatives.AgentID, w When) question[Out] {
	return question[Out]{
		machine: requestWhen, to: to, act: performatives.ActRequestWhen, payload: w, read: performatives.PayloadAs[Out],
	}
}

// RequestWhenHandler is an agent that does things once conditions are true: the
// answering side of [RequestWhenTable]. Its methods run one after the other on a
// goroutine of the conversation, so they must not touch the agent's fields but by
// [actors.Self.Do], and should return soon once ctx ends: on CANCEL, when the agent
// stops, and at the deadline, which is the request's ReplyBy, or [Times.Deadline]
// after it came where it names none. A [*performatives.Refusal] is told with its code
// and text, any other error, or a panic, without its text.
type RequestWhenHandler interface {
	actors.Agent
	// ConsiderWhen decides whether the agent will do it once the condition is true,
	// which it need not be yet. Without an error it agrees, and the asker is told. It
	// should not take long.
	ConsiderWhen(ctx context.Context, r RequestedWhen) error
	// AwaitCondition returns nil as soon as the condition is true, at once when it is
	// true already. With an error, the action fails undone.
	AwaitCondition(ctx context.Context, r RequestedWhen) error
	// PerformWhen does it, and returns the content of the answer: a struct, a map,
	// performatives.Raw, or nil for none.
	PerformWhen(ctx context.Context, r RequestedWhen) (any, error)
}

// RequestedWhen is what an agent was asked to do, and when.
type RequestedWhen struct {
	When
	Message *performatives.Message // who asks, until when
	Agent   actors.Self            // the handle of the agent that was asked
}

// RequestsWhen is the protocol that makes every [RequestWhenHandler] answer
// REQUEST_WHEN.
type RequestsWhen Times

// Name returns "request-when".
func (RequestsWhen) Name() string { return requestWhen.Name() }

// Opens reports whether m begins such a request, or is the CANCEL of one that comes
// first.
func (RequestsWhen) Opens(m *performatives.Message) bool { return opens(m, requestWhen, true) }

// Bind returns the responder of a [RequestWhenHandler].
func (r RequestsWhen) Bind(self actors.Self, agent actors.Agent) actors.Responding {
	role, ok := agent.(RequestWhenHandler)
	if !ok {
		return nil
	}
	return whenDesk{newDesk(self, agent, requestWhen, Times(r), nil), role}
}

package codons

import (
	"context"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

var request = RequestTable().MustCompile()

// Request asks an agent to do something and waits until it is done. in is the
// content: a struct, a map or [performatives.Raw]. The answer is read as an Out;
// performatives.Raw takes any that came from outside.
//
// ctx's deadline, or else [DefaultDeadline], is the request's ReplyBy, and its
// cancellation withdraws the request. The error is an [*EndError], or says what is
// wrong with the content, or that the party cannot begin. It must not be called on
// an agent's own actor.
func Request[Out any](ctx context.Context, p Party, to performatives.AgentID, in any, opts ...Option) (Out, error) {
	return requestOf[Out](to, in).ask(ctx, p, newOptions(opts))
}

// StartRequest is [Request] without the wait.
func StartRequest[Out any](ctx context.Context, p Party, to performatives.AgentID, in any, opts ...Option) (*Pending[Out], error) {
	return requestOf[Out](to, in).start(ctx, p, newOptions(opts))
}

func requestOf[Out any](to performatives.AgentID, in any) question[Out] {
	return question[Out]{
		machine: request, to: to, act: performatives.ActRequest, payload: in, read: performatives.PayloadAs[Out],
	}
}

// RequestHandler is an agent that does what others request: the answering side of
// [RequestTable].
type RequestHandler interface {
	actors.Agent
	// HandleRequest does it, and returns the content of the answer: a struct, a map,
	// performatives.Raw, or nil for none. It runs on a goroutine of its conversation,
	// so it must not touch the agent's fields but by [actors.Self.Do], and should
	// return soon once ctx ends. A [*performatives.Refusal] is told with its code and
	// text, as REFUSE, NOT_UNDERSTOOD or FAILURE, whichever the code calls for; any
	// other error, or a panic, as FAILURE without its text.
	HandleRequest(ctx context.Context, r Requested) (any, error)
}

// Requested is what an agent was asked to do.
type Requested struct {
	Message *performatives.Message // who asks, what, until when
	Agent   actors.Self            // the handle of the agent that was asked
	agree   func() error
}

// Agree tells the asker that it will be done, and takes a while. After it, the
// answer can only be a result or a failure. The error says that nobody waits any
// more.
func (r Requested) Agree() error { return r.agree() }

// Requests is the protocol that makes every [RequestHandler] answer REQUEST.
type Requests Times

// Name returns "request".
func (Requests) Name() string { return request.Name() }

// Opens reports whether m begins a request, or is the CANCEL of one that comes
// first.
func (Requests) Opens(m *performatives.Message) bool { return opens(m, request, true) }

// Bind returns the responder of a [RequestHandler].
func (r Requests) Bind(self actors.Self, agent actors.Agent) actors.Responding {
	role, ok := agent.(RequestHandler)
	if !ok {
		return nil
	}
	return newDesk(self, agent, request, Times(r), func(ctx context.Context, c *conversation, h *handler) (string, any) {
		answer, err := role.HandleRequest(ctx, Requested{
			Message: c.request, Agent: self, agree: func() error { return h.say(commandAgree, nil) },
		})
		if err != nil {
			return turndown(err)
		}
		return c.answerWith(commandAnswer, performatives.ActInform, answer)
	})
}

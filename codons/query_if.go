package codons

import (
	"context"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

var queryIf = QueryIfTable().MustCompile()

// QueryIf asks an agent whether a condition is true, and waits for the answer. The
// condition is anything that the agent understands: a text, a struct, JSON as a
// [performatives.Content].
//
// ctx's deadline, or else [DefaultDeadline], is the question's ReplyBy, and its
// cancellation withdraws the question. The error is an [*EndError], also when the
// answer is about another condition, or says what is wrong with the question, or
// that the party cannot begin. It must not be called on an agent's own actor.
func QueryIf(ctx context.Context, p Party, to performatives.AgentID, condition any, opts ...Option) (bool, error) {
	return questionIf(to, condition).ask(ctx, p, newOptions(opts))
}

// StartQueryIf is [QueryIf] without the wait.
func StartQueryIf(ctx context.Context, p Party, to performatives.AgentID, condition any, opts ...Option) (*Pending[bool], error) {
	return questionIf(to, condition).start(ctx, p, newOptions(opts))
}

func questionIf(to performatives.AgentID, condition any) question[bool] {
	asked := performatives.ContentOf(condition)
	return question[bool]{
		machine: queryIf, to: to, act: performatives.ActQueryIf,
		payload: performatives.QueryIf{Condition: asked},
		read: func(m *performatives.Message) (bool, error) {
			a, err := performatives.PayloadAs[performatives.InformIf](m)
			if err != nil {
				return false, err
			}
			if !echoes(a.Condition, asked) {
				return false, elsewhere("condition", "the answer is about another condition than the one asked about")
			}
			return *a.Truth, nil
		},
	}
}

// echoes reports whether an answer repeats what was asked. One that leaves it out is
// about what it answers; what cannot be written as JSON cannot be compared, and has
// not left the process.
func echoes(got, asked performatives.Content) bool {
	if got.IsZero() || got.Equal(asked) {
		return true
	}
	_, err := asked.MarshalJSON()
	return err != nil
}

// elsewhere is the refusal of an answer to another question.
func elsewhere(field, text string) error {
	return &performatives.Refusal{Code: performatives.CodeInvalidPayload, Field: field, Text: text}
}

// QueryIfHandler is an agent that knows what is true: the answering side of
// [QueryIfTable].
type QueryIfHandler interface {
	actors.Agent
	// HandleQueryIf returns whether the condition is true. It runs on a goroutine of
	// its conversation, so it must not touch the agent's fields but by
	// [actors.Self.Do], and should return soon once ctx ends. A
	// [*performatives.Refusal] is told with its code and text, as REFUSE,
	// NOT_UNDERSTOOD or FAILURE, whichever the code calls for; any other error, or a
	// panic, as FAILURE without its text.
	HandleQueryIf(ctx context.Context, q AskedIf) (bool, error)
}

// AskedIf is a question whether something is true.
type AskedIf struct {
	Condition performatives.Content  // read it with performatives.Decode
	Message   *performatives.Message // who asks, until when
	Agent     actors.Self            // the handle of the agent that was asked
	agree     func() error
}

// Agree tells the asker that it will be found out, and takes a while. After it,
// the question can only be answered or fail. The error says that nobody waits any
// more.
func (q AskedIf) Agree() error { return q.agree() }

// QueriesIf is the protocol that makes every [QueryIfHandler] answer QUERY_IF.
type QueriesIf Times

// Name returns "query-if".
func (QueriesIf) Name() string { return queryIf.Name() }

// Opens reports whether m asks whether something is true, or is the CANCEL of such
// a question that comes first.
func (QueriesIf) Opens(m *performatives.Message) bool { return opens(m, queryIf, true) }

// Bind returns the responder of a [QueryIfHandler].
func (q QueriesIf) Bind(self actors.Self, agent actors.Agent) actors.Responding {
	role, ok := agent.(QueryIfHandler)
	if !ok {
		return nil
	}
	return newDesk(self, agent, queryIf, Times(q), func(ctx context.Context, c *conversation, h *handler) (string, any) {
		asked, err := performatives.PayloadAs[performatives.QueryIf](c.request)
		if err != nil {
			return turndown(err)
		}
		truth, err := role.HandleQueryIf(ctx, AskedIf{
			Condition: asked.Condition, Message: c.request, Agent: self,
			agree: func() error { return h.say(commandAgree, nil) },
		})
		if err != nil {
			return turndown(err)
		}
		return commandAnswer, performatives.InformIf{Condition: asked.Condition, Truth: &truth}
	})
}

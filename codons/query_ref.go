package codons

import (
	"context"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

var queryRef = QueryRefTable().MustCompile()

// QueryRef asks an agent what a reference stands for, and waits for the value, which
// is read as a T: as it is when it is one, else through JSON.
//
// ctx's deadline, or else [DefaultDeadline], is the question's ReplyBy, and its
// cancellation withdraws the question. The error is an [*EndError], also when the
// value is no T or is that of another reference, or says what is wrong with the
// question, or that the party cannot begin. It must not be called on an agent's own
// actor.
func QueryRef[T any](ctx context.Context, p Party, to performatives.AgentID, reference string, opts ...Option) (T, error) {
	return questionRef[T](to, reference).ask(ctx, p, newOptions(opts))
}

// StartQueryRef is [QueryRef] without the wait.
func StartQueryRef[T any](ctx context.Context, p Party, to performatives.AgentID, reference string, opts ...Option) (*Pending[T], error) {
	return questionRef[T](to, reference).start(ctx, p, newOptions(opts))
}

func questionRef[T any](to performatives.AgentID, reference string) question[T] {
	return question[T]{
		machine: queryRef, to: to, act: performatives.ActQueryRef,
		payload: performatives.QueryRef{Reference: reference},
		read: func(m *performatives.Message) (T, error) {
			a, err := performatives.PayloadAs[performatives.InformRef](m)
			if err == nil && a.Reference != "" && a.Reference != reference {
				err = elsewhere("reference", "the answer is about another reference than the one asked about")
			}
			if err != nil {
				var none T
				return none, err
			}
			return performatives.Decode[T](a.Value)
		},
	}
}

// QueryRefHandler is an agent that knows what references stand for: the answering
// side of [QueryRefTable].
type QueryRefHandler interface {
	actors.Agent
	// HandleQueryRef returns the value of the reference: anything that can be written
	// as JSON; nil is JSON's null. It runs on a goroutine of its conversation, so it
	// must not touch the agent's fields but by [actors.Self.Do], and should return
	// soon once ctx ends. A [*performatives.Refusal] is told with its code and text,
	// as REFUSE, NOT_UNDERSTOOD or FAILURE, whichever the code calls for; any other
	// error, or a panic, as FAILURE without its text.
	HandleQueryRef(ctx context.Context, q AskedRef) (any, error)
}

// AskedRef is a question for a value.
type AskedRef struct {
	Reference string
	Message   *performatives.Message // who asks, until when
	Agent     actors.Self            // the handle of the agent that was asked
	agree     func() error
}

// Agree tells the asker that it will be found out, and takes a while. After it,
// the question can only be answered or fail. The error says that nobody waits any
// more.
func (q AskedRef) Agree() error { return q.agree() }

// QueriesRef is the protocol that makes every [QueryRefHandler] answer QUERY_REF.
type QueriesRef Times

// Name returns "query-ref".
func (QueriesRef) Name() string { return queryRef.Name() }

// Opens reports whether m asks for a value, or is the CANCEL of such a question
// that comes first.
func (QueriesRef) Opens(m *performatives.Message) bool { return opens(m, queryRef, true) }

// Bind returns the responder of a [QueryRefHandler].
func (q QueriesRef) Bind(self actors.Self, agent actors.Agent) actors.Responding {
	role, ok := agent.(QueryRefHandler)
	if !ok {
		return nil
	}
	return newDesk(self, agent, queryRef, Times(q), func(ctx context.Context, c *conversation, h *handler) (string, any) {
		asked, err := performatives.PayloadAs[performatives.QueryRef](c.request)
		if err != nil {
			return turndown(err)
		}
		value, err := role.HandleQueryRef(ctx, AskedRef{
			Reference: asked.Reference, Message: c.request, Agent: self,
			agree: func() error { return h.say(commandAgree, nil) },
		})
		if err != nil {
			return turndown(err)
		}
		return commandAnswer, performatives.InformRef{Reference: asked.Reference, Value: contentOrNull(value)}
	})
}

// contentOrNull is the Content of a value of which nil is one.
func contentOrNull(value any) performatives.Content {
	if c := performatives.ContentOf(value); !c.IsZero() {
		return c
	}
	return performatives.RawContent([]byte("null"))
}

package codons

import (
	"context"
	"errors"

	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Pending is the caller's handle of a conversation that ends with one answer of type T. Its
// methods are safe for concurrent use.
type Pending[T any] struct {
	Handle
	side *asking[T]
}

// Wait blocks until the conversation has ended. It returns the answer, or an [*EndError]. It
// must not be called on an agent's own actor.
func (p *Pending[T]) Wait() (T, error) {
	p.side.Await()
	return p.side.answer, p.side.err
}

var errUnread = errors.New("codons: the code that reads the answer panicked")

// Question describes a conversation that ends with one answer of type T.
type Question[T any] struct {
	Opening
	// Read returns the answer of a message. It is called at most once, on the conversation's
	// actor, and must not block. Its error becomes the [*EndError] of the conversation. Read
	// is required.
	Read func(*performatives.Message) (T, error)
	// Denial makes the message that refuses the opening act, as [Side] describes it. Nil
	// where the opening act expects a reply.
	Denial func(m *performatives.Message, s performatives.Stamp, r *performatives.Refusal) *performatives.Message
}

// Start begins the conversation and does not wait for its end. The conversation is withdrawn when
// ctx is cancelled. The error is that of [InitiatorSide.Start]: the conversation never ran.
func (q Question[T]) Start(ctx context.Context, p Party, opts ...Option) (*Pending[T], error) {
	return q.StartWith(ctx, p, NewOptions(opts...))
}

// StartWith is Start with options that are already applied.
func (q Question[T]) StartWith(ctx context.Context, p Party, o Options) (*Pending[T], error) {
	self, err := SelfOf(p)
	if err != nil {
		return nil, err
	}
	s := &asking[T]{read: q.Read, denial: q.Denial}
	q.Options = o
	if err := s.Start(ctx, self, q.Opening, s); err != nil {
		return nil, err
	}
	s.pending = Pending[T]{s.Handle(), s}
	return &s.pending, nil
}

// Ask begins the conversation and blocks until its end. The error is that of Start or of
// [Pending.Wait]. It must not be called on an agent's own actor.
func (q Question[T]) Ask(ctx context.Context, p Party, opts ...Option) (T, error) {
	return q.AskWith(ctx, p, NewOptions(opts...))
}

// AskWith is Ask with options that are already applied.
func (q Question[T]) AskWith(ctx context.Context, p Party, o Options) (T, error) {
	return AgainIfBusy(ctx, p, &o, func(ctx context.Context) (T, error) {
		pending, err := q.StartWith(ctx, p, o)
		if err != nil {
			var none T
			return none, err
		}
		return pending.Wait()
	})
}

// asking is the initiator's side of a [Pending].
type asking[T any] struct {
	InitiatorSide
	read    func(*performatives.Message) (T, error)
	denial  func(*performatives.Message, performatives.Stamp, *performatives.Refusal) *performatives.Message
	answer  T
	pending Pending[T]
}

// Report calls the function of [WithAgreed].
func (a *asking[T]) Report(_ *Conversation, what string, _ *performatives.Message) {
	if what == standard.ReportAgreed {
		a.options.Agreed()
	}
}

// Denial calls that of the [Question].
func (a *asking[T]) Denial(m *performatives.Message, s performatives.Stamp, r *performatives.Refusal) *performatives.Message {
	if a.denial == nil {
		return nil
	}
	return a.denial(m, s, r)
}

// Ended reads the answer.
func (a *asking[T]) Ended(c *Conversation, last *performatives.Message) {
	var err error
	returned := false
	defer func() { // also when Read panics
		if !returned {
			err = c.Unreadable(errUnread)
		}
		a.Close(err)
	}()
	a.answer, err = a.end(c, last)
	returned = true
}

func (a *asking[T]) end(c *Conversation, last *performatives.Message) (answer T, err error) {
	if last == nil || turnsDown(last) || c.at.State == standard.StateCancelled {
		return answer, c.EndError(last)
	}
	if answer, err = a.read(last); err != nil {
		var none T
		return none, c.Unreadable(err)
	}
	return answer, nil
}

// turnsDown reports whether m turns the request down. REJECT_PROPOSAL does not: it is an answer.
func turnsDown(m *performatives.Message) bool {
	return m.Performative() != performatives.ActRejectProposal && m.AsRefusal() != nil
}

package codons

import (
	"context"
	"errors"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Pending is the asking side of a conversation that ends with one answer, a T.
// All its methods may be called from any goroutine.
type Pending[T any] struct {
	asker
	read   func(*performatives.Message) (T, error)
	answer T
}

// Wait returns the answer, or an [*EndError] that says why there is none.
func (p *Pending[T]) Wait() (T, error) {
	p.await()
	return p.answer, p.err
}

var errUnread = errors.New("codons: the type of the answer panicked as it was read")

// question is how a conversation of the exchange family is begun.
type question[T any] struct {
	machine *machine.Machine
	to      performatives.AgentID
	act     performatives.Performative
	payload any
	read    func(*performatives.Message) (T, error) // the answer that a message gives
}

// start begins the conversation.
func (q question[T]) start(ctx context.Context, party Party, o options) (*Pending[T], error) {
	p := &Pending[T]{asker: asker{options: o}, read: q.read}
	if err := p.prepare(ctx, party.Self(), q.machine, q.to, q.act, q.payload); err != nil {
		return nil, err
	}
	if err := p.begin(ctx, party.Self(), q.machine, p); err != nil {
		return nil, err
	}
	return p, nil
}

// ask begins the conversation and waits for its end.
func (q question[T]) ask(ctx context.Context, party Party, o options) (T, error) {
	p, err := q.start(ctx, party, o)
	if err != nil {
		var none T
		return none, err
	}
	return p.Wait()
}

// tag tells the receipt of a CANCEL from an answer that is an INFORM too.
func (p *Pending[T]) tag(m *performatives.Message) string { return receiptTag(p.conversation, m) }

func (p *Pending[T]) report(_ *conversation, what string, _ *performatives.Message) {
	if what == reportAgreed && p.options.agreed != nil {
		p.options.agreed()
	}
}

func (p *Pending[T]) ended(c *conversation, last *performatives.Message) {
	returned := false
	defer func() { // also when the caller's type panics
		if !returned {
			p.err = c.unreadable(errUnread)
		}
		close(p.done)
	}()
	p.answer, p.err = p.end(c, last)
	returned = true
}

func (p *Pending[T]) end(c *conversation, last *performatives.Message) (answer T, err error) {
	if last == nil || turnsDown(last) || c.state.State == stateCancelled {
		return answer, c.endError(last)
	}
	if answer, err = p.read(last); err != nil {
		var none T
		return none, c.unreadable(err)
	}
	return answer, nil
}

// turnsDown reports whether m says that there is no answer. That a proposal is
// rejected is one.
func turnsDown(m *performatives.Message) bool {
	return m.Performative() != performatives.ActRejectProposal && m.AsRefusal() != nil
}

// receiptTag is the tag of an INFORM that answers this side's CANCEL.
func receiptTag(c *conversation, m *performatives.Message) string {
	if m.Performative() != performatives.ActInform {
		return ""
	}
	if cancel := c.lastSent(performatives.ActCancel); cancel != nil && m.Answers(cancel) {
		return tagReceipt
	}
	return ""
}

package codons

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// send sends the message of an action.
func (c *Conversation) send(a *action) {
	m := a.message
	if a.err != nil {
		c.agent.Logger().Error("message not made", "conversation", string(c.key.ID), "performative", a.effect.Act.String(), "err", a.err)
		return
	}
	if s, ok := c.side.(sendSide); ok {
		s.Send(c, m)
	}
	c.fingerprint(m)
	// A tagged message may be followed by a further message of the peer.
	if c.at.Role == machine.Initiator && (a.effect.Act.ExpectsReply() || c.opens(m)) || a.effect.Name != "" {
		c.alias(m)
	}
	c.refused(m, c.route(m))
}

// limited reports whether the peer may have given this side a budget. It is true while only
// the CANCEL of a request has come.
func (c *Conversation) limited() bool {
	switch {
	case c.at.Role == machine.Initiator:
		return false
	case c.work != nil:
		return c.work.limited
	}
	return c.request == nil || !c.request.Budget().IsZero()
}

// used returns the usage of the work so far, which is empty before there is any. The
// caller must not change it.
func (c *Conversation) used() Budget {
	if c.work == nil {
		return unused
	}
	return c.work.account.used()
}

// resend repeats a message.
func (c *Conversation) resend(m *performatives.Message) {
	if m != nil {
		c.publishResent(m)
		c.refused(m, c.route(m))
	}
}

// route sends a message. It returns the refusal of an undeliverable message that expects an
// answer.
func (c *Conversation) route(m *performatives.Message) *performatives.Refusal {
	err := c.agent.Send(m)
	if err == nil || c.Ended() { // the system has counted the message, and an ended side awaits no answer
		return nil
	}
	r := performatives.RefusalOf(err)
	if r == nil {
		r = &performatives.Refusal{Code: performatives.CodeInternal}
	}
	expects := m.Performative().ExpectsReply()
	if s, ok := c.side.(undeliveredSide); ok && !expects {
		s.Undelivered(c, m, r)
	}
	if expects || c.opens(m) && r.Code != performatives.CodeBusy { // a retry follows for a busy peer
		return r
	}
	return nil
}

// opens reports whether the act of m opens a conversation of the codon. It may be an act that
// expects no reply in other codons.
func (c *Conversation) opens(m *performatives.Message) bool {
	return c.machine.Opens(m.Performative())
}

// refused takes the refusal of a copy that this side has sent as an event, like a refusal that
// a runtime has sent. r is nil for none.
func (c *Conversation) refused(m *performatives.Message, r *performatives.Refusal) {
	s := c.sentOf(m.Performative())
	if r == nil || s == nil {
		return
	}
	answer := m.RefuseCopy(m.Receiver(), c.agent.Stamp(), r)
	if d, ok := c.side.(denialSide); answer == nil && ok {
		answer = d.Denial(m, c.agent.Stamp(), r)
	}
	if answer != nil {
		c.take(Input{On: s.refusedBy(r.Code), Message: answer, local: true})
	}
}

// denialSide is a [Side] whose opening act expects no reply by its own meaning.
type denialSide interface {
	Denial(m *performatives.Message, s performatives.Stamp, r *performatives.Refusal) *performatives.Message
}

// Drop dead-letters a message that is not handled, under a reason such as [machine.DropLate]. A nil
// message does nothing.
func (c *Conversation) Drop(m *performatives.Message, reason string) {
	if m != nil {
		c.agent.System().DeadLetter(string(c.agent.ID()), m, performatives.Code(reason))
	}
}

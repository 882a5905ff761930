package codons

import (
	"time"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// say makes and sends a new message.
func (c *conversation) say(e machine.Effect, data any) {
	m, err := c.compose(c.self, e.Act, c.script.payload(c, e, data))
	if err != nil {
		c.self.Logger().Error("message not made", "conversation", string(c.key.ID), "performative", e.Act.String(), "err", err)
		return
	}
	if d, ok := c.script.(dated); ok {
		m = dueBy(m, d.replyBy(c, e))
	}
	if c.state.Role == machine.Initiator && e.Act != performatives.ActCancel && e.Act.ExpectsReply() {
		c.asked = true
	}
	if c.keepsAccount() && c.rests(e.Act) {
		m = c.accountFor(m)
	}
	if c.state.Role == machine.Initiator && (e.Act.ExpectsReply() || c.opening(m)) || e.Name != "" { // a tag says that the peer may go on
		c.alias(m)
	}
	c.keep(m)
	r := c.send(m)
	if r == nil || r.Code == performatives.CodeBusy && e.Act == performatives.ActCancel {
		return // a CANCEL that found no room is no answer: the work goes on, and it comes again
	}
	c.refused(m, r)
}

// rests reports whether nothing is done any more once an act is said, or not until more
// is asked for: one whose handler waits for input may spend more.
func (c *conversation) rests(act performatives.Performative) bool {
	return c.state.State == stateInputNeeded || act == performatives.ActPropose || c.machine.Terminal(c.state.State)
}

// dated is a script some of whose acts have a ReplyBy of their own.
type dated interface {
	script
	// replyBy is until when the act is to be answered; zero leaves it as it is.
	replyBy(c *conversation, e machine.Effect) time.Time
}

// dueBy is m with that ReplyBy.
func dueBy(m *performatives.Message, by time.Time) *performatives.Message {
	if by.IsZero() || by.Equal(m.ReplyBy()) {
		return m
	}
	e := m.Envelope()
	e.ReplyBy = by
	if dated, err := performatives.New(e); err == nil { // as m was made, it is valid
		return dated
	}
	return m
}

// keepsAccount reports whether the peer gave this side a budget. Of a request that has
// not come, only its CANCEL, that is not known.
func (c *conversation) keepsAccount() bool {
	switch {
	case c.state.Role == machine.Initiator:
		return false
	case c.work != nil:
		return c.work.account
	}
	return c.request == nil || !c.request.Budget().IsZero()
}

// accountFor has a last word, which a partial result or a proposal may be, say what the work has
// used: nothing where there was none.
func (c *conversation) accountFor(m *performatives.Message) *performatives.Message {
	used := Budget{}
	if c.work != nil {
		used = c.work.ledger.account()
	}
	e := m.Envelope()
	e.Budget = performatives.ContentOf(used)
	if with, err := performatives.New(e); err == nil { // as m was made, it is valid
		return with
	}
	return m
}

// sendAgain repeats a message. That the peer has no room for the copy now says
// nothing about the first, which it may be working on.
func (c *conversation) sendAgain(act performatives.Performative) {
	m := c.lastSent(act)
	if m == nil {
		return
	}
	if r := c.send(m); r != nil && r.Code != performatives.CodeBusy {
		c.refused(m, r)
	}
}

// send routes a message, and returns why it could not be delivered to a peer from
// which an answer is expected.
func (c *conversation) send(m *performatives.Message) *performatives.Refusal {
	err := c.self.Send(m)
	if err == nil || c.machine.Terminal(c.state.State) { // the system has counted it, and an end waits for nothing
		return nil
	}
	r := asRefusal(err)
	if r == nil {
		r = &performatives.Refusal{Code: performatives.CodeInternal}
	}
	expects := m.Performative().ExpectsReply()
	if s, ok := c.script.(sender); ok && !expects {
		s.undelivered(c, m, r)
	}
	if expects || c.opening(m) && r.Code != performatives.CodeBusy { // one that is busy comes again
		return r
	}
	return nil
}

// sender is a script that wants to know of messages that expect no answer, when they
// could not be delivered. They are dead letters already.
type sender interface {
	undelivered(c *conversation, m *performatives.Message, r *performatives.Refusal)
}

// opening reports whether m opens the conversation, be it by an act that elsewhere
// asks for nothing.
func (c *conversation) opening(m *performatives.Message) bool {
	return c.machine.Opens(m.Performative())
}

// refused handles the refusal of a message that was not delivered like one that
// the peer had sent.
func (c *conversation) refused(m *performatives.Message, r *performatives.Refusal) {
	answer := m.Refuse(m.Receiver(), c.self.Stamp(), r.Code, r.Text)
	if answer == nil {
		answer = undelivered(m, c.self.Stamp(), r)
	}
	if answer != nil {
		c.receive(answer)
	}
}

func (c *conversation) refuse(m *performatives.Message, code performatives.Code) {
	if answer := m.Refuse(c.self.ID(), c.self.Stamp(), code, ""); answer != nil {
		c.keep(answer)
		_ = c.self.Send(answer) // Send has dead-lettered it
	}
}

// drop counts what nobody handles.
func (c *conversation) drop(m *performatives.Message, reason string) {
	if m != nil {
		c.self.System().DeadLetter(string(c.self.ID()), m, performatives.Code(reason))
	}
}

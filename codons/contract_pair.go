package codons

import (
	"time"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// tendered is the caller's side of the conversation with one bidder.
type tendered struct {
	asker
	resultBy time.Time // until when the proposal is of use, and then, until when the result is due

	// Touched on the conversation's actor. last is read by the decisions, also when the
	// conversation has ended meanwhile, so it changes only as a proposal arrives.
	by       time.Time // until when proposals of this round are due
	round    int       // to which the bidder is called, from 1
	last     Bid
	nonsense error // what is wrong with the proposal
	result   performatives.InformResult
}

// revision is the content of a further call, with its ReplyBy.
type revision struct {
	call Call
	by   time.Time
}

// award is the content of an award, with its ReplyBy.
type award struct {
	acceptance Acceptance
	by         time.Time
}

// bid is what the bidder proposed, for a decision.
func (t *tendered) bid(at machine.State) Bid {
	b := t.last
	b.Held = at == stateHeld
	return b
}

func (t *tendered) payload(c *conversation, e machine.Effect, data any) any {
	switch d := data.(type) {
	case revision:
		t.by, t.round, data = d.by, d.call.Round, d.call
	case award:
		t.resultBy, data = d.by, d.acceptance
	}
	if e.Act == performatives.ActRejectProposal {
		r := t.rejection(c)
		data = performatives.RejectProposal{ReasonCode: r.Code, ReasonText: r.Text}
	}
	return t.asker.payload(c, e, data)
}

// rejection is why the proposal is rejected.
func (t *tendered) rejection(c *conversation) performatives.Refusal {
	r := performatives.Refusal{Code: performatives.CodeRejected, From: c.self.ID()}
	if c.state.State == stateLapsed {
		r.Code = performatives.CodeExpired
	}
	if nonsense := asRefusal(t.nonsense); nonsense != nil {
		r.Code, r.Text = nonsense.Code, nonsense.Text
	}
	if r.Text == "" {
		r.Text = r.Code.Traits().Text
	}
	return r
}

// replyBy is until when a call or an award is to be answered.
func (t *tendered) replyBy(_ *conversation, e machine.Effect) time.Time {
	switch e.Act { //nolint:exhaustive // no other act has an answer of its own
	case performatives.ActCFP:
		return t.by
	case performatives.ActAcceptProposal:
		return t.resultBy
	}
	return time.Time{}
}

func (t *tendered) report(_ *conversation, _ string, m *performatives.Message) {
	proposal, _ := performatives.PayloadAs[Proposal](m) // tag has read it
	t.last.Proposal, t.last.Round = proposal, t.round
}

func (t *tendered) timer(c *conversation, name string) time.Duration {
	if name != timerDeadline {
		return t.asker.timer(c, name)
	}
	switch c.state.State { //nolint:exhaustive // the others have the result to wait for
	case stateCalled:
		return time.Until(t.by)
	case stateProposed:
		return time.Until(t.last.Proposal.until(t.resultBy))
	}
	return time.Until(t.resultBy)
}

func (t *tendered) tag(m *performatives.Message) string {
	tag := contractTag(m)
	if tag == tagUnreadable {
		_, t.nonsense = performatives.PayloadAs[Proposal](m)
	}
	return tag
}

// contractTag tells a proposal that makes no sense, and one that has lapsed.
func contractTag(m *performatives.Message) string {
	switch m.Performative() { //nolint:exhaustive // the table asks of these two
	case performatives.ActPropose:
		if _, err := performatives.PayloadAs[Proposal](m); err != nil {
			return tagUnreadable
		}
	case performatives.ActFailure:
		if m.AsRefusal().Code == performatives.CodeExpired {
			return tagLapsed
		}
	}
	return ""
}

func (t *tendered) ended(c *conversation, last *performatives.Message) {
	defer close(t.done)
	t.result, t.err = t.end(c, last)
}

// end is what the bidder delivered, or why it did not.
func (t *tendered) end(c *conversation, last *performatives.Message) (performatives.InformResult, error) {
	switch c.state.State { //nolint:exhaustive // every other end is told by a message or a clock
	case stateCompleted:
		r, err := performatives.PayloadAs[performatives.InformResult](last)
		if err != nil {
			return r, c.unreadable(err)
		}
		return r, nil
	case stateRejected, stateLapsed:
		return performatives.InformResult{}, &EndError{
			Protocol: c.machine.Name(), Peer: c.peer, State: c.state.State, Refusal: t.rejection(c),
		}
	}
	return performatives.InformResult{}, c.endError(last)
}

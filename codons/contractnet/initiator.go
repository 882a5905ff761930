package contractnet

import (
	"cmp"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// initiatorSide is the caller's side of the conversation with one bidder.
type initiatorSide struct {
	codons.InitiatorSide

	// Touched on the conversation's actor. Decisions read last, also after the end of the
	// conversation: it changes only when a proposal arrives.
	kept    initiatorData
	last    Bid
	invalid error // the error of an unreadable proposal
	result  performatives.InformResult
}

func initiating() codons.Side { return &initiatorSide{} }

// initiatorData is the data of the caller's side.
type initiatorData struct {
	Asked         any       `json:"asked"`
	ResultBy      time.Time `json:"result_by"` // the end of a proposal's use; after an award, the time by which the result is due
	By            time.Time `json:"by"`        // the time by which the proposals of this round are due
	Round         int       `json:"round"`     // the round of the latest call, from 1
	Proposal      Proposal  `json:"proposal"`
	ProposalRound int       `json:"proposal_round"`
	Invalid       string    `json:"invalid,omitempty"`
}

// Data returns the data that Reduce keeps.
func (s *initiatorSide) Data() any {
	d := s.kept
	d.Asked, d.Proposal, d.ProposalRound = s.InitiatorSide.Data(), s.last.Proposal, s.last.Round
	if s.invalid != nil {
		d.Invalid = s.invalid.Error()
	}
	return d
}

// revision is the content of a further call, with its ReplyBy.
type revision struct {
	Call Call      `json:"call"`
	By   time.Time `json:"by"`
}

// award is the content of an award, with its ReplyBy.
type award struct {
	Acceptance Acceptance `json:"acceptance"`
	By         time.Time  `json:"by"`
}

// bid returns the latest proposal for a decision; at is the state of the conversation.
func (s *initiatorSide) bid(at machine.State) Bid {
	b := s.last
	b.Held = at == stateHeld
	return b
}

// Reduce keeps the times of the round and of the award, and the proposal.
func (s *initiatorSide) Reduce(v *codons.Value, e *codons.Input) {
	s.InitiatorSide.Reduce(v, e)
	if e.On == machine.Commanded(machine.CommandStart) {
		call, _ := performatives.PayloadAs[Call](e.Message) // composed by Start, so it is readable
		s.kept.By, s.kept.Round, s.kept.ResultBy = e.Message.ReplyBy(), 1, call.ResultBy
	}
	switch d := e.Data.(type) {
	case revision:
		s.kept.By, s.kept.Round = d.By, d.Call.Round
	case award:
		s.kept.ResultBy = d.By
	}
	if e.Message == nil || e.Message.Performative() != performatives.ActPropose || e.On.Kind != machine.KindReceive {
		return
	}
	proposal, err := performatives.PayloadAs[Proposal](e.Message)
	switch {
	case err != nil:
		s.invalid = err
	case v.State() == stateProposed:
		s.last.Proposal, s.last.Round = proposal, s.kept.Round
	}
}

// Compose returns the contents of calls, awards and rejections.
func (s *initiatorSide) Compose(v *codons.Value, f machine.Effect, e *codons.Input) any {
	if f.Act == performatives.ActRejectProposal {
		r := s.rejection(v)
		return performatives.RejectProposal{ReasonCode: r.Code, ReasonText: r.Text}
	}
	switch d := e.Data.(type) {
	case revision:
		return d.Call
	case award:
		return d.Acceptance
	}
	return s.InitiatorSide.Compose(v, f, e)
}

// rejection returns the reason for which the proposal is rejected.
func (s *initiatorSide) rejection(v *codons.Value) performatives.Refusal {
	r := performatives.Refusal{Code: performatives.CodeRejected, From: v.Self()}
	if v.State() == stateLapsed {
		r.Code = performatives.CodeExpired
	}
	if invalid := performatives.RefusalOf(s.invalid); invalid != nil {
		r.Code, r.Text = invalid.Code, invalid.Text
	}
	r.Text = cmp.Or(r.Text, r.Code.Traits().Text)
	return r
}

// ReplyBy returns the time by which a call or an award is to be answered.
func (s *initiatorSide) ReplyBy(_ *codons.Value, f machine.Effect) time.Time {
	switch f.Act { //nolint:exhaustive // no other act has a ReplyBy of its own
	case performatives.ActCFP:
		return s.kept.By
	case performatives.ActAcceptProposal:
		return s.kept.ResultBy
	}
	return time.Time{}
}

// Timer sets the deadline of the proposals, of the proposal's validity, or of the result.
func (s *initiatorSide) Timer(v *codons.Value, name string, now time.Time) time.Duration {
	if name != machine.TimerDeadline {
		return s.InitiatorSide.Timer(v, name, now)
	}
	switch v.State() { //nolint:exhaustive // the others wait for the result
	case stateCalled:
		return s.kept.By.Sub(now)
	case stateProposed:
		return s.last.Proposal.until(s.kept.ResultBy).Sub(now)
	}
	return s.kept.ResultBy.Sub(now)
}

// Tag returns the tag of a message, as the codon has it.
func (s *initiatorSide) Tag(_ *codons.Value, m *performatives.Message) string { return tag(m) }

// Ended keeps the result of the bidder, or the reason for which there is none.
func (s *initiatorSide) Ended(c *codons.Conversation, last *performatives.Message) {
	var err error
	switch c.State() { //nolint:exhaustive // EndError knows every other end
	case standard.StateCompleted:
		s.result, err = codons.PayloadOf[performatives.InformResult](c, last)
	case standard.StateRejected, stateLapsed:
		err = c.Rejected(s.rejection(&c.Value))
	default:
		err = c.EndError(last)
	}
	s.Close(err)
}

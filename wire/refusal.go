package wire

import (
	"encoding/json"

	"github.com/ribosome-agents/ribosome/performatives"
)

// RefusalOf makes the answer that tells m's sender why m is not served, as
// [performatives.Message.Refuse] does, for a dialect that writes refusals as messages.
// err is what [AsRefusal] makes of it; of a [*LimitError] the payload has the member
// details. It is from m's receiver, or from local where m names none. Nil means that m
// expects no answer.
func RefusalOf(m *performatives.Message, local performatives.AgentID, s performatives.Stamp, err error) *performatives.Message {
	r := AsRefusal(err)
	from := r.From
	if from == "" {
		from = m.Receiver()
	}
	if from == "" {
		from = local
	}
	answer := m.Refuse(from, s, r.Code, r.Text)
	details := ErrorObjectOf(err).Details
	if answer == nil || details == nil {
		return answer
	}
	return withDetails(answer, details)
}

// withDetails returns the answer with more in its payload.
func withDetails(answer *performatives.Message, d *ErrorDetails) *performatives.Message {
	raw, err := json.Marshal(d)
	if err != nil {
		return answer
	}
	extra := performatives.Members{"details": raw}
	e := answer.Envelope()
	switch p := e.Payload.(type) {
	case performatives.TaskReject:
		p.Extra = extra
		e.Payload = p
	case performatives.Refuse:
		p.Extra = extra
		e.Payload = p
	case performatives.RejectProposal:
		p.Extra = extra
		e.Payload = p
	case performatives.NotUnderstood:
		p.Extra = extra
		e.Payload = p
	case performatives.Failure:
		p.Extra = extra
		e.Payload = p
	}
	detailed, err := performatives.New(e)
	if err != nil {
		return answer
	}
	return detailed
}

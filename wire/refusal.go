package wire

import (
	"cmp"
	"encoding/json"

	"github.com/ribosome-agents/ribosome/performatives"
)

// RefusalOf returns the reply that tells m's sender why m is refused, as
// [performatives.Message.RefuseCopy] does. It is for dialects that express refusals as messages.
// The code, the text and RetryAfter are those of [AsRefusal](err). For a [*LimitError] the payload
// has the member details. The reply's sender is that of the refusal, else m's receiver, else local.
// It returns nil when m expects no reply, unless m tells something to an agent that is not there,
// and answers nothing: that is NOT_UNDERSTOOD (addenda §9).
func RefusalOf(m *performatives.Message, local performatives.AgentID, s performatives.Stamp, err error) *performatives.Message {
	r := AsRefusal(err)
	from := cmp.Or(r.From, m.Receiver(), local)
	answer := m.RefuseCopy(from, s, r)
	if answer == nil && r.Code == performatives.CodeUnknownAgent && m.Receiver() != "" && m.InReplyTo() == "" && !m.Performative().IsReply() {
		answer, _ = m.ReplyFrom(from, s, performatives.ActNotUnderstood, performatives.NotUnderstood{ReasonCode: r.Code, ReasonText: r.Text}) // nil if from is no id
	}
	details := ErrorObjectOf(err).Details
	if answer == nil || details == nil {
		return answer
	}
	return withDetails(answer, details)
}

// withDetails returns answer with d as the payload member details.
func withDetails(answer *performatives.Message, d *ErrorDetails) *performatives.Message {
	raw, err := json.Marshal(d)
	if err != nil {
		return answer
	}
	extra := performatives.Members{"details": raw}
	detailed, err := answer.With(func(e *performatives.Envelope) { e.Payload = performatives.RefusalWith(e.Payload, extra) })
	if err != nil {
		return answer
	}
	return detailed
}

package performatives

import (
	"cmp"
	"encoding/json"
)

// Refuse makes the refusal of m for its sender: a NOT_UNDERSTOOD, TASK_REJECT, REFUSE,
// REJECT_PROPOSAL or FAILURE, depending on the act of m and the code. from is the agent
// that refuses. An empty text stands for the text of the code, and an empty code for
// [CodeInternal]. Refuse returns nil for a message that expects no reply: such a message
// is dead-lettered instead. It also returns nil when from or s is invalid.
func (m *Message) Refuse(from AgentID, s Stamp, code Code, text string) *Message {
	return m.RefuseWith(from, s, &Refusal{Code: code, Text: text})
}

// RefuseWith is [Message.Refuse] with the code, the text and the RetryAfter of r.
func (m *Message) RefuseWith(from AgentID, s Stamp, r *Refusal) *Message {
	if !m.performative.ExpectsReply() {
		return nil
	}
	why := Refusal{Code: cmp.Or(r.Code, CodeInternal), Text: r.Text, RetryAfter: r.RetryAfter}
	why.Text = cmp.Or(why.Text, why.Code.Traits().Text)
	why.Act = m.refusalAct(why.Code)
	reply, err := m.reply(s, from, why.Act, why.Payload(nil))
	if err != nil {
		return nil // the caller's id or stamp is invalid
	}
	return reply
}

// FailureFor returns the FAILURE that stands for a refusal which a dialect could not read, so that
// its receiver does not wait for it. e has the stamp and the readable names, and payload the JSON
// of the refusal. The FAILURE has its error_text, its reason_text or, if it is a string, its text.
// It returns nil if e.Performative is no refusal, or e is no envelope.
func FailureFor(e Envelope, payload []byte) *Message {
	switch e.Performative { //nolint:exhaustive // the acts that refuse
	case ActFailure, ActTaskReject, ActRefuse, ActNotUnderstood:
	default:
		return nil
	}
	why := Failure{ErrorCode: CodeFailed}
	var members map[string]any
	if json.Unmarshal(payload, &why.ErrorText) != nil && json.Unmarshal(payload, &members) == nil {
		text, _ := members["error_text"].(string)
		reason, _ := members["reason_text"].(string)
		why.ErrorText = cmp.Or(text, reason)
	}
	why.ErrorText = cmp.Or(why.ErrorText, "the agent's answer cannot be read")
	e.Performative, e.Payload = ActFailure, why
	m, _ := New(e)
	return m
}

// MetadataUndeliverable is the member of the envelope that marks the refusal of one copy of
// a message by a runtime. Its value is true. [Message.RefuseCopy] sets it.
const MetadataUndeliverable = "undeliverable"

// RefuseCopy is [Message.RefuseWith] for a runtime that could not deliver one copy of m: a
// mailbox was full, the agent had stopped or was unreachable, or the copy had expired.
// The reply is marked as [Message.Undeliverable]. It is not the answer of the receiver,
// which may have another copy of m.
func (m *Message) RefuseCopy(from AgentID, s Stamp, r *Refusal) *Message {
	reply := m.RefuseWith(from, s, r)
	if reply != nil { // it is new and not shared yet
		reply.changeRare(func(r *rare) { r.metadata = Members{MetadataUndeliverable: json.RawMessage("true")} })
	}
	return reply
}

// Undeliverable reports whether the message is a refusal that a runtime made of one copy
// of a message, by [Message.RefuseCopy]. Dialects carry the mark as a member of the
// envelope.
func (m *Message) Undeliverable() bool {
	return string(m.rareFields().metadata[MetadataUndeliverable]) == "true" && m.AsRefusal() != nil
}

// refusalAct returns the act that refuses m with that code.
func (m *Message) refusalAct(code Code) Performative {
	switch carrier := code.Traits().Carrier; carrier { //nolint:exhaustive // the third carrier depends on the act
	case ActNotUnderstood, ActFailure:
		return carrier
	}
	switch m.performative { //nolint:exhaustive // the acts that FIPA's refuse does not answer
	case ActTaskRequest:
		return ActTaskReject
	case ActCancel, ActAcceptProposal: // the work is under way, or the proposal is agreed (addenda §6)
		return ActFailure
	case ActPropose: // also a late proposal is rejected (addenda §6)
		return ActRejectProposal
	}
	return ActRefuse
}

// AsRefusal returns the refusal that a message carries, or nil when its act is not
// TASK_REJECT, REFUSE, REJECT_PROPOSAL, NOT_UNDERSTOOD or FAILURE. One without a code has
// [CodeUnspecified], and one without a text an empty text (addenda §7).
func (m *Message) AsRefusal() *Refusal {
	var payload any
	switch m.performative { //nolint:exhaustive // the acts that refuse
	case ActTaskReject:
		payload, _ = PayloadAs[TaskReject](m)
	case ActRefuse:
		payload, _ = PayloadAs[Refuse](m)
	case ActRejectProposal:
		payload, _ = PayloadAs[RejectProposal](m)
	case ActNotUnderstood:
		payload, _ = PayloadAs[NotUnderstood](m)
	case ActFailure:
		payload, _ = PayloadAs[Failure](m)
	default:
		return nil
	}
	r, _, _ := RefusalIn(payload)
	r.From, r.About, r.Code = m.sender, MessageID(m.inReplyTo), cmp.Or(r.Code, CodeUnspecified)
	return &r
}

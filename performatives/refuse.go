package performatives

// Refuse makes the answer that tells m's sender why m is not served: a
// NOT_UNDERSTOOD, TASK_REJECT, REFUSE, REJECT_PROPOSAL or FAILURE, whichever m's act and the code
// call for. from is who refuses, and text, when not empty, says more than the
// code does. Without a code it is [CodeInternal]. It returns nil for a message that
// expects no reply: such a message is dead-lettered instead. It is nil also when
// from or s are not valid, as New would say.
func (m *Message) Refuse(from AgentID, s Stamp, code Code, text string) *Message {
	if !m.e.Performative.ExpectsReply() {
		return nil
	}
	if code == "" {
		code = CodeInternal
	}
	if text == "" {
		text = code.Traits().Text
	}
	payload := m.refusalPayload(code, text)
	reply, err := m.reply(s, from, actOf(payload), payload)
	if err != nil {
		return nil // only an invalid id or stamp of the caller's
	}
	return reply
}

func (m *Message) refusalPayload(code Code, text string) any {
	switch code.Traits().Carrier { //nolint:exhaustive // the third carrier depends on the act
	case ActNotUnderstood:
		return NotUnderstood{ReasonCode: code, ReasonText: text}
	case ActFailure:
		return Failure{ErrorCode: code, ErrorText: text}
	}
	switch m.e.Performative { //nolint:exhaustive // the acts that FIPA's refuse does not answer
	case ActTaskRequest:
		return TaskReject{ReasonCode: code, ReasonText: text}
	case ActCancel, ActAcceptProposal: // what they speak of is under way or agreed (addenda §6)
		return Failure{ErrorCode: code, ErrorText: text}
	case ActPropose: // one that comes too late is rejected as well (addenda §6)
		return RejectProposal{ReasonCode: code, ReasonText: text}
	}
	return Refuse{ReasonCode: code, ReasonText: text}
}

// AsRefusal returns the refusal that a message carries, or nil when its act is
// none of TASK_REJECT, REFUSE, REJECT_PROPOSAL, NOT_UNDERSTOOD and FAILURE.
func (m *Message) AsRefusal() *Refusal {
	r := &Refusal{Act: m.e.Performative, From: m.e.Sender, About: MessageID(m.e.InReplyTo)}
	switch m.e.Performative { //nolint:exhaustive // the acts that refuse
	case ActTaskReject:
		p, _ := PayloadAs[TaskReject](m)
		r.Code, r.Text = p.ReasonCode, p.ReasonText
	case ActRefuse:
		p, _ := PayloadAs[Refuse](m)
		r.Code, r.Text = p.ReasonCode, p.ReasonText
	case ActRejectProposal:
		p, _ := PayloadAs[RejectProposal](m)
		r.Code, r.Text = p.ReasonCode, p.ReasonText
	case ActNotUnderstood:
		p, _ := PayloadAs[NotUnderstood](m)
		r.Code, r.Text = p.ReasonCode, p.ReasonText
	case ActFailure:
		p, _ := PayloadAs[Failure](m)
		r.Code, r.Text = p.ErrorCode, p.ErrorText
	default:
		return nil
	}
	if r.Code == "" {
		r.Code = defaultCode[m.e.Performative]
	}
	return r
}

// defaultCode is the reason of a refusal that gives none: acl leaves it optional.
var defaultCode = map[Performative]Code{
	ActTaskReject: CodeIncapable, ActRefuse: CodeIncapable, ActRejectProposal: CodeRejected,
	ActNotUnderstood: CodeParsingError, ActFailure: CodeFailed,
}

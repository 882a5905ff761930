package performatives

// Refuse makes the refusal of m for its sender: a NOT_UNDERSTOOD, TASK_REJECT, REFUSE,
// REJECT_PROPOSAL or FAILURE, depending on the act of m and the code. from is the agent
// that refuses. An empty text stands for the text of the code, and an empty code for
// [CodeInternal]. Refuse returns nil for a message that expects no reply: such a message
// is dead-lettered instead. It also returns nil when from or s is invalid.
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
		return nil // the caller's id or stamp is invalid
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
	case ActCancel, ActAcceptProposal: // the work is under way, or the proposal is agreed (addenda §6)
		return Failure{ErrorCode: code, ErrorText: text}
	case ActPropose: // also a late proposal is rejected (addenda §6)
		return RejectProposal{ReasonCode: code, ReasonText: text}
	}
	return Refuse{ReasonCode: code, ReasonText: text}
}

// AsRefusal returns the refusal that a message carries, or nil when its act is not
// TASK_REJECT, REFUSE, REJECT_PROPOSAL, NOT_UNDERSTOOD or FAILURE.
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

// defaultCode has the code of a refusal without one: acl leaves it optional.
var defaultCode = map[Performative]Code{
	ActTaskReject: CodeIncapable, ActRefuse: CodeIncapable, ActRejectProposal: CodeRejected,
	ActNotUnderstood: CodeParsingError, ActFailure: CodeFailed,
}

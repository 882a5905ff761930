package performatives

// Reply makes the answer of m's receiver to m: an act of the given payload, back
// to the sender, in the same conversation. Protocol, trace, priority and language
// are m's; InReplyTo and Ontology are what acl asks of that act. A payload of no
// built-in type needs [Message.ReplyAs].
//
// A message without a receiver is answered by [Message.ReplyFrom].
func (m *Message) Reply(s Stamp, payload any) (*Message, error) {
	return m.reply(s, m.e.Receiver, actOf(payload), payload)
}

// ReplyAs is [Message.Reply] with an act of one's choice, for payloads that do
// not imply one. The payload may be nil.
func (m *Message) ReplyAs(s Stamp, act Performative, payload any) (*Message, error) {
	return m.reply(s, m.e.Receiver, act, payload)
}

// ReplyFrom is [Message.ReplyAs] by someone else than m's receiver: one of many
// that a broadcast reached, or the runtime itself.
func (m *Message) ReplyFrom(from AgentID, s Stamp, act Performative, payload any) (*Message, error) {
	return m.reply(s, from, act, payload)
}

func (m *Message) reply(s Stamp, from AgentID, act Performative, payload any) (*Message, error) {
	e := m.next(s, act, payload)
	e.Sender, e.Receiver = from, m.e.Sender
	e.InReplyTo = m.reference(act)
	return New(e)
}

// Follow makes a further act of m's sender in the conversation of m: a CANCEL of
// what m asked for, or the TASK_REQUEST that brings what the worker still needed.
// Sender, receiver, protocol, trace and priority are m's. It refers to m by
// InReplyTo, so that it finds its conversation even where the peer's dialect
// carries no conversation id.
func (m *Message) Follow(s Stamp, payload any) (*Message, error) {
	e := m.next(s, actOf(payload), payload)
	e.Sender, e.Receiver = m.e.Sender, m.e.Receiver
	e.InReplyTo = string(m.e.ID)
	e.ReplyBy = m.e.ReplyBy
	if e.Performative == ActCancel {
		e.Priority = max(m.e.Priority, High) // it must overtake the work that it stops
	}
	return New(e)
}

// next is the envelope of what comes after m in its conversation.
func (m *Message) next(s Stamp, act Performative, payload any) Envelope {
	e := Envelope{
		ID: s.ID, Timestamp: s.Time, Performative: act, Payload: payload,
		ConversationID: m.e.ConversationID, Protocol: m.e.Protocol, Trace: m.e.Trace,
		Priority: m.e.Priority, Language: m.e.Language,
		Ontology: replyOntology(m.e.Ontology, act, payload),
	}
	if act.ExpectsReply() {
		e.ReplyWith = string(s.ID)
	}
	return e
}

// reference returns what an answer with that act carries as InReplyTo. acl wants
// the message_id in some answers and allows the reply_with in others, where it
// is what the asker said it expects (acl §4.2 to §4.9).
func (m *Message) reference(act Performative) string {
	switch act { //nolint:exhaustive // the acts for which acl demands the message_id
	case ActTaskAccept, ActTaskReject, ActNotUnderstood, ActInformCapabilities:
		return string(m.e.ID)
	}
	if m.e.ReplyWith != "" {
		return m.e.ReplyWith
	}
	return string(m.e.ID)
}

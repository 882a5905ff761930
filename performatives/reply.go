package performatives

import "cmp"

// Reply makes the answer of m's receiver to m's sender, in the same conversation. The
// type of the payload implies the act; for a payload that implies none, use
// [Message.ReplyAs]. Protocol, trace, priority and language are those of m. InReplyTo and
// Ontology follow the rules of acl for the act. The reply has no message type; give it
// one by [Message.With].
//
// For a message without a receiver, use [Message.ReplyFrom].
func (m *Message) Reply(s Stamp, payload any) (*Message, error) {
	return m.reply(s, m.receiver, 0, payload)
}

// ReplyAs is [Message.Reply] with the act as an argument, for a payload that implies
// none. Zero stands for the act that the payload implies. The payload may be nil.
func (m *Message) ReplyAs(s Stamp, act Performative, payload any) (*Message, error) {
	return m.reply(s, m.receiver, act, payload)
}

// ReplyFrom is [Message.ReplyAs] with the sender as an argument, for an agent that is not
// m's receiver: one of the receivers of a broadcast, or the runtime itself.
func (m *Message) ReplyFrom(from AgentID, s Stamp, act Performative, payload any) (*Message, error) {
	return m.reply(s, from, act, payload)
}

func (m *Message) reply(s Stamp, from AgentID, act Performative, payload any) (*Message, error) {
	return New(m.ReplyEnvelope(from, s, act, payload))
}

// ReplyEnvelope returns what [Message.ReplyFrom] makes its message of, to change it
// before [New] checks it.
func (m *Message) ReplyEnvelope(from AgentID, s Stamp, act Performative, payload any) Envelope {
	e := m.next(s, act, payload)
	e.Sender, e.Receiver = from, m.sender
	e.InReplyTo = string(m.id)
	switch e.Performative { //nolint:exhaustive // the acts for which acl demands the message_id (acl §4.2 to §4.9)
	case ActTaskAccept, ActTaskReject, ActNotUnderstood, ActInformCapabilities:
	default:
		e.InReplyTo = cmp.Or(m.replyWith, e.InReplyTo)
	}
	e.Answers = m.rareFields().activation
	return e
}

// Follow makes a further message of m's sender in the conversation of m: a CANCEL of the
// request m, or a TASK_REQUEST with the input that the worker asked for. Sender,
// receiver, protocol, trace and priority are those of m. InReplyTo refers to m, so that
// the message finds its conversation also in a dialect without conversation ids. It has
// no message type; give it one by [Message.With].
func (m *Message) Follow(s Stamp, payload any) (*Message, error) {
	return New(m.FollowEnvelope(s, 0, payload))
}

// FollowEnvelope returns what [Message.Follow] makes its message of, with the act as an
// argument, to change it before [New] checks it.
func (m *Message) FollowEnvelope(s Stamp, act Performative, payload any) Envelope {
	e := m.next(s, act, payload)
	e.Sender, e.Receiver = m.sender, m.receiver
	e.InReplyTo = string(m.id)
	e.ReplyBy = m.replyBy
	if e.Performative == ActCancel {
		e.Priority = max(m.priority, High) // a CANCEL overtakes the messages of the work that it stops
	}
	return e
}

// next returns the envelope of a later message in the conversation of m.
func (m *Message) next(s Stamp, act Performative, payload any) Envelope {
	if act == 0 {
		act = actOf(payload)
	}
	e := Envelope{
		ID: s.ID, Timestamp: s.Time, Performative: act, Payload: payload,
		ConversationID: m.conversationID, Protocol: m.protocol, Trace: m.trace,
		Priority: m.priority, Language: m.Language(),
		Ontology: ReplyOntology(m.ontology, act, payload),
	}
	if act.ExpectsReply() {
		e.ReplyWith = string(s.ID)
	}
	return e
}

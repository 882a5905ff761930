package bridge

import (
	"cmp"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// resolve sets the fields of a message that only its session knows: the conversation, and the
// receiver of an answer that names none.
func (s *session) resolve(d *decoder) {
	if d.correlation == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d.greets = s.greetings[d.correlation] != nil
	switch {
	case d.kind == kindRequest, d.kind == kindHandshakeRequest:
		s.resolveRequest(d)
	case d.withdraws():
		if c := s.calls.Find(d.out.Sender, d.correlation); c != nil && !c.Partial && !c.Answered {
			d.call = c
			d.out.Receiver, d.out.ConversationID, d.out.ReplyBy = c.Receiver, c.Conversation, c.ReplyBy
			d.out.Priority = max(d.out.Priority, c.Priority, performatives.High)
		}
	default:
		s.resolveAnswer(d)
	}
}

// resolveRequest decides what the correlation_id of a request means. If it names a request whose
// answer was a question for more input, the conversation continues. Otherwise it is the peer's own,
// such as the id of its workflow, and comes back with no answer.
func (s *session) resolveRequest(d *decoder) {
	c := s.calls.Find(d.out.Sender, d.correlation)
	if c != nil && c.Partial && c.Receiver.Is(d.out.Receiver) {
		d.out.ConversationID = c.Conversation
		return
	}
	d.out.InReplyTo = ""
	if string(d.out.ConversationID) == d.correlation {
		d.out.ConversationID = ""
	}
	exchange.Keep(&d.out.Metadata, memberNames[memCorrelation], jsonscan.AppendQuoted(nil, d.correlation))
}

// withdraws reports whether the message is a CANCEL.
func (d *decoder) withdraws() bool { return d.out.Performative == performatives.ActCancel }

// resolveAnswer finds the request of this node that a message answers.
func (s *session) resolveAnswer(d *decoder) {
	q := s.askFor(d.correlation, d.out.Receiver)
	if q == nil {
		return
	}
	d.ask = q
	if d.kind != kindNotification && q.message.Receiver() != "" && s.shookHands(d.out.Sender) {
		d.out.Sender = q.message.Receiver() // on whose behalf a router may answer
	}
	d.out.ConversationID = q.message.ConversationID()
	if d.out.Receiver == "" || d.kind != kindNotification || d.out.Receiver.Is(q.message.Sender().Name()) {
		d.out.Receiver = q.message.Sender()
	}
	d.out.Protocol, d.out.Trace = cmp.Or(d.out.Protocol, q.message.Protocol()), cmp.Or(d.out.Trace, q.message.Trace())
}

// called notes a request or a handshake of the peer.
func (s *session) called(d *decoder, in wire.Inbound) wire.Inbound {
	m, now := in.Message, d.arrival()
	if s.calls.Find(m.Sender(), string(m.ID())) != nil {
		return in // it has come again: its receiver knows it
	}
	if d.kind == kindRequest && s.early.Overtook(exchange.KeyOf(m.Sender(), string(m.ID())), m.ID(), d.arrival) {
		return s.refused(d, in, exchange.Canceled("")) // it never starts work, nor does a copy of it
	}
	c := &call{
		Request: exchange.Request{ID: m.ID(), Asker: m.Sender(), Receiver: m.Receiver(), Conversation: m.ConversationID(), Expires: exchange.Expiry(m.ReplyBy(), now, unlimited)},
		ReplyBy: m.ReplyBy(), Priority: m.Priority(), Arrived: now, hello: d.kind == kindHandshakeRequest, Tool: m.MessageType(),
	}
	if c.first = c.hello && !s.shookHands(m.Sender()); !c.hello {
		c.Agent = m.Sender().Fold()
	}
	if task, ok := m.Payload().(performatives.TaskRequest); ok {
		c.Tool = task.TaskType
	}
	if c.first && len(s.hellos) >= maxGreeted || !s.calls.Room(now) {
		return s.refused(d, in, performatives.Refused(performatives.CodeBusy, "too many requests are under way on this connection"))
	}
	if s.calls.Add(c); c.hello && !s.opts.Initiator {
		s.hellos[m.Sender().Fold()] = &hello{extensions: d.extensions}
	}
	in.Ref = c
	return in
}

// withdrawn passes on a CANCEL of the peer. One of a request that has ended, is withdrawn already,
// or is not the sender's, has no effect. It may have overtaken its request, which is then not
// served.
func (s *session) withdrawn(d *decoder, in wire.Inbound) wire.Inbound {
	if d.call == nil && d.correlation != "" {
		s.early.Note(exchange.KeyOf(d.out.Sender, d.correlation), d.arrival())
	}
	if d.call == nil || d.call.Over() || d.call.Cancel != "" {
		return wire.Inbound{Token: in.Token}
	}
	s.calls.AddCancel(d.call, d.out.ID, string(d.out.ID))
	in.Ref = d.call
	return in
}

// answered passes on a message about a request of this node. An error that answers a request which
// was withdrawn is the receipt: the peer has ended the request.
func (s *session) answered(d *decoder, in wire.Inbound) wire.Inbound {
	m, q := in.Message, d.ask
	if m.Performative().ExpectsReply() || exchange.Interim.Has(m.Performative()) || d.kind == kindNotification && m.MessageType() == "" {
		return in
	}
	s.asks.Remove(q)
	if q.cancel == nil || d.kind != kindError {
		return in
	}
	receipt, err := q.cancel.ReplyFrom(m.Sender(), performatives.Stamp{ID: m.ID(), Time: m.Timestamp()}, performatives.ActInform,
		performatives.Receipt{Text: "the peer has ended the request"})
	if err == nil {
		in.Message = receipt
	}
	return in
}

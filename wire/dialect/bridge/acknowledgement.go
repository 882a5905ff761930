package bridge

import (
	"cmp"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// The event types of the extension acknowledgement. The correlation_id names the message.
const (
	eventAck  = "ack"  // the message has been accepted
	eventNack = "nack" // it has been refused; the data are those of an error
)

// acknowledge passes a message on, and acknowledges it if its sender has agreed to that.
func (s *session) acknowledge(d *decoder, in wire.Inbound, take func(wire.Inbound)) {
	s.nacked = ""
	take(in)
	m := d.shape.of
	if in.Message == nil || d.notice || d.kind == kindHandshakeRequest || d.kind == kindHandshakeResponse || s.nacked == m.ID() || !s.agrees(m.Receiver(), m.Sender(), extensionAcknowledgement) {
		return
	}
	take(wire.Inbound{Token: in.Token, Answer: s.notice(m, eventAck, []byte("{}"))})
}

// nack returns the nack of a message that gets no error, if its sender has agreed to that.
func (s *session) nack(m *performatives.Message, err error) []byte {
	if !s.agrees(m.Receiver(), m.Sender(), extensionAcknowledgement) {
		return nil
	}
	r := wire.AsRefusal(err)
	f := faultOf(r)
	f.text = cmp.Or(r.Text, r.Code.Traits().Text)
	data, err := f.payload()
	if err != nil {
		return nil // cannot be: this package has made all of it
	}
	return s.notice(m, eventNack, data)
}

// notice returns a notification about a message of the peer.
func (s *session) notice(m *performatives.Message, event string, data []byte) []byte {
	b := envelopeOf(kindNotification, s.opts.Stamper.Stamp(), cmp.Or(m.Receiver(), s.opts.Local), m.Sender(), string(m.ID()), m.Priority())
	b.Open(memberNames[memPayload])
	b.Text(notificationEvent, event)
	b.Raw(notificationData, data)
	b.End()
	return append(b.JSON, '}')
}

// acknowledges handles an ack or a nack of the peer, and reports whether d is one. A nack of a
// request of this node is its answer. The session's lock is held.
func (s *session) acknowledges(d *decoder, in wire.Inbound) (wire.Inbound, bool) {
	if d.kind != kindNotification || d.correlation == "" || d.out.MessageType != "" || d.out.Performative != performatives.ActInform ||
		!s.agreedBetween(d.out.Receiver, d.out.Sender).has(extensionAcknowledgement) {
		return in, false
	}
	var event, data, code, message, details, again []byte
	jsonscan.Read(d.shape.payload, nil, jsonscan.Find(notificationEvent, &event), jsonscan.Find(notificationData, &data))
	jsonscan.Read(data, nil, jsonscan.Find(errorCode, &code), jsonscan.Find(errorMessage, &message), jsonscan.Find(errorDetails, &details))
	jsonscan.Read(details, nil, jsonscan.Find(performatives.MemberRetryAfter, &again))
	out := wire.Inbound{Token: in.Token}
	switch jsonscan.Text(event) {
	case eventAck:
		return out, true
	case eventNack:
	default:
		return in, false
	}
	d.notice = true
	r := &performatives.Refusal{
		Code: reasonOf(jsonscan.Text(code), nil), Text: jsonscan.Text(message), From: d.out.Sender, About: performatives.MessageID(d.correlation),
		RetryAfter: performatives.ParseRetryAfter(again),
	}
	r.Code = cmp.Or(r.Code, performatives.CodeUnspecified)
	if d.ask != nil {
		s.pending.asks.Remove(d.ask)
		out.Message = d.ask.message.RefuseWith(d.out.Sender, performatives.Stamp{ID: d.out.ID, Time: d.out.Timestamp}, r)
	}
	if out.Message == nil {
		out.Err = r
	}
	return out, true
}

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

// notice returns a notification about a message of the peer: an ack without an error, or a nack.
func (s *session) notice(m *performatives.Message, event string, err error) []byte {
	b := envelopeOf(kindNotification, s.opts.Stamper.Stamp(), cmp.Or(m.Receiver(), s.opts.Local), m.Sender(), string(m.ID()), m.Priority())
	b.Open(memberNames[memPayload])
	b.Text(notificationEvent, event)
	b.Open(notificationData)
	if err != nil {
		f := fault{Refusal: *wire.AsRefusal(err)}
		f.Text = cmp.Or(f.Text, f.Code.Traits().Text)
		f.write(&b)
	}
	b.End()
	b.End()
	return append(b.JSON, '}')
}

// acknowledgement returns the result of an ack or a nack of the peer, and reports whether d is one.
// A nack of a request of this node is its answer. The session's lock is held.
func (s *session) acknowledgement(d *decoder, in wire.Inbound) (out wire.Inbound, ok bool) {
	if d.kind != kindNotification || d.correlation == "" || d.other(performatives.ActInform) {
		return out, false
	}
	out.Token = in.Token
	if event := jsonscan.Text(jsonscan.Member(d.shape.payload, notificationEvent)); event != eventNack {
		return out, event == eventAck
	}
	data := jsonscan.Member(d.shape.payload, notificationData)
	r := refusalIn(jsonscan.Member(data, errorCode), jsonscan.Member(data, errorMessage), jsonscan.Member(data, errorDetails))
	r.Code = cmp.Or(r.Code, performatives.CodeUnspecified)
	r.From, r.About = d.out.Sender, performatives.MessageID(d.correlation)
	if d.ask != nil {
		s.forget(d.ask.message)
		out.Message = d.ask.message.RefuseWith(d.out.Sender, performatives.Stamp{ID: d.out.ID, Time: d.out.Timestamp}, r)
	}
	if out.Message == nil {
		out.Err = r
	}
	return out, true
}

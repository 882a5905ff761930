package bridge

import (
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/internal/isotime"
	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// decoder turns one envelope into a message.
type decoder struct {
	exchange.Fault
	codec       *Codec
	session     *session   // nil without one
	call        *call      // that a CANCEL withdraws
	ask         *ask       // that the message answers
	extensions  extensions // of a handshake
	notice      bool       // it is a nack, which is not acknowledged itself
	in          exchange.Members
	kind        kind
	correlation string
	act         performatives.Performative // of metadata.performative; zero = none
	now         time.Time                  // of the arrival; zero until needed
	out         performatives.Envelope
	shape       *shape
}

// fail stores an error of package performatives, with the field names of bridge.
func (d *decoder) fail(err error) { d.Refuse(renamed(err)) }

// parse checks the JSON and finds the members.
func (d *decoder) parse(data []byte) bool {
	s, bad := exchange.Open(data, d.codec.opts.MaxBytes, d.codec.opts.MaxDepth)
	if bad == nil && !d.in.Scan(&s, memberNames) {
		bad = exchange.Broken(s.Problem())
	}
	d.Refusal = bad
	return bad == nil
}

// message makes the message, or returns nil and stores the error.
func (d *decoder) message() *performatives.Message {
	d.shape = &shape{}
	for m, v := range d.in.Values {
		if v != nil {
			d.shape.had |= 1 << m
		}
		if jsonscan.IsNull(v) {
			d.shape.blanks |= 1 << m
		}
	}
	d.messageType()
	d.ids()
	d.timestamp()
	d.priority()
	d.unknown()
	d.metadata()
	if d.Refusal == nil {
		d.payload()
	}
	if d.Refusal != nil {
		return nil
	}
	if d.session != nil {
		d.session.checkRoute(d)
		d.session.checkSealed(d)
		if d.session.resolve(d); d.Refusal != nil {
			return nil
		}
	}
	return d.made()
}

func (d *decoder) made() *performatives.Message {
	d.shape.kind, d.shape.act = d.kind, d.out.Performative
	d.out.Shape = d.shape
	m, err := performatives.New(d.out)
	if err != nil {
		d.fail(err)
		return nil
	}
	d.shape.of = m
	return m
}

func (d *decoder) messageType() {
	v := d.in.Values[memType]
	if !jsonscan.Is(v, '"') {
		d.Invalid("message_type", "one of "+allKinds, v)
		return
	}
	k, ok := kindOf([]byte(jsonscan.Text(v)))
	if !ok {
		r := exchange.Wrong("message_type", "one of %s, got %.64q", allKinds, jsonscan.Text(v))
		r.Code = performatives.CodeUnknownPerformative
		d.Refuse(r)
		return
	}
	d.kind = k
}

// ids reads the members that refer to messages and agents.
func (d *decoder) ids() {
	d.out.ID = performatives.MessageID(d.required(memID, "the id of the message"))
	d.out.Sender = performatives.AgentID(d.required(memSender, "the id of an agent"))
	d.out.Receiver = performatives.AgentID(d.optional(memReceiver))
	d.correlation = d.optional(memCorrelation)
	d.out.InReplyTo = d.correlation
	d.out.ConversationID = performatives.ConversationID(d.correlation)
	switch {
	case d.correlation != "":
	case d.kind == kindHandshakeResponse, d.kind == kindResponse:
		d.Invalid("correlation_id", "the message_id of the request", d.in.Values[memCorrelation])
	case d.kind == kindError:
		d.out.InReplyTo = noReference
	}
	if d.kind == kindRequest && d.out.Receiver == "" { // addenda §7: what starts work needs a receiver
		d.Wrong("receiver_id", "the id of an agent, or system for any agent that has the tool")
	}
}

// noReference is the InReplyTo of an error without a correlation_id, which its act demands.
const noReference = "unknown"

// required reads a string that must be there and must not be empty.
func (d *decoder) required(m member, what string) string {
	v := d.in.Values[m]
	s := jsonscan.Text(v)
	switch {
	case !jsonscan.Is(v, '"'):
		d.Invalid(memberNames[m], what, v)
	case s == "":
		d.Wrong(memberNames[m], "%s, got an empty string", what)
	}
	return s
}

// optional reads a string. null counts as absent.
func (d *decoder) optional(m member) string {
	v := d.in.Values[m]
	if !jsonscan.IsNone(v) && !jsonscan.Is(v, '"') {
		d.Invalid(memberNames[m], "a string or null", v)
	}
	return jsonscan.Text(v)
}

// timestamp reads the time. A message without one has that of its arrival.
func (d *decoder) timestamp() {
	v := d.in.Values[memTimestamp]
	switch {
	case jsonscan.IsNone(v):
		d.out.Timestamp = d.arrival()
		return
	case !jsonscan.Is(v, '"'):
		d.Invalid("timestamp", "an ISO 8601 time", v)
		return
	}
	t, ok := isotime.Parse([]byte(jsonscan.Text(v)))
	if !ok || t.IsZero() {
		d.Wrong("timestamp", "an ISO 8601 time, got %.48q", jsonscan.Text(v))
	}
	d.out.Timestamp = t
}

// arrival returns the time at which the message was read.
func (d *decoder) arrival() time.Time {
	if d.now.IsZero() {
		d.now = d.codec.opts.Stamper.Stamp().Time
	}
	return d.now
}

// priority reads the priority: a name of the specification, or medium or a digit of the other
// specifications (addenda §1), in any case.
func (d *decoder) priority() {
	v := d.in.Values[memPriority]
	if v == nil {
		return
	}
	p, err := performatives.ParsePriority(jsonscan.Text(v))
	if err != nil {
		d.Wrong("priority", "low, normal, high or urgent, got %.32s", v)
	}
	d.out.Priority = p
	if string(v) != `"`+p.String()+`"` {
		d.shape.priority = string(v)
	}
}

// unknown collects the members of the envelope without a field.
func (d *decoder) unknown() {
	for _, u := range d.in.Unknown {
		if _, twice := d.out.Metadata[u.Name]; twice {
			d.Refuse(exchange.Broken(fmt.Sprintf("want no second %.64q", u.Name)))
		}
		exchange.Keep(&d.out.Metadata, u.Name, u.Value)
	}
	if v := d.in.Values[memAccepted]; v != nil && d.kind != kindHandshakeResponse {
		exchange.Keep(&d.out.Metadata, memberNames[memAccepted], v)
	}
}

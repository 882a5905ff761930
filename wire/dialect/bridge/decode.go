package bridge

import (
	"bytes"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/internal/isotime"
	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
)

// decoder turns one envelope into a message. It stores the first error in refusal and
// reads on, so that the answer to the sender can be addressed.
type decoder struct {
	codec       *Codec
	session     *session   // nil without one
	call        *call      // that a CANCEL withdraws
	ask         *ask       // that the message answers
	extensions  extensions // of a handshake
	notice      bool       // it is a nack, which is not acknowledged itself
	in          envelope
	kind        kind
	correlation string
	act         performatives.Performative // of metadata.performative; zero = none
	now         time.Time                  // of the arrival; zero until needed
	out         performatives.Envelope
	shape       *shape
	refusal     *performatives.Refusal
}

// refuse stores the first error; it ignores later ones.
func (d *decoder) refuse(code performatives.Code, field, text string) {
	if d.refusal == nil {
		d.refusal = &performatives.Refusal{Code: code, Field: field, Text: text}
	}
}

// invalid stores the error of a member with a wrong value.
func (d *decoder) invalid(field, want string, got []byte) {
	d.refuse(performatives.CodeInvalidPayload, field, fmt.Sprintf("%s: want %s, got %s", field, want, jsonscan.KindOf(got)))
}

// fail stores an error of package performatives, with the field names of bridge.
func (d *decoder) fail(err error) {
	if d.refusal == nil {
		d.refusal = renamed(err)
	}
}

// parse checks the JSON and finds the members.
func (d *decoder) parse(data []byte) bool {
	if limit := d.codec.opts.MaxBytes; len(data) > limit {
		d.refuse(performatives.CodeParsingError, "", fmt.Sprintf("want at most %d bytes, got %d", limit, len(data)))
		return false
	}
	if !utf8.Valid(data) {
		d.refuse(performatives.CodeParsingError, "", "want UTF-8, got other bytes")
		return false
	}
	s := jsonscan.Scanner{Data: data, Depth: d.codec.opts.MaxDepth}
	if s.Peek() != '{' && s.Value() && s.End() {
		d.invalid("message", "an object", bytes.TrimLeft(data, " \t\r\n"))
		return false
	}
	if s.Want == "" && d.in.scan(&s) {
		return true
	}
	d.refuse(performatives.CodeParsingError, "", s.Problem())
	return false
}

// message makes the message, or returns nil and stores the error in d.refusal.
func (d *decoder) message() *performatives.Message {
	d.shape = &shape{}
	for m, v := range d.in.values {
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
	if d.refusal == nil {
		d.payload()
	}
	if d.refusal != nil {
		return nil
	}
	if d.session != nil {
		d.session.checkRoute(d)
		d.session.checkSealed(d)
		if d.session.resolve(d); d.refusal != nil {
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
	v := d.in.values[memType]
	if !jsonscan.Is(v, '"') {
		d.invalid("message_type", "one of "+allKinds, v)
		return
	}
	k, ok := kindOf([]byte(jsonscan.Text(v)))
	if !ok {
		d.refuse(performatives.CodeUnknownPerformative, "message_type", fmt.Sprintf("message_type: want one of %s, got %.64q", allKinds, jsonscan.Text(v)))
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
		d.invalid("correlation_id", "the message_id of the request", d.in.values[memCorrelation])
	case d.kind == kindError:
		d.out.InReplyTo = noReference
	}
	if d.kind == kindRequest && d.out.Receiver == "" { // addenda §7: what starts work needs a receiver
		d.refuse(performatives.CodeInvalidPayload, "receiver_id", "receiver_id: want the id of an agent, or system for any agent that has the tool")
	}
}

// noReference is the InReplyTo of an error without a correlation_id, which its act demands.
const noReference = "unknown"

// required reads a string that must be there and must not be empty.
func (d *decoder) required(m member, what string) string {
	v := d.in.values[m]
	s := jsonscan.Text(v)
	switch {
	case !jsonscan.Is(v, '"'):
		d.invalid(memberNames[m], what, v)
	case s == "":
		d.refuse(performatives.CodeInvalidPayload, memberNames[m], fmt.Sprintf("%s: want %s, got an empty string", memberNames[m], what))
	}
	return s
}

// optional reads a string. null counts as absent.
func (d *decoder) optional(m member) string {
	v := d.in.values[m]
	if !jsonscan.IsNone(v) && !jsonscan.Is(v, '"') {
		d.invalid(memberNames[m], "a string or null", v)
	}
	return jsonscan.Text(v)
}

// timestamp reads the time. A message without one has that of its arrival.
func (d *decoder) timestamp() {
	v := d.in.values[memTimestamp]
	switch {
	case jsonscan.IsNone(v):
		d.out.Timestamp = d.arrival()
		return
	case !jsonscan.Is(v, '"'):
		d.invalid("timestamp", "an ISO 8601 time", v)
		return
	}
	t, ok := isotime.Parse([]byte(jsonscan.Text(v)))
	if !ok || t.IsZero() {
		d.refuse(performatives.CodeInvalidPayload, "timestamp", fmt.Sprintf("timestamp: want an ISO 8601 time, got %.48q", jsonscan.Text(v)))
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
	v := d.in.values[memPriority]
	if v == nil {
		return
	}
	p, err := performatives.ParsePriority(jsonscan.Text(v))
	if err != nil {
		d.refuse(performatives.CodeInvalidPayload, "priority", fmt.Sprintf("priority: want low, normal, high or urgent, got %.32s", v))
	}
	d.out.Priority = p
	if string(v) != `"`+p.String()+`"` {
		d.shape.priority = string(v)
	}
}

// unknown collects the members of the envelope without a field.
func (d *decoder) unknown() {
	for _, u := range d.in.unknown {
		if _, twice := d.out.Metadata[u.name]; twice {
			d.refuse(performatives.CodeParsingError, "", fmt.Sprintf("want no second %.64q", u.name))
		}
		d.addMetadata(u.name, bytes.Clone(u.value))
	}
	if v := d.in.values[memAccepted]; v != nil && d.kind != kindHandshakeResponse {
		d.addMetadata(memberNames[memAccepted], bytes.Clone(v))
	}
}

func (d *decoder) addMetadata(name string, value []byte) {
	if d.out.Metadata == nil {
		d.out.Metadata = make(performatives.Members, len(d.in.unknown)+1)
	}
	d.out.Metadata[name] = value
}

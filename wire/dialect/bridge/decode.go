package bridge

import (
	"bytes"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// decoder turns one envelope into a message.
type decoder struct {
	exchange.Reader
	codec        *Codec
	session      *session   // nil without one
	call         *call      // that a CANCEL withdraws
	ask          *ask       // that the message answers
	extensions   extensions // of a handshake
	greets       bool       // it answers a handshake of this end
	acknowledged bool       // the sender awaits an acknowledgement
	kind         string
	correlation  string
	act          performatives.Performative // of metadata.performative; zero = none
	now          time.Time                  // of the arrival; zero until needed
	out          performatives.Envelope
	shape        *shape
	room         [16][]byte // see members
}

// fail stores an error of package performatives, if it is one, with the field names of bridge.
func (d *decoder) fail(err error) { d.Refuse(renamed(err)) }

// message makes the message, or returns nil and stores the error.
func (d *decoder) message() *performatives.Message {
	d.shape = &shape{}
	d.shape.had, d.shape.blanks = d.Had()
	d.messageType()
	d.ids()
	if jsonscan.IsNone(d.Values[memTimestamp]) {
		d.out.Timestamp = d.arrival()
	} else {
		d.out.Timestamp = d.Time(memTimestamp)
	}
	d.priority()
	d.KeepAll(d.Unknown, &d.out.Metadata, "")
	if d.kind != kindHandshakeResponse {
		exchange.Keep(&d.out.Metadata, memberNames[memAccepted], d.Values[memAccepted])
	}
	d.metadata()
	if d.Refusal != nil {
		return nil
	}
	if d.payload(); d.session != nil && d.Refusal == nil {
		d.session.checkRoute(d)
		if performatives.IsSealedType(d.out.MessageType) && !d.agreed(extensionEncryption) {
			d.Wrong("metadata.message_type",
				"another one than %.64q: the handshake has not agreed on the extension %s", d.out.MessageType, extensionNames[extensionEncryption])
		}
		d.session.resolve(d)
	}
	if d.Refusal != nil {
		return nil
	}
	d.shape.kind, d.out.Shape = d.kind, d.shape
	m, err := performatives.New(d.out)
	if err != nil {
		d.fail(err)
		return nil
	}
	d.shape.of, d.shape.act = m, m.Performative()
	return m
}

func (d *decoder) messageType() {
	v := d.Values[memType]
	if !jsonscan.Is(v, '"') {
		d.Invalid("message_type", "one of "+allKinds, v)
	}
	name := jsonscan.TextBytes(v)
	i := slices.IndexFunc(messageTypes, func(k string) bool { return k == string(name) })
	if i < 0 {
		d.WrongAs(performatives.CodeUnknownPerformative, "message_type", "one of %s, got %.64q", allKinds, name)
		return
	}
	d.kind = messageTypes[i]
}

// ids reads the members that refer to messages and agents.
func (d *decoder) ids() {
	d.out.ID = performatives.MessageID(d.Required(memID))
	d.out.Sender = performatives.AgentID(d.Required(memSender))
	d.out.Receiver = performatives.AgentID(d.Optional(memReceiver))
	d.correlation = d.Optional(memCorrelation)
	d.out.InReplyTo = d.correlation
	d.out.ConversationID = performatives.ConversationID(d.correlation)
	switch {
	case d.correlation != "":
	case d.kind == kindHandshakeResponse, d.kind == kindResponse:
		d.Invalid("correlation_id", "the message_id of the request", d.Values[memCorrelation])
	case d.kind == kindError:
		d.out.InReplyTo = noReference
	}
	if d.kind == kindRequest && d.out.Receiver == "" { // addenda §7: what starts work needs a receiver
		d.Wrong("receiver_id", "the id of an agent, or system for any agent that has the tool")
	}
}

// noReference is the InReplyTo of an error without a correlation_id, which its act demands.
const noReference = "unknown"

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
	v := d.Values[memPriority]
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

// payload reads the payload, whose members depend on the message type.
func (d *decoder) payload() {
	v := d.Values[memPayload]
	if !jsonscan.Is(v, '{') {
		d.Invalid("payload", "an object", v)
	}
	v = d.inflated(v)
	d.Values[memPayload] = v
	v = bytes.Clone(v) // the message keeps parts of it
	d.shape.payload = v
	var rest performatives.Members
	m := d.members(rules[d.kind], "payload", v, &rest)
	switch d.kind {
	case kindHandshakeRequest:
		d.itself(performatives.ActQueryCapabilities)
		d.out.Payload = performatives.QueryCapabilities{Type: performatives.QuerySummary, Capabilities: d.capabilities(v), Schemas: true}
	case kindHandshakeResponse:
		d.handshakeResponse(v)
	case kindRequest:
		d.request(m, rest)
	case kindResponse:
		d.response(m, rest)
	case kindNotification:
		d.notification(m, rest)
	case kindError:
		d.error(m, rest)
	}
}

// field is the path of a member of the payload.
func field(name string) string { return "payload." + name }

// typed sets the payload of an application's message type, and keeps the members of the payload
// that have no place in it.
func (d *decoder) typed(act performatives.Performative, content []byte, rest performatives.Members) {
	d.out.Performative = act
	if jsonscan.IsNull(content) {
		content = nil
	}
	if len(content) > 0 && content[0] != '{' {
		d.Wrong("payload", "an object as the content of the message type")
	}
	if content == nil && d.out.MessageType == "" && performatives.CheckPayload(act, nil) != nil {
		content = []byte("{}") // the act has a payload, all of whose members are absent
	}
	p, err := d.codec.opts.Registry.DecodeTyped(act, d.out.MessageType, "", content)
	d.fail(err)
	d.out.Payload = p
	keepRest(&d.out.Metadata, payloadRest, rest)
}

// other reports whether the act of a message is not the usual one of its message type, or it has
// an application's message type: then its content is the act's, or the application's.
func (d *decoder) other(usual performatives.Performative) bool {
	return d.out.MessageType != "" || d.act != 0 && d.act != usual
}

package rossnet

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// decoder turns one envelope into a message.
type decoder struct {
	exchange.Reader // of the header
	codec           *codec
	envelope        exchange.Reader
	payload         []byte // nil = absent
	out             performatives.Envelope
	kind            string
	correlation     string
	subtask         string
	token           string
	id              string // as it came; empty = none
	field           bool   // the envelope or the payload has the form of the field
	origin          *origin
	made            *performatives.Message
	answer          []byte
	answers         *call // a request to the peer
	follows         *call // a request of the peer, for example with its CANCEL
}

// read makes the message, or stores the fault.
func (d *decoder) read() {
	d.token = exchange.Bearer(d.optional(memToken))
	version := d.Required(memVersion)
	if major, _, _ := strings.Cut(version, "."); major != "1" { // rossnet §8
		d.Wrong("mcp_header.version", "1.0 or another version 1, got %.16q", version)
	}
	d.kind = d.Required(memKind)
	d.out.Sender = performatives.AgentID(d.Required(memSender))
	if owner := d.codec.owner; owner != "" && d.out.Sender != "" && !d.out.Sender.Is(owner) {
		d.WrongAs(performatives.CodeForbidden, "mcp_header.sender_id", "the agent of the path, %.64q, got %.64q", owner, d.out.Sender)
	}
	d.recipient()
	d.correlation = d.optional(memCorrelation)
	d.out.Timestamp = d.Time(memTimestamp)
	d.metadata()
	if !jsonscan.Is(d.payload, '{') {
		d.Invalid(memPayload, "an object", d.payload)
	}
	d.id = d.optional(memID)
	if d.out.ID = performatives.MessageID(d.id); d.id == "" { // so that the same frame again is recognized as a duplicate
		d.out.ID = performatives.MessageID(uuidOf(exchange.Digest(d.payload,
			d.kind, string(d.out.Sender.Fold()), string(d.out.Receiver.Fold()), d.correlation, d.out.Timestamp.Format(time.RFC3339Nano))))
	}
	d.subtask = subtaskOf(d.kind, d.payload)
	if d.content(); d.Refusal == nil {
		d.codec.mu.Lock()
		defer d.codec.mu.Unlock()
		d.finish()
	}
}

// optional reads a member of the header that is a string, null or absent.
func (d *decoder) optional(i int) string {
	if jsonscan.IsNone(d.Values[i]) {
		return ""
	}
	return d.Required(i)
}

// recipient reads who the message is for, in the form of the text or of the field. PING, PONG and
// PROCESS_USER_REQUEST need none.
func (d *decoder) recipient() {
	for _, i := range [...]int{memRecipient, memAgent, memService} {
		text := d.optional(i)
		switch {
		case text == "":
		case d.out.Receiver != "" && !d.out.Receiver.Is(performatives.AgentID(text)):
			d.Wrong(d.Path+headerNames[i], "one recipient, got %.64q and %.64q", d.out.Receiver, text)
		default:
			d.out.Receiver = performatives.AgentID(text)
		}
		d.field = d.field || d.Values[i] != nil && i != memRecipient
	}
	if d.out.Receiver != "" {
		return
	}
	switch d.kind {
	case kindPing, kindPong, kindUserRequest:
		d.out.Receiver = serviceRouter
	default:
		d.Required(memRecipient)
	}
}

// uuidOf returns a UUID of version 8 (RFC 9562), which has the bits of a digest.
func uuidOf(sum [sha256.Size]byte) string {
	b := sum[:16]
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// act finds the act and the message type.
func (d *decoder) act() {
	d.Refuse(renamed(performatives.CheckMessageType(d.kind)))
	said, err := performatives.ParsePerformative(jsonscan.Text(d.out.Metadata[exchange.MetaAct]))
	named := err == nil
	registered, ok := d.codec.opts.Registry.MessageTypeAct(d.kind)
	own, known := natural[d.kind]
	switch {
	case named && (jsonscan.Text(d.out.Metadata[exchange.MetaMessageType]) == d.kind || !ok && !known):
		d.out.Performative, d.out.MessageType = said, d.kind
	case ok && (!known || d.kind == own.String() && d.kind != kindStatus): // of the application
		d.out.Performative, d.out.MessageType = registered, d.kind
	case known:
		d.out.Performative = own
		if named && exchange.Refusals.Has(said) && (d.kind == kindError || d.kind == kindFail) {
			d.out.Performative = said
		}
		if d.kind == kindAcknowledge && isOneOf(jsonscan.Member(d.payload, "status"), statusRejected) {
			d.out.Performative = performatives.ActTaskReject
		}
	default:
		d.WrongAs(performatives.CodeUnknownPerformative, "mcp_header.message_type", "a known type, or task_metadata.performative beside it, got %.64q", d.kind)
	}
}

// finish makes the message, and notes a request. The codec is locked.
func (d *decoder) finish() {
	c, act, from := d.codec, d.out.Performative, d.out.Sender.Fold()
	if _, known := c.field[from]; known || len(c.field) < maxForms {
		c.field[from] = d.field
	}
	d.refer()
	d.origin = &origin{
		kind: d.kind, id: d.id, correlation: d.correlation, subtask: d.subtask, sender: d.out.Sender, receiver: d.out.Receiver, field: d.field,
	}
	switch {
	case d.kind == kindPing: // the answer is the node's, which keeps the connection
		payload := `{"timestamp":"` + exchange.FormatTime(c.now()) + `","status":"acknowledged"}`
		d.answer = c.appendOwn(nil, d.origin, kindPong, d.out.Receiver, []byte(payload))
		return
	case d.kind == kindPong:
		return
	case startsWork(act):
		for _, name := range [...]string{d.subtask, d.correlation} {
			if c.withdrawn.Overtook(exchange.KeyOf(from, name), d.out.ID, c.now) { // by its CANCEL, as is each copy of it
				d.Refuse(exchange.Canceled(d.out.ID))
				return
			}
		}
	case act == performatives.ActCancel && d.answers == nil && d.follows == nil: // its receiver may have the request by another connection
		c.withdrawn.Note(exchange.KeyOf(from, cmp.Or(d.subtask, d.correlation)), c.now())
	}
	d.out.Shape = d.shape()
	m, err := exchange.Checked(&c.mu, d.out)
	if err != nil {
		d.Refuse(renamed(err))
		return
	}
	d.made = m
	d.note()
}

// refer finds the request that a message belongs to, and sets its conversation and its reference.
func (d *decoder) refer() {
	from, act := d.out.Sender.Fold(), d.out.Performative
	d.out.ConversationID = performatives.ConversationID(d.correlation)
	if startsWork(act) {
		if x := d.request(); d.correlation != "" && d.codec.calls.busy(x) {
			d.out.ConversationID = performatives.ConversationID(d.out.ID) // an agent has one conversation of an id with each peer
		}
		return
	}
	d.answers = d.codec.asked.find(from, d.subtask, d.correlation)
	if d.answers == nil && isField(d.kind, d.payload) { // its task_id is one that the worker has made
		d.answers = d.codec.asked.find(from, "", d.correlation)
	}
	d.follows = d.codec.calls.find(from, d.subtask, d.correlation)
	switch x, y := d.answers, d.follows; {
	case x != nil && act != performatives.ActCancel:
		d.out.InReplyTo, d.out.ConversationID = x.Reference, x.Conversation
		if to := d.out.Receiver; exchange.Refusals.Has(act) || to.Is(serviceRouter) || to.Is(serviceDiscovery) || to.Is(x.Asker.Name()) {
			d.out.Receiver = x.Asker // a service stands for the asker
		}
		if x.Cancel != "" && (act == performatives.ActInform || d.kind == kindError) {
			d.out.InReplyTo = x.CancelRef
		}
	case y != nil:
		d.out.InReplyTo, d.out.ConversationID = string(y.ID), y.Conversation
	case act.IsReply():
		d.out.InReplyTo = cmp.Or(d.correlation, d.subtask, string(d.out.ID)) // of an unknown request, or of a frame that was no message
	}
}

// request returns the request of the peer.
func (d *decoder) request() *call {
	return &call{
		Request: exchange.RequestOf(&d.out, d.kind), Correlation: d.correlation, Subtask: d.subtask,
		Field: inField(d.kind, d.payload),
	}
}

// note stores a request of the peer, and the end of one to the peer.
func (d *decoder) note() {
	c, act := d.codec, d.out.Performative
	switch x, y := d.answers, d.follows; {
	case x != nil && act != performatives.ActCancel:
		c.asked.End(x, exchange.Final.Has(act), x.IsOfCancel(d.out.InReplyTo))
	case act == performatives.ActCancel && y != nil:
		c.calls.AddCancel(y, d.out.ID, string(d.out.ID))
	case startsWork(act):
		x := d.request()
		x.Conversation = d.made.ConversationID()
		if d.kind == kindQuery || x.Field {
			x.Payload = bytes.Clone(d.payload)
		}
		d.origin.call = x
		c.calls.add(x)
	}
}

// fieldNames has the names in this dialect of the fields in a refusal of package performatives.
var fieldNames = map[string]string{
	"conversation_id":         "mcp_header.correlation_id",
	"message_type":            "mcp_header.message_type",
	"performative":            "mcp_header.message_type",
	"message_id":              "mcp_header.message_id",
	"in_reply_to":             "mcp_header.correlation_id",
	"sender":                  "mcp_header.sender_id",
	"receiver":                "mcp_header.recipient_id",
	"protocol":                "mcp_header.task_metadata.protocol",
	"payload.task_parameters": "payload.input_data",
	"payload.task_type":       "payload.task_name",
	"payload.result_details":  "payload.output_data",
}

// renamed returns the refusal in err in the words of this dialect.
func renamed(err error) *performatives.Refusal { return exchange.Renamed(err, fieldNames) }

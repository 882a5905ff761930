package rag

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// decoder turns one envelope into a message.
type decoder struct {
	exchange.Reader
	codec    *codec
	out      performatives.Envelope
	kind     string
	trace    string
	token    string
	origin   *origin
	made     *performatives.Message
	told     *performatives.Message // to the asker, when the result goes to another agent or cannot be read
	relation relation
}

// read makes the message, or stores the fault.
func (d *decoder) read() {
	d.kind = d.Required(memType)
	d.out.Sender = performatives.AgentID(d.Required(memSender))
	d.out.Receiver = performatives.AgentID(d.Required(memReceiver))
	d.trace = d.Required(memTrace)
	d.out.Timestamp = d.Time(memTimestamp)
	d.token = exchange.Bearer(d.Optional(memToken))
	d.metadata()
	payload := d.Values[memPayload]
	if !jsonscan.Is(payload, '{') {
		d.Invalid("payload", "an object", payload)
	}
	if d.Refusal != nil {
		return
	}
	// rag has no ids. A frame that comes again as it was has the same one, so that it is recognized
	// as a duplicate; another attempt has another timestamp.
	sum := exchange.Digest(payload,
		d.kind, string(d.out.Sender.Fold()), string(d.out.Receiver.Fold()), d.trace, d.out.Timestamp.Format(time.RFC3339Nano))
	d.out.ID = performatives.MessageID(hex.EncodeToString(sum[:16]))
	d.out.ConversationID, _ = splitTrace(d.trace)
	if p, ok := exchange.Priority(d.out.Metadata[exchange.MetaPriority]); ok {
		d.out.Priority = p // the exact value stays, to be written again
	}
	exchange.TakeExtensions(&d.out)
	d.codec.mu.Lock()
	defer d.codec.mu.Unlock()
	d.codec.sequences.note(d.trace)
	d.relate(payload)
	d.content(payload)
	d.finish()
}

// content decodes the act and the payload.
func (d *decoder) content(payload []byte) {
	d.act()
	if d.out.MessageType == "" || slices.Contains(specific, d.kind) {
		d.Refuse(checkPayload(d.kind, payload))
	}
	if d.Refusal != nil {
		return
	}
	switch act := d.out.Performative; {
	case d.out.MessageType != "", d.kind == act.String():
		d.typed(payload)
	case d.kind == typeRegistration, d.kind == typeStatus:
		d.introduce(payload)
	case d.kind == typeRegistered:
		d.registered(payload)
	case exchange.Refusals.Has(act):
		d.failure(payload)
	case act == performatives.ActTaskRequest:
		d.task(payload)
	default:
		d.result(payload)
	}
}

// act finds the act and the message type.
func (d *decoder) act() {
	d.Refuse(renamed(performatives.CheckMessageType(d.kind)))
	said, err := performatives.ParsePerformative(jsonscan.Text(d.out.Metadata[exchange.MetaAct]))
	named := err == nil
	registered, ok := d.codec.opts.Registry.MessageTypeAct(d.kind)
	own, known := natural[d.kind]
	result, task := jsonscan.Is(d.out.Metadata[metaResult], '{'), jsonscan.Is(d.out.Metadata[metaTask], '{')
	switch explicit := named && jsonscan.Text(d.out.Metadata[exchange.MetaMessageType]) == d.kind; {
	case ok && named && said != registered:
		d.Wrong("metadata.performative", "%s, the act of %s, got %s", registered, d.kind, said)
	case ok:
		d.out.Performative, d.out.MessageType = registered, d.kind
	case known && !explicit && (!named || said == own || d.kind == typeError && exchange.Refusals.Has(said)):
		d.out.Performative = cmp.Or(said, own)
	case explicit, named && (known || !result && !task):
		d.out.Performative, d.out.MessageType = said, d.kind
	case result, !task && d.relation.answers != nil:
		d.out.Performative = performatives.ActInformResult
	default:
		d.out.Performative = performatives.ActTaskRequest
	}
}

// typed reads the payload of a message type, and that of an act under its own name. Meanwhile the
// codec is not locked, because that may be an application's code.
func (d *decoder) typed(payload []byte) {
	d.codec.mu.Unlock()
	defer d.codec.mu.Lock()
	p, err := d.codec.opts.Registry.DecodeTyped(d.out.Performative, d.out.MessageType, "", payload)
	d.Refuse(renamed(err))
	d.out.Payload, d.out.Shape = p, &shape{text: bytes.Clone(payload), value: p}
}

// shape is the value of [performatives.Message.Shape] for this dialect: the text of a payload,
// whose type may lack members of it. It never leaves the node.
type shape struct {
	text  []byte
	value any
}

// finish makes the message, and notes a request. The codec is locked.
func (d *decoder) finish() {
	exchange.Keep(&d.out.Metadata, keptTrace, exchange.Quoted(d.trace))
	if d.Refusal != nil {
		return
	}
	if d.kind == typeStatus {
		d.out.ID = statusID + d.out.ID
	}
	c, act, at := d.codec, d.out.Performative, exchange.KeyOf(d.out.Sender, d.trace)
	d.refer()
	switch {
	case !startsWork(act):
	case act == performatives.ActCancel:
		if d.relation.answers == nil && d.relation.follows == nil { // its receiver may have the request by another connection
			c.withdrawn.Note(at, c.now())
		}
	case c.withdrawn.Overtook(at, d.out.ID, c.now): // by its CANCEL, as is each copy of it
		d.Refuse(exchange.Canceled(d.out.ID))
		return
	case c.calls.busy(d.request()): // with each peer, an agent has at most one conversation of an id
		d.out.ConversationID = performatives.ConversationID(d.trace)
	}
	m, err := exchange.Checked(&c.mu, d.out)
	if err != nil {
		d.Refuse(renamed(err))
		return
	}
	d.made = m
	d.origin = &origin{kind: d.kind, trace: d.trace, sender: d.out.Sender, receiver: d.out.Receiver, conversation: d.out.ConversationID}
	d.note()
}

// fieldNames has the names in this dialect of the fields in a refusal of package performatives.
var fieldNames = map[string]string{
	"conversation_id": "trace_id", "message_type": "type", "performative": "type", "message_id": "trace_id", "in_reply_to": "trace_id",
	"payload.task_parameters": "payload", "payload.result_details": "payload", "protocol": "metadata.protocol",
	"payload.task_status": "metadata.inform_result.task_status",
}

// renamed returns the refusal in err in the words of this dialect.
func renamed(err error) *performatives.Refusal { return exchange.Renamed(err, fieldNames) }

package rossnet

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// The members of the envelope (rossnet §3).
const (
	memHeader  = "mcp_header"
	memPayload = "payload"
)

var envelopeNames = exchange.Names{memHeader, memPayload}

// The members of mcp_header (rossnet §3), and those that clients in the field write (addenda §4).
const (
	memID = iota
	memCorrelation
	memSender
	memRecipient
	memAgent   // of the field
	memService // of the field
	memTimestamp
	memVersion
	memKind
	memToken
	memTask
)

// headerNames has their names, in the order of the specification.
var headerNames = exchange.Names{
	"message_id", "correlation_id", "sender_id", "recipient_id", "target_agent_id", "target_service", "timestamp", "version",
	"message_type", "auth_token", "task_metadata",
}

// scan checks the JSON and finds the members of the header. After a refusal, d has the members that
// were found before the fault.
func (d *decoder) scan(data []byte) {
	d.Names, d.Path, d.envelope.Names = headerNames, memHeader+".", envelopeNames
	d.envelope.Open(data, d.codec.opts.MaxBytes)
	d.Refusal, d.payload = d.envelope.Refusal, d.envelope.Values[1]
	s := jsonscan.Scanner{Data: d.envelope.Values[0], Depth: exchange.MaxDepth}
	if !jsonscan.Is(s.Data, '{') {
		d.Invalid(memHeader, "an object", s.Data)
	} else if !d.Scan(&s, headerNames) {
		d.Refuse(exchange.Broken(memHeader + ": " + s.Problem()))
	}
}

// In [performatives.Message.Metadata], the members of task_metadata have their names, and the
// further members of the header and of the envelope a prefix. A member of task_metadata whose name
// begins with a prefix gets the third.
const (
	prefixHeader   = "header."
	prefixEnvelope = "envelope."
	prefixTask     = "task_metadata."
)

// metadata reads task_metadata, and the unknown members of the header and of the envelope.
func (d *decoder) metadata() {
	d.KeepAll(d.envelope.Unknown, &d.out.Metadata, prefixEnvelope)
	d.KeepAll(d.Unknown, &d.out.Metadata, prefixHeader)
	v := d.Values[memTask]
	if jsonscan.IsNone(v) {
		return
	}
	if v[0] != '{' {
		d.Invalid("mcp_header.task_metadata", "an object", v)
	}
	d.KeepObject("mcp_header.task_metadata", v, &d.out.Metadata, prefixTask, prefixEnvelope, prefixHeader, prefixTask)
	meta := d.out.Metadata
	if v := meta[exchange.MetaPriority]; v != nil && !jsonscan.IsNull(v) {
		p, ok := priorityOf(v)
		if !ok {
			d.Wrong("mcp_header.task_metadata.priority", "a whole number from 1 to 5, got %.16s", v)
		}
		d.out.Priority = p // the exact value stays, to be written again
	}
	for _, name := range []string{"task_id", "required_accuracy"} {
		if v := meta[name]; !jsonscan.IsNone(v) && v[0] != '"' {
			d.Invalid("mcp_header.task_metadata."+name, "a string", v)
		}
	}
	exchange.TakeExtensions(&d.out)
}

// priorityOf reads a priority, which is a whole number from 1 to 5.
func priorityOf(v []byte) (performatives.Priority, bool) {
	if len(v) != 1 || v[0] < '1' || v[0] > '5' {
		return performatives.Normal, false
	}
	return exchange.Priority(v)
}

// collect takes the metadata of the message, and the fields that belong there.
func (w *writer) collect() {
	w.Meta, w.header, w.top = make(performatives.Members), make(performatives.Members), make(performatives.Members)
	for name, v := range w.Message.AllMetadata() {
		if n, ok := strings.CutPrefix(name, prefixHeader); ok && headerNames.Find([]byte(n)) == len(headerNames) {
			w.header[n] = v
		} else if n, ok := strings.CutPrefix(name, prefixEnvelope); ok && n != memHeader && n != memPayload {
			w.top[n] = v
		} else {
			w.Meta[strings.TrimPrefix(name, prefixTask)] = v
		}
	}
	came := w.Meta[exchange.MetaPriority]
	if p, ok := priorityOf(came); p != w.Message.Priority() || !ok && !jsonscan.IsNone(came) {
		w.Meta[exchange.MetaPriority] = strconv.AppendInt(nil, int64(w.Message.Priority()-performatives.Normal)+3, 10)
	}
	for _, name := range []string{"task_id", "required_accuracy"} { // of another dialect
		if v := w.Meta[name]; !jsonscan.IsNone(v) && v[0] != '"' {
			delete(w.Meta, name)
		}
	}
	w.Fail(exchange.PutExtensions(w.Meta, w.Message))
}

// object writes an object, sorted by name.
func object(m performatives.Members) []byte {
	if m == nil {
		return []byte("{}")
	}
	text, _ := json.Marshal(m) // after an error it is nil, which is no JSON
	return text
}

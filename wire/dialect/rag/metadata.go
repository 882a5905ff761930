package rag

import (
	"strings"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// The members of metadata that this dialect reads and writes (addenda §1, §8). All are optional;
// one that has another form belongs to the application.
const (
	metaTask   = "task_request"  // what a task has beside its type and parameters
	metaResult = "inform_result" // what a result has beside its details
)

// In [performatives.Message.Metadata], the members of metadata have their names, and the further
// members of the envelope a prefix. A member of metadata whose name begins with one of the
// prefixes, or with [MetadataResultFor], gets the second.
const (
	prefixEnvelope = "envelope."
	prefixMetadata = "metadata."
)

// keptType, keptTrace and keptMetadata are what the other fields of the message do not tell of the
// envelope.
const (
	keptType     = prefixEnvelope + "type"
	keptTrace    = prefixEnvelope + "trace_id"
	keptMetadata = prefixEnvelope + "metadata" // {} or null
)

// metadata reads the metadata and the unknown members of the envelope.
func (d *decoder) metadata() {
	d.KeepAll(d.Unknown, &d.out.Metadata, prefixEnvelope)
	v := d.Values[memMetadata]
	if !jsonscan.IsNone(v) && v[0] != '{' {
		d.Invalid("metadata", "an object", v)
	}
	before := len(d.out.Metadata)
	d.KeepObject("metadata", v, &d.out.Metadata, prefixMetadata, prefixEnvelope, prefixMetadata, MetadataResultFor)
	if len(d.out.Metadata) == before {
		exchange.Keep(&d.out.Metadata, keptMetadata, v)
	}
}

// collectMetadata takes the metadata of the message, and the fields that belong there.
func (w *writer) collectMetadata() {
	w.Meta = make(performatives.Members)
	for name, v := range w.Message.AllMetadata() {
		switch of, further := strings.CutPrefix(name, prefixEnvelope); {
		case !further:
			w.Meta[strings.TrimPrefix(name, prefixMetadata)] = v
		case name == keptMetadata && (jsonscan.IsNull(v) || jsonscan.Is(v, '{')):
			w.blank = v
		case memberNames.Find([]byte(of)) == len(memberNames):
			exchange.Keep(&w.further, of, v)
		}
	}
	if p, ok := exchange.Priority(w.Meta[exchange.MetaPriority]); p != w.Message.Priority() && (ok || w.Message.Priority() != performatives.Normal) {
		w.Meta[exchange.MetaPriority] = exchange.Quoted(w.Message.Priority().String())
	}
	w.Fail(exchange.PutExtensions(w.Meta, w.Message))
}

package grpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/ribosome-agents/ribosome/internal/protofield"
	"github.com/ribosome-agents/ribosome/internal/sockets"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// decoder turns one envelope into a message. It stores the first error in refusal and
// reads on, so that the answer can be addressed. The message shares no memory with the
// envelope.
type decoder struct {
	opts      *wire.CodecOptions
	e         performatives.Envelope
	act       int32
	priority  int32
	timestamp moment
	replyBy   moment
	again     uint64 // the retry_after_ms
	payload   []byte
	budget    []byte
	token     string
	names     [fieldReplyWith + 1][]byte // the texts up to reply_with, by the number of the field
	named     int                        // how many bytes they have; more if one of them occurs twice
	refusal   *performatives.Refusal
}

// moment is a google.protobuf.Timestamp.
type moment struct {
	present        bool
	seconds, nanos int64
}

// refuse stores the first error; it ignores later ones.
func (d *decoder) refuse(code performatives.Code, field, text string) {
	if d.refusal == nil {
		d.refusal = &performatives.Refusal{Code: code, Field: field, Text: text}
	}
}

func (d *decoder) invalid(field, text string) {
	d.refuse(performatives.CodeInvalidPayload, field, field+": "+text)
}

// message makes the message, or returns nil and stores the error in d.refusal.
func (d *decoder) message(data []byte) *performatives.Message {
	if limit := d.opts.MaxBytes; limit > 0 && len(data) > limit {
		d.refuse(performatives.CodeParsingError, "", fmt.Sprintf("want at most %d bytes, got %d", limit, len(data)))
		return nil
	}
	d.fields(data)
	d.copyNames()
	var ok bool
	if d.e.Performative, ok = actOf(d.act); !ok {
		d.refuse(performatives.CodeUnknownPerformative, "performative", fmt.Sprintf("performative %d is none of the known acts", d.act))
	}
	if n := d.priority; n < 0 || int(n) >= len(priorities) {
		d.invalid("priority", fmt.Sprintf("want 0 to 3, got %d", n))
	} else {
		d.e.Priority = priorities[n]
	}
	d.e.ReplyBy = d.time("reply_by", d.replyBy)
	d.e.Timestamp = d.time("timestamp", d.timestamp)
	if d.e.Timestamp.IsZero() && d.refusal == nil { // it has that of its arrival
		d.e.Timestamp = d.opts.Stamper.Stamp().Time
	}
	d.contents()
	if d.refusal != nil {
		return nil
	}
	m, err := performatives.New(d.e)
	if err != nil {
		d.refusal = wire.AsRefusal(err)
		return nil
	}
	return m
}

// fields reads the fields; of a field that occurs twice the last counts. It ignores a field with
// another type than in ribosome.proto, as an unknown field: its number is read as 0, which no case
// has.
func (d *decoder) fields(data []byte) {
	for len(data) > 0 {
		num, text, n, size := protofield.Next(data)
		if size < 0 {
			d.refuse(performatives.CodeParsingError, "", "the envelope is no protobuf")
			return
		}
		switch {
		case text != nil:
			d.text(num, text)
		case num == fieldPerformative:
			d.act = int32(n)
		case num == fieldPriority:
			d.priority = int32(n)
		case num == fieldRetryAfter:
			d.again = n
		}
		data = data[size:]
	}
}

// maxNames is the largest number of bytes that are copied as one for the names in them. What keeps
// one of the names keeps them all.
const maxNames = 256

// copyNames copies the names, as parts of one text as far as they have maxNames bytes together.
func (d *decoder) copyNames() {
	var all strings.Builder
	all.Grow(min(d.named, maxNames))
	for num, to := range &[len(d.names)]*string{
		fieldID: (*string)(&d.e.ID), fieldSender: (*string)(&d.e.Sender), fieldReceiver: (*string)(&d.e.Receiver), fieldConversationID: (*string)(&d.e.ConversationID),
		fieldProtocol: &d.e.Protocol, fieldInReplyTo: &d.e.InReplyTo, fieldReplyWith: &d.e.ReplyWith,
	} {
		switch name := d.names[num]; {
		case len(name) == 0:
		case all.Len()+len(name) <= maxNames:
			all.Write(name)
			*to = all.String()[all.Len()-len(name):]
		default:
			*to = string(name)
		}
	}
}

// text reads a field that has a length.
func (d *decoder) text(num protowire.Number, text []byte) {
	switch num {
	case fieldID, fieldSender, fieldReceiver, fieldConversationID, fieldProtocol, fieldInReplyTo, fieldReplyWith:
		d.names[num] = text
		d.named += len(text)
	case fieldReplyBy:
		d.moment(&d.replyBy, "reply_by", text)
	case fieldTimestamp:
		d.moment(&d.timestamp, "timestamp", text)
	case fieldLanguage:
		if d.e.Language = performatives.LanguageJSON; string(text) != performatives.LanguageJSON { // else without a copy
			d.e.Language = string(text)
		}
	case fieldOntology:
		d.e.Ontology = string(text)
	case fieldTrace:
		d.e.Trace = string(text)
	case fieldPayload:
		d.payload = text
	case fieldBudget:
		d.budget = text
	case fieldMetadata:
		d.metadata(text)
	case fieldMessageType:
		d.e.MessageType = string(text)
	case fieldAuthToken:
		d.authToken(text)
	}
}

func (d *decoder) authToken(text []byte) {
	if !utf8.Valid(text) {
		d.refuse(performatives.CodeParsingError, "auth_token", "auth_token: want UTF-8, got other bytes")
		return
	}
	d.token = sockets.Bearer(string(text))
}

// moment reads a timestamp. One that occurs twice is merged, as protobuf demands.
func (d *decoder) moment(t *moment, field string, text []byte) {
	t.present = true
	for len(text) > 0 {
		num, nested, n, size := protofield.Next(text)
		switch {
		case size < 0:
			d.refuse(performatives.CodeParsingError, field, field+": want a Timestamp, got no protobuf")
			return
		case nested != nil:
		case num == timestampSeconds:
			t.seconds = int64(n)
		case num == timestampNanos:
			t.nanos = int64(int32(n))
		}
		text = text[size:]
	}
}

// metadata reads an entry of the map.
func (d *decoder) metadata(text []byte) {
	var name string
	value := []byte{}
	ok := protofield.Each(text, func(num protowire.Number, text []byte, _ uint64) {
		switch {
		case text == nil:
		case num == entryKey:
			name = string(text)
		case num == entryValue:
			value = text
		}
	})
	switch err := checkEntry(name, value); {
	case !ok:
		d.refuse(performatives.CodeParsingError, "metadata", "metadata: want entries, got no protobuf")
	case err != nil:
		d.invalid("metadata", err.Error())
	default:
		if d.e.Metadata == nil {
			d.e.Metadata = make(performatives.Members)
		}
		d.e.Metadata[name] = bytes.Clone(value)
	}
}

func (d *decoder) time(field string, t moment) time.Time {
	switch {
	case !t.present:
		return time.Time{}
	case t.seconds < minSeconds, t.seconds > maxSeconds, t.nanos < 0, t.nanos > 999_999_999:
		d.invalid(field, "want a time of the years 1 to 9999")
		return time.Time{}
	}
	return time.Unix(t.seconds, t.nanos).UTC()
}

// contents reads the fields with JSON: the budget and the payload.
func (d *decoder) contents() {
	if len(d.budget) > 0 {
		if err := checkJSON(d.budget); err != nil {
			d.invalid("budget", err.Error())
			return
		}
		d.e.Budget = performatives.RawContent(bytes.Clone(d.budget))
	}
	if d.refusal != nil {
		return
	}
	if len(d.payload) > 0 {
		if err := checkJSON(d.payload); err != nil {
			d.invalid("payload", err.Error())
			return
		}
	}
	payload, err := d.opts.Registry.DecodeTyped(d.e.Performative, d.e.MessageType, d.e.Ontology, d.payload)
	if err != nil {
		d.refusal = wire.AsRefusal(err)
		return
	}
	d.e.Payload = payload
	if d.again != 0 {
		hint(&d.e, d.again)
	}
}

// hint puts a retry_after_ms into the payload of a refusal. No other payload has one.
func hint(e *performatives.Envelope, millis uint64) {
	again := performatives.RetryAfterOf(millis)
	if r, extra, ok := performatives.RefusalIn(e.Payload); ok {
		r.RetryAfter = again
		e.Payload = r.Payload(extra)
		return
	}
	raw, ok := e.Payload.(performatives.Raw)
	members := make(performatives.Members)
	if ok && e.Performative == performatives.ActRejectProposal && e.MessageType == "" && (len(raw) == 0 || json.Unmarshal(raw, &members) == nil) {
		members[performatives.MemberRetryAfter] = strconv.AppendInt(nil, performatives.RetryAfterMillis(again), 10)
		text, _ := json.Marshal(members) // each has been JSON before
		e.Payload = performatives.Raw(text)
	}
}

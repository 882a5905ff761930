package grpc

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/ribosome-agents/ribosome/internal/protofield"
	"github.com/ribosome-agents/ribosome/performatives"
)

// lengthen writes the length of the bytes from body on in front of them. reserved is the number of
// bytes in front of body that are free for it; the bytes from body on move if the length needs more
// or fewer.
func lengthen(out []byte, body, reserved int) []byte {
	n := len(out) - body
	more := protowire.SizeVarint(uint64(n)) - reserved
	if more > 0 {
		out = append(out, make([]byte, more)...)
	}
	if more != 0 {
		copy(out[body+more:], out[body:body+n])
	}
	protowire.AppendVarint(out[:body-reserved], uint64(n))
	return out[:body+more+n]
}

// appendEnvelope appends the fields of m below fieldAuthToken, in the order of their
// numbers.
func appendEnvelope(out []byte, m *performatives.Message) ([]byte, error) {
	out = protofield.AppendText(out, fieldID, m.ID())
	out = protofield.AppendNumber(out, fieldPerformative, uint64(m.Performative()))
	out = protofield.AppendText(out, fieldSender, m.Sender())
	out = protofield.AppendText(out, fieldReceiver, m.Receiver())
	out = protofield.AppendText(out, fieldConversationID, m.ConversationID())
	out = protofield.AppendText(out, fieldProtocol, m.Protocol())
	out = protofield.AppendText(out, fieldInReplyTo, m.InReplyTo())
	out = protofield.AppendText(out, fieldReplyWith, m.ReplyWith())
	out, err := appendTime(out, fieldReplyBy, m.ReplyBy())
	if err != nil {
		return nil, err
	}
	if out, err = appendTime(out, fieldTimestamp, m.Timestamp()); err != nil {
		return nil, err
	}
	out = protofield.AppendText(out, fieldLanguage, m.Language())
	out = protofield.AppendText(out, fieldOntology, m.Ontology())
	out = protofield.AppendNumber(out, fieldPriority, uint64(slices.Index(priorities[:], m.Priority())))
	out = protofield.AppendText(out, fieldTrace, m.Trace())
	if out, err = appendPayload(out, m.Payload()); err != nil {
		return nil, err
	}
	if budget := m.Budget(); !budget.IsZero() {
		text, err := budget.MarshalJSON()
		if err == nil {
			err = checkJSON(text)
		}
		if err != nil {
			return nil, fmt.Errorf("grpc: budget: %w", err)
		}
		out = protofield.AppendText(out, fieldBudget, text)
	}
	if m.HasMetadata() {
		return appendMetadata(out, m)
	}
	return out, nil
}

var errNoObject = errors.New("want a JSON object")

func appendPayload(out []byte, payload any) ([]byte, error) {
	if payload == nil {
		return out, nil
	}
	if r, extra, ok := performatives.RefusalIn(payload); ok && r.RetryAfter != 0 { // it is a field of the envelope
		r.RetryAfter = 0
		payload = r.Payload(extra)
	}
	out = append(protowire.AppendTag(out, fieldPayload, protowire.BytesType), 0, 0)
	body := len(out)
	out, err := performatives.AppendJSON(out, payload)
	if err == nil {
		err = checkJSON(out[body:])
	}
	if err == nil && !bytes.HasPrefix(bytes.TrimLeft(out[body:], " \t\r\n"), []byte("{")) {
		err = errNoObject
	}
	if err != nil {
		return nil, fmt.Errorf("grpc: payload: %w", err)
	}
	return lengthen(out, body, 2), nil
}

// appendMetadata appends the entries of a map, sorted, so that a message has one form.
func appendMetadata(out []byte, m *performatives.Message) ([]byte, error) {
	var names []string
	for name := range m.AllMetadata() {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		value, _ := m.Metadata(name)
		if len(value) == 0 {
			continue // an empty member records an absence
		}
		if err := checkEntry(name, value); err != nil {
			return nil, fmt.Errorf("grpc: metadata: %w", err)
		}
		out = append(protowire.AppendTag(out, fieldMetadata, protowire.BytesType), 0)
		body := len(out)
		out = protofield.AppendText(out, entryKey, name)
		out = lengthen(protofield.AppendText(out, entryValue, value), body, 1)
	}
	return out, nil
}

// appendTime appends a google.protobuf.Timestamp, unless t is zero.
func appendTime(out []byte, num protowire.Number, t time.Time) ([]byte, error) {
	if t.IsZero() {
		return out, nil
	}
	seconds := t.Unix()
	if seconds < minSeconds || seconds > maxSeconds {
		return nil, fmt.Errorf("grpc: the year %d cannot be written", t.Year())
	}
	out = append(protowire.AppendTag(out, num, protowire.BytesType), 0)
	body := len(out)
	out = protofield.AppendNumber(out, timestampSeconds, uint64(seconds))
	out = protofield.AppendNumber(out, timestampNanos, uint64(t.Nanosecond()))
	return lengthen(out, body, 1), nil
}

// The range of a google.protobuf.Timestamp: the years 1 to 9999.
const (
	minSeconds = -62_135_596_800
	maxSeconds = 253_402_300_799
)

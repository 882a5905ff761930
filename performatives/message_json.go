package performatives

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
)

// rawType is the PayloadType of a [Raw] payload.
const rawType = "raw"

// MessageJSON is a message as it is written to a record: every field of its [Envelope]
// but the Shape, which belongs to the dialect of one process. It is not a wire format:
// a dialect writes messages for peers.
type MessageJSON struct {
	Envelope                    // without the payload
	PayloadType string          `json:"payload_type,omitempty"` // see [TypeName]; empty without a payload
	Payload     json.RawMessage `json:"payload,omitempty"`
}

// TypeName returns the name by which a [MessageJSON] states the Go type of a payload:
// "raw" for [Raw], the empty string for nil.
func TypeName(payload any) string {
	switch payload.(type) {
	case nil:
		return ""
	case Raw:
		return rawType
	}
	return reflect.TypeOf(payload).String()
}

// JSON returns the message for a record. The error says that its payload or its budget
// cannot be marshalled.
func (m *Message) JSON() (MessageJSON, error) {
	out := MessageJSON{Envelope: m.envelope(), PayloadType: TypeName(m.payload)}
	out.Metadata, out.Shape, out.Envelope.Payload = maps.Clone(out.Metadata), nil, nil
	maps.DeleteFunc(out.Metadata, func(_ string, value json.RawMessage) bool { return len(value) == 0 }) // see [Members]
	var errBudget, errPayload error
	if !out.Budget.IsZero() {
		var budget []byte
		budget, errBudget = out.Budget.MarshalJSON()
		out.Budget = RawContent(budget)
	}
	if m.payload != nil {
		out.Payload, errPayload = json.Marshal(m.payload)
	}
	if err := errors.Join(errBudget, errPayload); err != nil {
		return MessageJSON{}, fmt.Errorf("performatives: message %s as JSON: %w", m.id, err)
	}
	return out, nil
}

// Message returns the message that was recorded. types has the types of payloads by
// their [TypeName]; a payload of another type is [Raw], but for the built-in types of the
// message's act. The error is that of [New], or says which payload does not fit its type.
func (j MessageJSON) Message(types map[string]reflect.Type) (*Message, error) {
	payload, err := j.payload(types)
	if err != nil {
		return nil, fmt.Errorf("performatives: payload %s of the recorded message %s: %w", j.PayloadType, j.ID, err)
	}
	e := j.Envelope
	e.Payload = payload
	return New(e)
}

func (j MessageJSON) payload(types map[string]reflect.Type) (any, error) {
	switch t := types[j.PayloadType]; {
	case j.PayloadType == "":
		return nil, nil //nolint:nilnil // nil is the payload of an act without content
	case t != nil && j.PayloadType != rawType:
		return decodeAs(t, j.Payload)
	case j.Performative.Valid() && builtin[j.Performative] != nil:
		v, err := builtin[j.Performative](j.Payload)
		if err == nil && TypeName(v) == j.PayloadType {
			return v, nil
		}
	}
	return Raw(bytes.Clone(j.Payload)), nil
}

// decodeAs decodes JSON to a value of type t.
func decodeAs(t reflect.Type, raw json.RawMessage) (any, error) {
	v := reflect.New(t)
	if err := jsonscan.Unmarshal(raw, v.Interface()); err != nil {
		return nil, err
	}
	return v.Elem().Interface(), nil
}
